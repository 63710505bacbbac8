import type { SiteId, SiteView } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import type { Logged, SiteEntryPosition } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { TokenRevocation } from '../store/operations/tokens.ts'
import { confirmRevocation } from './confirm-revocation.ts'

export interface TokenToRevoke {
  /** As it was sent; it may be any text. */
  readonly token: string
  /** Undefined: a token of any site. */
  readonly siteId: SiteId | undefined
  readonly reason: string | undefined
}

/**
 * Revokes a token and returns the log entry of the revocation. Undefined when there was nothing to
 * revoke: the token is unknown, of another site, expired or already revoked, or not a token. An
 * audit row is written in any case. When this returns, this node already denies.
 */
export async function revokeToken(
  deps: Pick<Deps, 'store' | 'views'>,
  { token, siteId, reason }: TokenToRevoke,
  context: AuditContext,
): Promise<SiteEntryPosition | undefined> {
  const order = { sha256: secretSha256(token), siteId, reason }
  const first = await deps.store.revokeToken(order, context)
  if (first === undefined) return undefined
  const { entry } = await confirmRevocation<Logged<TokenRevocation>>(deps, {
    revokeInStore: async (unconfirmed) =>
      unconfirmed === undefined
        ? first
        : ((await deps.store.revokeToken(order, context, true)) ?? unconfirmed),
    isInView: isRevokedIn,
    siteId: first.token.siteId,
    row: { table: 'tokens', key: order.sha256 },
  })
  return entry
}

/**
 * Whether the token, its user or a credential of its chain is revoked, which is final for this
 * token. Trust in an issuer may come back, so it is not considered.
 */
function isRevokedIn(view: SiteView, { token }: TokenRevocation): boolean {
  const { sha256, ppid, chain } = token
  return (
    view.tokenRevocation(sha256) !== undefined ||
    chain.some(({ credentialId }) => view.credentialRevocation(credentialId) !== undefined) ||
    view.userRevocation(ppid, Math.min(...chain.map(({ createdMs }) => createdMs))) !== undefined
  )
}
