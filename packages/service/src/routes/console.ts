import type { RouteAnswer } from '../answer.ts'
import { readConsoleFiles } from '../pages/console-files.ts'
import { Problem } from '../problem.ts'
import type { PageRequest } from '../route.ts'

const NOT_BUILT = 'This service was installed without the pages of the console.'

let files: ReturnType<typeof readConsoleFiles>

/** GET /console/…: the page of the console. */
export function consolePage({ lines }: PageRequest): RouteAnswer {
  return requireFiles().page(lines('accept-language')?.join(','))
}

/** GET /console/assets/…: its scripts and style sheets. */
export function consoleAsset({ path, lines }: PageRequest): RouteAnswer {
  const name = path.slice('/console/assets/'.length)
  const found = requireFiles().asset(name, lines('accept-encoding')?.join(','))
  if (found === undefined) throw new Problem('not_found')
  return found
}

function requireFiles(): NonNullable<typeof files> {
  files ??= readConsoleFiles()
  if (files === undefined) throw new Problem('not_found', NOT_BUILT)
  return files
}
