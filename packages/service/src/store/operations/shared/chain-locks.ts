import type { ChainLink, CredentialId, Ppid, SiteId } from '@countersign/core'
import { number, optionalNumber } from '../../columns.ts'
import { lock, row, type Transaction } from '../../transaction.ts'

/** A token or presentation, which is revoked with its user and with any of its credentials. */
interface ChainAtSite {
  readonly siteId: SiteId
  readonly ppid: Ppid
  /** The credential itself first, then its parents up to the root. */
  readonly chain: readonly ChainLink[]
}

export function toLinkIds(chain: readonly ChainLink[]): readonly CredentialId[] {
  return [...new Set(chain.map(({ credentialId }) => credentialId))]
}

/**
 * Blocks revocations of the user and of the credentials of the chain until the transaction has
 * ended.
 */
export function* lockChain({ siteId, ppid, chain }: ChainAtSite): Transaction<void> {
  yield* lock(userLock(siteId, ppid), ...toLinkIds(chain).map((id) => credentialLock(siteId, id)))
}

/** Whether the store has revoked it. The caller holds the locks of the chain. */
export function* isRevoked({ siteId, ppid, chain }: ChainAtSite): Transaction<boolean> {
  const linkIds = toLinkIds(chain)
  const list = linkIds.map((_, i) => `$${i + 2}`).join(', ')
  const byId = yield* row(
    `SELECT 1 AS one FROM credential_revocations WHERE site_id = $1 AND credential_id IN (${list}) LIMIT 1`,
    siteId,
    ...linkIds,
  )
  if (byId !== undefined) return true
  const user = yield* row('SELECT revoked, cutoff FROM users WHERE site_id = $1 AND ppid = $2', siteId, ppid)
  if (user === undefined) return false
  const cutoffMs = optionalNumber(user, 'cutoff')
  if (number(user, 'revoked') === 1 || cutoffMs === undefined) return true
  // A time that is not a number is not later.
  return !chain.every(({ createdMs }) => createdMs > cutoffMs)
}

export function userLock(siteId: SiteId, ppid: Ppid): string {
  return `user ${siteId} ${ppid}`
}

export function credentialLock(siteId: SiteId, credentialId: CredentialId): string {
  return `credential ${siteId} ${credentialId}`
}
