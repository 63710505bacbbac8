import type { Ppid, SiteId } from '@countersign/core'
import type { Logged } from '../../logged.ts'
import { exec, type Row, row, type Transaction } from '../../transaction.ts'

/** Users that were changed in one transaction, in the order of the request. */
export interface UsersAnswer<User> {
  readonly users: readonly User[]
  /** The last position of their entries; 0 if one of them was not changed. */
  readonly position: number
}

/** The position of an answer that covers several changes. */
export function toPosition(changes: readonly Logged<object>[]): number {
  const positions = changes.map(({ position }) => position)
  return positions.includes(0) ? 0 : Math.max(...positions)
}

/** With the current epoch: after a restore the same entry has the same numbers in another epoch. */
export function* findUserRow(siteId: SiteId, ppid: Ppid): Transaction<Row | undefined> {
  return yield* row(
    `SELECT u.*, u.revoked_at AS at, u.revoked_seq AS seq, u.revoked_position AS position, log.epoch
     FROM users u, log WHERE log.one = 1 AND u.site_id = $1 AND u.ppid = $2`,
    siteId,
    ppid,
  )
}

/** Cancels sign-ins in progress and offers that were not claimed: of one user, or of all. */
export function* cancelPending(siteId: SiteId, ppid: Ppid | undefined, atMs: number): Transaction<void> {
  for (const part of pendingParts(siteId, ppid, atMs)) yield* part
}

/** The same as parts of `together`. */
export function pendingParts(
  siteId: SiteId,
  ppid: Ppid | undefined,
  atMs: number,
): readonly [signIns: Transaction<void>, offers: Transaction<void>] {
  const cancelIn = (table: string) =>
    exec(
      `UPDATE ${table} SET killed_at = $2 WHERE site_id = $1 AND killed_at IS NULL
         AND ${ppid === undefined ? 'CAST($3 AS TEXT) IS NULL' : 'ppid = $3'}`,
      siteId,
      atMs,
      ppid ?? null,
    )
  return [cancelIn('sign_in_presentations'), cancelIn('offers')]
}
