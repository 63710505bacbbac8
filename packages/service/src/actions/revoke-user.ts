import type { Ppid } from '@countersign/core'
import type { Deps } from '../deps.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type {
  Revoked,
  RevokedUser,
  RevokedUsers,
  UserAtSite,
  UsersAtSite,
} from '../store/operations/revocations.ts'
import { confirmRevocation } from './confirm-revocation.ts'

type RevokeDeps = Pick<Deps, 'store' | 'views'>

/** All ids of one user together, and each of them. */
export interface RevokedIds extends Revoked {
  readonly users: readonly RevokedUser[]
}

/**
 * Revokes the access of a user to a site: all credentials, known or not, and all tokens, until the
 * site reinstates the user. Idempotent. When this returns, the revocation is durable and this node
 * already denies; other nodes follow within one poll of the log.
 */
export function revokeUser(
  deps: RevokeDeps,
  { ppid, ...user }: UserAtSite,
  context: AuditContext,
): Promise<RevokedIds> {
  return revokeUserIds(deps, { ...user, ppids: [ppid] }, context)
}

/** The same for all ids of one user, in one transaction. There is at least one id. */
export async function revokeUserIds(
  deps: RevokeDeps,
  user: UsersAtSite,
  context: AuditContext,
): Promise<RevokedIds> {
  const { siteId, ppids } = user
  const { users } = await confirmRevocation<RevokedUsers, readonly RevokedUser[]>(deps, {
    revokeInStore: (unconfirmed) => deps.store.revokeUsers(user, context, unconfirmed),
    findUnconfirmed: (view, answer) => {
      // Whenever a credential was signed: a reinstated user is revoked for earlier ones only.
      const isInView = (ppid: Ppid) => view.userRevocation(ppid, Infinity) !== undefined
      const missing = answer.users.filter(({ alreadyRevoked, ppid }) => alreadyRevoked && !isInView(ppid))
      return missing.length === 0 ? undefined : missing
    },
    siteId,
    row: { table: 'users', key: `${siteId} ${ppids.join(' ')}` },
  })
  return summarize(users)
}

/** The entry is the last one, so that a caller who waits for it waits for all of them. */
function summarize(users: readonly RevokedUser[]): RevokedIds {
  const last = users.reduce((latest, user) => (user.seq > latest.seq ? user : latest))
  const credentialIds = users.flatMap((user) => user.credentialIds)
  return {
    users,
    credentialId: credentialIds[0] ?? null,
    credentialIds,
    alreadyRevoked: users.every(({ alreadyRevoked }) => alreadyRevoked),
    revokedAtMs: last.revokedAtMs,
    tokensRevoked: users.reduce((sum, { tokensRevoked }) => sum + tokensRevoked, 0),
    epoch: last.epoch,
    seq: last.seq,
  }
}
