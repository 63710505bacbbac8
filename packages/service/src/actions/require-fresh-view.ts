import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'

/** For lists that say what is revoked and what is not. Throws when this node cannot know: then it says neither. */
export function requireFreshView({ views }: Pick<Deps, 'views'>): void {
  const { ageMs, ageMsMax } = views.age()
  if (!(ageMs <= ageMsMax)) throw unknowing()
}

/** In the words of a list, which has no code for its own ignorance. */
export function unknowing(): Problem {
  return new Problem('store_unavailable', 'this node has not heard from its store for a moment; try again', { retryAfterSeconds: 1 })
}
