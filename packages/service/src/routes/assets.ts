import type { RouteAnswer } from '../answer.ts'
import { assets } from '../pages/assets.ts'
import { Problem } from '../problem.ts'
import type { PageRequest } from '../route.ts'

/** GET /assets/…: scripts and style sheets of the pages. */
export function asset({ path, lines }: PageRequest): RouteAnswer {
  const found = assets().answer(path, lines('accept-encoding')?.join(',') ?? '')
  if (found === undefined) throw new Problem('not_found')
  return found
}
