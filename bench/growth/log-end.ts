import type { SiteId } from '@countersign/core'
import { number, text } from '../../packages/service/src/store/columns.ts'
import { requireIntact, updateRow } from '../../packages/service/src/store/operations/shared/mac-rows.ts'
import { type Row, rows, type Transaction } from '../../packages/service/src/store/transaction.ts'
import type { LogEnd } from './rows.ts'

/** The rows that say where the log ends, as they were read. */
export interface EndRows {
  readonly log: Row
  readonly heads: readonly Row[]
}

/** Reads them and checks their MACs. */
export function* readEnd(sites: readonly SiteId[]): Transaction<EndRows> {
  const [log] = yield* rows('SELECT * FROM log WHERE one = 1')
  if (log === undefined) throw new Error('there is no log')
  yield* requireIntact('log', log)
  const heads: Row[] = []
  for (const siteId of sites) {
    const [head] = yield* rows('SELECT h.*, log.epoch FROM heads h, log WHERE h.site_id = $1', siteId)
    if (head === undefined) throw new Error(`there is no site ${siteId}`)
    heads.push(yield* requireIntact('heads', head))
  }
  return { log, heads }
}

export function toEnd({ log, heads }: EndRows): LogEnd {
  return {
    epoch: text(log, 'epoch'),
    position: number(log, 'position'),
    digest: text(log, 'digest'),
    heads: new Map(
      heads.map((head) => [
        text(head, 'site_id') as SiteId,
        { seq: number(head, 'seq'), hash: text(head, 'hash') },
      ]),
    ),
  }
}

/** Writes the new end with new MACs. */
export function* writeEnd(before: EndRows, { position, digest, heads }: LogEnd): Transaction<void> {
  for (const head of before.heads) {
    const after = heads.get(text(head, 'site_id') as SiteId)
    if (after !== undefined) yield* updateRow('heads', head, { seq: after.seq, hash: after.hash })
  }
  yield* updateRow('log', before.log, { position, digest })
}
