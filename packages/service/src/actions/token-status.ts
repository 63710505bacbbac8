import { verify } from '@countersign/core'
import { staleProblem } from '../access/require-fresh.ts'
import { tokenFacts } from '../access/token-finder.ts'
import type { Deps } from '../deps.ts'
import type { TokenRow } from '../store/operations/tokens.ts'

/**
 * The status of a token in a list, the same as in introspection. A token depends on its credential,
 * chain, user, issuer, key and site, so one that is rejected before it expires is listed as
 * revoked. Throws when the revocation data of this node is stale.
 */
export async function tokenStatus(
  { views }: Pick<Deps, 'views'>,
  row: TokenRow,
  nowMs: number,
): Promise<'active' | 'revoked' | 'expired'> {
  if (row.revokedAtMs !== undefined) return 'revoked'
  if (nowMs >= row.expiresAtMs) return 'expired'
  const data = views.revocationData(row.siteId)
  if (data === undefined) throw staleProblem('store_unavailable')
  const verdict = await verify({ token: tokenFacts(row) }, { scope: [], nowMs }, data)
  if (verdict.ok) return 'active'
  if (verdict.code === 'revocation_view_stale') throw staleProblem('store_unavailable')
  return 'revoked'
}
