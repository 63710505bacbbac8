import { decide, type Scope, type SiteId } from '@countersign/core'
import { denialToProblem } from '../access/guard.ts'
import { requireFresh, staleProblem } from '../access/require-fresh.ts'
import type { FoundToken } from '../access/token-finder.ts'
import type { Deps } from '../deps.ts'

export interface ActiveToken {
  readonly token: FoundToken
  /** The part of the token's scope that is still granted. */
  readonly scope: readonly Scope[]
}

/**
 * The token, if its site would accept it now; otherwise undefined. With `siteId`, tokens of other
 * sites are not active. Throws when this node's revocation data is stale: then it must not answer
 * "not active".
 */
export async function introspect(
  { tokens, views, clock }: Pick<Deps, 'tokens' | 'views' | 'clock'>,
  text: string,
  siteId: SiteId | undefined,
): Promise<ActiveToken | undefined> {
  requireFresh(views)
  const token = await tokens.find(text)
  if (token === undefined || (siteId !== undefined && token.siteId !== siteId)) return undefined
  const data = views.revocationData(token.siteId)
  // The token exists, so its site does; this node's view does not have it yet.
  if (data === undefined) throw staleProblem()
  const verdict = await decide({ token }, { scope: [], nowMs: clock.nowMs() }, data)
  if (verdict.ok) return { token, scope: verdict.subject.scope }
  if (verdict.code === 'revocation_view_stale') throw denialToProblem(verdict)
  return undefined
}
