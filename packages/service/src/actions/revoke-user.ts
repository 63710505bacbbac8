import type { Deps } from '../deps.ts'
import type { Logged } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Revoked, UserAtSite } from '../store/operations/revocations.ts'
import { confirmRevocation } from './confirm-revocation.ts'

/**
 * Revokes the access of a user to a site: all credentials, known or not, and all tokens, until the
 * site reinstates the user. Idempotent. When this returns, the revocation is durable and this node
 * already denies; other nodes follow within one poll of the log.
 */
export async function revokeUser(
  deps: Pick<Deps, 'store' | 'views'>,
  user: UserAtSite,
  context: AuditContext,
): Promise<Revoked> {
  const { siteId, ppid } = user
  return confirmRevocation<Logged<Revoked>>(deps, {
    revokeInStore: (unconfirmed) => deps.store.revokeUser(user, context, unconfirmed),
    // Whenever a credential was signed: a reinstated user is revoked for earlier credentials only.
    isInView: (view) => view.userRevocation(ppid, Infinity) !== undefined,
    siteId,
    row: { table: 'users', key: `${siteId} ${ppid}` },
  })
}
