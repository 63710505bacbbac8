import type { Entry, EntryKind, SiteId } from '@countersign/core'
import { text } from '../columns.ts'
import { EpochChanged } from '../errors.ts'
import { readLog, row, rows, type SqlValue, type Transaction } from '../transaction.ts'
import { type SiteBase, siteBase } from './cut-log.ts'
import { toEntry } from './shared/log-rows.ts'

/** Which entries of a site: between two numbers, neither included. */
export interface LogRange {
  readonly afterSeq: number
  readonly beforeSeq: number
  readonly kind: EntryKind | undefined
  readonly order: 'newest' | 'oldest'
  readonly limit: number
}

/** Entries of one site, in the order of the range, and the base of its log. */
export interface SiteLogPage {
  readonly entries: readonly Entry[]
  readonly base: SiteBase | undefined
}

/**
 * A page of the log of one site. The base is read after the entries, so that an entry which is
 * missing between two others was removed and lies below it. An epoch that ends between the
 * statements is noticed.
 */
export const siteLogPage = readLog(function* (
  epoch: string,
  siteId: SiteId,
  { afterSeq, beforeSeq, kind, order, limit }: LogRange,
): Transaction<SiteLogPage> {
  const values: SqlValue[] = [epoch, siteId, afterSeq, beforeSeq, limit]
  if (kind !== undefined) values.push(kind)
  const found = yield* rows(
    `SELECT * FROM entries WHERE epoch = $1 AND site_id = $2${kind === undefined ? '' : ' AND kind = $6'} AND seq > $3 AND seq < $4
       AND position > COALESCE((SELECT base_position FROM checkpoint WHERE one = 1 AND epoch = $1), 0)
     ORDER BY seq ${order === 'newest' ? 'DESC' : 'ASC'} LIMIT $5`,
    ...values,
  )
  const base = yield* siteBase(siteId)
  const log = yield* row('SELECT epoch FROM log WHERE one = 1')
  if (log === undefined || text(log, 'epoch') !== epoch) throw new EpochChanged('the log is in another epoch')
  return { entries: found.map(toEntry), base }
})
