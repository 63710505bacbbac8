import { decide, type Scope, type SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { requireFresh, staleProblem } from '../log/require-fresh.ts'
import type { FoundToken } from '../log/token-finder.ts'
import { whenKnown } from '../when-known.ts'
import { problemOf } from './guard.ts'

export interface ActiveToken {
  readonly token: FoundToken
  /** What is left of the token's scope now. */
  readonly scope: readonly Scope[]
}

/**
 * A token that its site would accept now, judged as there; undefined for every other. `siteId`
 * narrows the question to one site. Throws when this node cannot know: "not active" is an answer,
 * "I do not know" is none.
 */
export function introspect(
  { tokens, views, clock }: Pick<Deps, 'tokens' | 'views' | 'clock'>,
  text: string,
  siteId: SiteId | undefined,
): ActiveToken | undefined | Promise<ActiveToken | undefined> {
  requireFresh(views)
  return whenKnown(tokens.find(text), (token) => {
    if (token === undefined || (siteId !== undefined && token.siteId !== siteId)) return undefined
    const knowledge = views.knowledge(token.siteId)
    // The token exists, so its site does; this node's view does not have it yet.
    if (knowledge === undefined) throw staleProblem()
    return whenKnown(decide({ token }, { scope: [], nowMs: clock.nowMs() }, knowledge), (verdict) => {
      if (verdict.ok) return { token, scope: verdict.subject.scope }
      if (verdict.code === 'revocation_view_stale') throw problemOf(verdict)
      return undefined
    })
  })
}
