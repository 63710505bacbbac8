import type { Ppid, SiteId } from '@countersign/core'
import { exec, type Transaction } from '../../transaction.ts'

export type UserEntryKind = 'user.revoked' | 'user.reinstated' | 'user.signed_out'

interface NewUserEntry {
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly seq: number
  readonly kind: UserEntryKind
  readonly atMs: number
  readonly reason: string | undefined
}

/**
 * Adds an entry of the log to the history of its user. The caller holds the lock of the user, and
 * has written the row of the user if the entry changes it.
 */
export function* recordUserEntry(entry: NewUserEntry): Transaction<void> {
  const { siteId, ppid, seq, kind, atMs, reason } = entry
  // Not `latest = 1`: for that there is an index of all users, and PostgreSQL would read all of it
  // until it has analyzed the table.
  yield* exec(
    'UPDATE user_history SET latest = 0 WHERE site_id = $1 AND ppid = $2 AND latest <> 0',
    siteId,
    ppid,
  )
  yield* exec(
    `INSERT INTO user_history (site_id, ppid, seq, kind, at, reason, revoked, latest)
     VALUES ($1, $2, $3, $4, $5, $6, COALESCE((SELECT u.revoked FROM users u WHERE u.site_id = $1 AND u.ppid = $2), 0), 1)`,
    siteId,
    ppid,
    seq,
    kind,
    atMs,
    reason ?? null,
  )
}
