import { type Scope, type SiteId, verify } from '@countersign/core'
import type { Deps } from '../deps.ts'
import type { FoundToken } from '../log/token-finder.ts'
import { Problem } from '../problem.ts'
import { problemOf } from './guard.ts'

export interface ActiveToken extends FoundToken {
  /** What is left of the token's scope now. */
  readonly scope: readonly Scope[]
}

/**
 * A token that would be let in at its site now, judged as there; undefined for every other. `siteId` narrows the question to one site. Throws
 * when this node cannot know: "not active" is an answer, "I do not know" is none.
 */
export async function introspect(
  { tokens, views, clock }: Pick<Deps, 'tokens' | 'views' | 'clock'>,
  token: string,
  siteId: SiteId | undefined,
): Promise<ActiveToken | undefined> {
  const { ageMs, ageMsMax } = views.age()
  if (!(ageMs <= ageMsMax)) throw unknowing()
  const found = await tokens.find(token)
  if (found === undefined || (siteId !== undefined && found.siteId !== siteId)) return undefined
  const knowledge = views.knowledge(found.siteId)
  if (knowledge === undefined) throw unknowing() // The token is there, so its site is; the view is yet to hear of it.
  const verdict = await verify({ token: found }, { scope: [], nowMs: clock.nowMs() }, knowledge)
  if (verdict.ok) return { ...found, scope: verdict.subject.scope }
  if (verdict.code === 'revocation_view_stale') throw problemOf(verdict)
  return undefined
}

function unknowing(): Problem {
  return new Problem('revocation_view_stale', undefined, { retryAfterSeconds: 1 })
}
