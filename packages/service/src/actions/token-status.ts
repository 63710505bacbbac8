import { verify } from '@countersign/core'
import { staleProblem } from '../access/require-fresh.ts'
import { tokenFacts } from '../access/token-finder.ts'
import type { Deps } from '../deps.ts'
import type { TokenRow } from '../store/operations/tokens.ts'

/**
 * What is to be said of a token in a list: that which introspection says. A token follows its
 * credential, chain, user, issuer, key and site, so one that would be rejected before its end
 * counts as revoked. Throws when this node cannot know.
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
