import type { Ppid, SiteId } from '@countersign/core'
import { number, optionalText, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { countChanged, type Row, read, rows, type Transaction } from '../transaction.ts'
import { padList } from './shared/pad-list.ts'
import type { UserEntryKind } from './shared/record-user-entry.ts'

/** An entry of the log about a user, with the reason that was given for it. */
export interface UserEntry {
  readonly ppid: Ppid
  readonly seq: number
  readonly kind: UserEntryKind
  readonly atMs: number
  readonly reason: string | undefined
}

/**
 * The last entry about each user of the site, the newest first. A row is named by its seq. With
 * `isRevoked`, only users who are revoked, or only those who are not.
 */
export const knownUsers = read(function* (
  siteId: SiteId,
  { isRevoked }: { readonly isRevoked?: boolean | undefined },
  { after, limit }: Page,
): Transaction<readonly UserEntry[]> {
  const found = yield* rows(
    `SELECT * FROM user_history WHERE site_id = $1 AND latest = 1
       AND ${isRevoked === undefined ? 'CAST($2 AS BIGINT) IS NULL' : 'revoked = $2'}
       AND ${after === undefined ? 'CAST($3 AS BIGINT) IS NULL' : 'seq < $3'} ORDER BY seq DESC LIMIT $4`,
    siteId,
    isRevoked === undefined ? null : Number(isRevoked),
    after === undefined ? null : Number(after),
    limit,
  )
  return found.map(toUserEntry)
})

/** The entries about one user, the newest first. */
export const userEntries = read(function* (
  siteId: SiteId,
  ppid: Ppid,
  limit: number,
): Transaction<readonly UserEntry[]> {
  const found = yield* rows(
    'SELECT * FROM user_history WHERE site_id = $1 AND ppid = $2 ORDER BY seq DESC LIMIT $3',
    siteId,
    ppid,
    limit,
  )
  return found.map(toUserEntry)
})

/** The reasons why these users are revoked; none for a user who is not revoked. */
export const revocationReasons = read(function* (
  siteId: SiteId,
  ppids: readonly Ppid[],
): Transaction<ReadonlyMap<Ppid, string | undefined>> {
  const users = padList(ppids)
  if (users.length === 0) return new Map()
  const found = yield* rows(
    `SELECT ppid, reason FROM users WHERE site_id = $1 AND revoked = 1 AND ppid IN (${users.map((_, i) => `$${i + 2}`).join(', ')})`,
    siteId,
    ...users,
  )
  return new Map(found.map((each) => [text(each, 'ppid') as Ppid, optionalText(each, 'reason')]))
})

/**
 * Removes a batch of entries before `beforeMs` from the histories, and returns their number. The
 * last entry about a user who is revoked stays.
 */
export function* removeOldUserEntries(beforeMs: number, limit: number): Transaction<number> {
  return yield* countChanged(
    `DELETE FROM user_history WHERE (site_id, ppid, seq) IN
       (SELECT site_id, ppid, seq FROM user_history WHERE at < $1 AND (latest = 0 OR revoked = 0) ORDER BY at LIMIT $2)`,
    beforeMs,
    limit,
  )
}

function toUserEntry(found: Row): UserEntry {
  return {
    ppid: text(found, 'ppid') as Ppid,
    seq: number(found, 'seq'),
    kind: text(found, 'kind') as UserEntryKind,
    atMs: number(found, 'at'),
    reason: optionalText(found, 'reason'),
  }
}
