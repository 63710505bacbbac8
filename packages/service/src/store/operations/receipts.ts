import {
  type EntryKind,
  parseTime,
  type ReceiptFields,
  type ReceiptState,
  type SignedReceipt,
  type SiteId,
} from '@countersign/core'
import { json, number, optionalText, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { countChanged, exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import { type ApplyTime, addApplyTimes } from './shared/apply-time-rows.ts'
import { formerEpochs } from './shared/former-epochs.ts'

/** An entry that needs a receipt. */
export interface ReceiptEntry {
  readonly siteId: SiteId
  readonly epoch: string
  readonly seq: number
  readonly kind: EntryKind
  readonly hash: string
  readonly atMs: number
  readonly drillId: string | null
}

/** Up to which entry of the log of all sites receipts are written. */
export interface ReceiptProgress {
  readonly epoch: string
  readonly position: number
}

/** Entries without a receipt, and the progress before and after them. */
export interface ReceiptWork {
  readonly from: ReceiptProgress | undefined
  readonly to: ReceiptProgress
  readonly entries: readonly ReceiptEntry[]
  /** Whether there may be more of them. */
  readonly hasMore: boolean
}

export interface ReceiptRow {
  readonly receipt: SignedReceipt
  /** When it is to be written again; undefined when it is final. */
  readonly dueAtMs: number | undefined
  /** Of verifiers that had not acknowledged in the version before. */
  readonly times: readonly ApplyTime[]
}

/** A receipt that may change, and how often it has. */
export interface OpenReceipt {
  readonly receipt: SignedReceipt
  readonly updates: number
}

/** A new version, which replaces the one with that number of updates. */
export interface ReceiptUpdate extends ReceiptRow {
  readonly updates: number
}

/** What lists show of a receipt. */
export type ReceiptSummaryRow = Omit<
  ReceiptFields,
  'site_id' | 'entry_hash' | 'denied_at_latest' | 'verifiers' | 'kid'
>

/** Held by every operation that writes receipts, and by no revocation. */
const LOCK = 'receipts'

/**
 * The next entries without a receipt, up to a position. A reinstatement revokes nothing and has
 * none. Entries of former epochs are among them if the service ended before it wrote their
 * receipts.
 */
export const entriesWithoutReceipt = read(function* (
  upTo: number,
  limit: number,
): Transaction<ReceiptWork | undefined> {
  const at = yield* row(
    `SELECT log.epoch, log.position, p.epoch AS done_epoch, p.position AS done FROM log
       LEFT JOIN receipt_progress p ON p.one = 1 WHERE log.one = 1`,
  )
  if (at === undefined) return undefined
  const epoch = text(at, 'epoch')
  const from =
    at.done_epoch === null ? undefined : { epoch: text(at, 'done_epoch'), position: number(at, 'done') }
  // A position after the end of the log is not from this store: nothing before the end is missing.
  const endPosition = Math.min(upTo, number(at, 'position'))
  const afterPosition = Math.min(from?.position ?? 0, number(at, 'position'))
  const epochs = from?.epoch === epoch ? [epoch] : [...(yield* formerEpochs()), epoch]
  const found: Row[] = []
  for (const each of epochs)
    found.push(
      ...(yield* rows(
        `SELECT e.epoch, e.position, e.site_id, e.seq, e.kind, e.hash, e.at, d.drill_id FROM entries e
           LEFT JOIN drills d ON d.site_id = e.site_id AND d.seq = e.seq AND d.epoch = e.epoch
         WHERE e.epoch = $1 AND e.position > $2 AND e.position <= $3 ORDER BY e.position LIMIT $4`,
        each,
        afterPosition,
        endPosition,
        limit,
      )),
    )
  const next = found.sort((one, other) => number(one, 'position') - number(other, 'position')).slice(0, limit)
  const last = next.at(-1)
  const hasMore = last !== undefined && found.length >= limit
  return {
    from,
    to:
      hasMore && last.epoch !== epoch
        ? { epoch: text(last, 'epoch'), position: number(last, 'position') }
        : { epoch, position: hasMore ? number(last, 'position') : Math.max(endPosition, afterPosition) },
    entries: next.filter(({ kind }) => kind !== 'user.reinstated').map(toReceiptEntry),
    hasMore,
  }
})

function toReceiptEntry(found: Row): ReceiptEntry {
  return {
    siteId: toSiteId(found),
    epoch: text(found, 'epoch'),
    seq: number(found, 'seq'),
    kind: text(found, 'kind') as EntryKind,
    hash: text(found, 'hash'),
    atMs: parseTime(text(found, 'at')) ?? 0,
    drillId: optionalText(found, 'drill_id') ?? null,
  }
}

/** Where the log ends, and up to where receipts are written. */
export interface ReceiptPositions {
  readonly log: ReceiptProgress
  readonly done: ReceiptProgress | undefined
}

/** Undefined before the log begins. */
export const receiptPositions = read(function* (): Transaction<ReceiptPositions | undefined> {
  const at = yield* row(
    `SELECT log.epoch, log.position, p.epoch AS done_epoch, p.position AS done FROM log
       LEFT JOIN receipt_progress p ON p.one = 1 WHERE log.one = 1`,
  )
  if (at === undefined) return undefined
  return {
    log: { epoch: text(at, 'epoch'), position: number(at, 'position') },
    done:
      at.done_epoch === null ? undefined : { epoch: text(at, 'done_epoch'), position: number(at, 'done') },
  }
})

/** The entries of a site in a part of the log. */
export interface SiteEntries {
  readonly siteId: SiteId
  readonly fromSeq: number
  readonly toSeq: number
  /** The position of the first. */
  readonly fromPosition: number
}

/** Which sites have entries in a part of the log. Reads as many rows as the part has positions. */
export const entriesBySite = read(function* (
  epoch: string,
  afterPosition: number,
  toPosition: number,
): Transaction<readonly SiteEntries[]> {
  const found = yield* rows(
    `SELECT site_id, MIN(seq) AS from_seq, MAX(seq) AS to_seq, MIN(position) AS from_position FROM entries
     WHERE epoch = $1 AND position > $2 AND position <= $3 GROUP BY site_id ORDER BY MIN(position)`,
    epoch,
    afterPosition,
    toPosition,
  )
  return found.map((each) => ({
    siteId: toSiteId(each),
    fromSeq: number(each, 'from_seq'),
    toSeq: number(each, 'to_seq'),
    fromPosition: number(each, 'from_position'),
  }))
})

/** Entries of one site, and those of them that have no receipt. */
export interface SiteWork {
  /** Undefined when there are no entries. */
  readonly last: { readonly seq: number; readonly position: number } | undefined
  readonly entries: readonly ReceiptEntry[]
}

/** The entries of each share, in the order of the shares. */
export const receiptWork = read(function* (
  epoch: string,
  shares: readonly {
    readonly siteId: SiteId
    readonly afterSeq: number
    readonly toSeq: number
    readonly limit: number
  }[],
): Transaction<readonly SiteWork[]> {
  const work: SiteWork[] = []
  for (const { siteId, afterSeq, toSeq, limit } of shares) {
    const found = yield* rows(
      `SELECT e.epoch, e.position, e.site_id, e.seq, e.kind, e.hash, e.at, d.drill_id, r.seq AS written FROM entries e
         LEFT JOIN drills d ON d.site_id = e.site_id AND d.seq = e.seq AND d.epoch = e.epoch
         LEFT JOIN receipts r ON r.site_id = e.site_id AND r.seq = e.seq AND r.epoch = e.epoch
       WHERE e.epoch = $1 AND e.site_id = $2 AND e.seq > $3 AND e.seq <= $4 ORDER BY e.seq LIMIT $5`,
      epoch,
      siteId,
      afterSeq,
      toSeq,
      limit,
    )
    const last = found.at(-1)
    work.push({
      last: last && { seq: number(last, 'seq'), position: number(last, 'position') },
      entries: found
        .filter(({ kind, written }) => kind !== 'user.reinstated' && written === null)
        .map(toReceiptEntry),
    })
  }
  return work
})

/**
 * Writes the first versions of receipts, and moves the progress. False when another node is doing
 * the same: it has moved the progress, and nothing is written, or it has written some of them.
 */
export function* writeReceipts(
  { from, to }: Pick<ReceiptWork, 'from' | 'to'>,
  written: readonly ReceiptRow[],
): Transaction<boolean> {
  yield* lock(LOCK)
  const now = yield* row('SELECT epoch, position FROM receipt_progress WHERE one = 1')
  if (now?.epoch !== from?.epoch || now?.position !== from?.position) return false
  const added: ReceiptRow[] = []
  for (const each of written) {
    const { receipt, dueAtMs } = each
    const inserted = yield* countChanged(
      `INSERT INTO receipts (site_id, seq, epoch, at, state, due_at, updates, summary, receipt)
       VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)
       ON CONFLICT (site_id, seq) DO UPDATE SET epoch = excluded.epoch, at = excluded.at, state = excluded.state,
         due_at = excluded.due_at, updates = 0, summary = excluded.summary, receipt = excluded.receipt
         WHERE receipts.epoch <> excluded.epoch`,
      receipt.site_id,
      receipt.seq,
      receipt.epoch,
      parseTime(receipt.at) ?? 0,
      receipt.state,
      dueAtMs ?? null,
      toSummary(receipt),
      JSON.stringify(receipt),
    )
    if (inserted > 0) added.push(each)
  }
  // One that was there already has been counted.
  yield* addApplyTimes(added.map(toApplyTimes))
  yield* exec(
    `INSERT INTO receipt_progress (one, epoch, position) VALUES (1, $1, $2)
     ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, position = excluded.position`,
    to.epoch,
    to.position,
  )
  return added.length === written.length
}

/** Replaces receipts that no other node has replaced since they were read. */
export function* updateReceipts(changes: readonly ReceiptUpdate[]): Transaction<void> {
  yield* lock(LOCK)
  const written: ReceiptUpdate[] = []
  for (const change of changes) {
    const { receipt, dueAtMs, updates } = change
    const replaced = yield* countChanged(
      `UPDATE receipts SET state = $4, due_at = $5, updates = updates + 1, summary = $6, receipt = $7
       WHERE site_id = $1 AND seq = $2 AND epoch = $3 AND updates = $8`,
      receipt.site_id,
      receipt.seq,
      receipt.epoch,
      receipt.state,
      dueAtMs ?? null,
      toSummary(receipt),
      JSON.stringify(receipt),
      updates,
    )
    if (replaced > 0) written.push(change)
  }
  yield* addApplyTimes(written.map(toApplyTimes))
}

function toApplyTimes({ receipt, times }: ReceiptRow) {
  return { siteId: receipt.site_id, atMs: parseTime(receipt.at) ?? 0, times }
}

/** The sites with receipts that may change, after `after`, by site. */
export const sitesWithOpenReceipts = read(function* (
  after: string,
  limit: number,
): Transaction<readonly SiteId[]> {
  // Jumps from site to site in the index: one site may have very many.
  const found = yield* rows(
    `WITH RECURSIVE known (site_id, left_over) AS (
       SELECT MIN(site_id), CAST($2 AS BIGINT) FROM receipts WHERE due_at IS NOT NULL AND site_id > $1
       UNION ALL
       SELECT (SELECT MIN(r.site_id) FROM receipts r WHERE r.due_at IS NOT NULL AND r.site_id > known.site_id), known.left_over - 1
       FROM known WHERE known.site_id IS NOT NULL AND known.left_over > 1
     ) SELECT site_id FROM known WHERE site_id IS NOT NULL`,
    after,
    limit,
  )
  return found.map(toSiteId)
})

/** Receipts of a site that may change, of entries after `afterSeq` and up to `toSeq`, in order. */
export const openReceipts = read(function* (
  siteId: SiteId,
  { afterSeq, toSeq }: { readonly afterSeq: number; readonly toSeq: number },
  limit: number,
): Transaction<readonly OpenReceipt[]> {
  const found = yield* rows(
    `SELECT receipt, updates FROM receipts WHERE site_id = $1 AND seq > $2 AND seq <= $3 AND due_at IS NOT NULL
     ORDER BY seq LIMIT $4`,
    siteId,
    afterSeq,
    toSeq,
    limit,
  )
  return found.map(toOpenReceipt)
})

/** Receipts that are due, and whether there may be more of them. */
export interface DueReceipts {
  readonly receipts: readonly OpenReceipt[]
  readonly hasMore: boolean
}

/**
 * Receipts that are to be written again by now, at most `limit`, in equal parts from the sites
 * after `afterSite`.
 */
export const dueReceipts = read(function* (
  nowMs: number,
  afterSite: string,
  limit: number,
): Transaction<DueReceipts> {
  // Jumps from site to site in the index: one site may have very many.
  const sites = yield* rows(
    `WITH RECURSIVE known (site_id) AS (
       SELECT MIN(site_id) FROM receipts WHERE due_at IS NOT NULL AND site_id > $2
       UNION ALL
       SELECT (SELECT MIN(r.site_id) FROM receipts r WHERE r.due_at IS NOT NULL AND r.site_id > known.site_id)
       FROM known WHERE known.site_id IS NOT NULL
     ) SELECT site_id FROM known WHERE site_id IS NOT NULL
       AND (SELECT MIN(r.due_at) FROM receipts r WHERE r.site_id = known.site_id AND r.due_at IS NOT NULL) <= $1 LIMIT $3`,
    nowMs,
    afterSite,
    limit,
  )
  const share = Math.max(1, Math.floor(limit / Math.max(1, sites.length)))
  const found: Row[] = []
  for (const each of sites)
    found.push(
      ...(yield* rows(
        'SELECT receipt, updates FROM receipts WHERE site_id = $1 AND due_at <= $2 ORDER BY due_at LIMIT $3',
        text(each, 'site_id'),
        nowMs,
        share,
      )),
    )
  return { receipts: found.map(toOpenReceipt), hasMore: sites.length === limit || found.length >= share }
})

function toOpenReceipt(found: Row): OpenReceipt {
  return { receipt: json(found, 'receipt'), updates: number(found, 'updates') }
}

/** The newest first; named by their seq. */
export const receipts = read(function* (
  siteId: SiteId,
  { state }: { readonly state?: ReceiptState | undefined },
  { after, limit }: Page,
): Transaction<readonly ReceiptSummaryRow[]> {
  const before = after === undefined ? Number.MAX_SAFE_INTEGER : Number(after)
  const found =
    state === undefined
      ? yield* rows(
          'SELECT summary FROM receipts WHERE site_id = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3',
          siteId,
          before,
          limit,
        )
      : yield* rows(
          'SELECT summary FROM receipts WHERE site_id = $1 AND state = $4 AND seq < $2 ORDER BY seq DESC LIMIT $3',
          siteId,
          before,
          limit,
          state,
        )
  return found.map((each) => json(each, 'summary'))
})

/** The last version of the receipt of an entry. */
export const receipt = read(function* (siteId: SiteId, seq: number): Transaction<SignedReceipt | undefined> {
  const found = yield* row('SELECT receipt FROM receipts WHERE site_id = $1 AND seq = $2', siteId, seq)
  return found && json(found, 'receipt')
})

/** Removes the receipts of the oldest entries, up to `beforeMs`. Returns how many. */
export function* purgeReceipts(beforeMs: number, limit: number): Transaction<number> {
  return yield* countChanged(
    `DELETE FROM receipts WHERE (site_id, seq) IN
       (SELECT site_id, seq FROM receipts WHERE at <= $1 ORDER BY at LIMIT $2)`,
    beforeMs,
    limit,
  )
}

function toSummary({
  site_id: _site,
  entry_hash: _hash,
  denied_at_latest: _latest,
  verifiers: _verifiers,
  kid: _kid,
  signature: _signature,
  ...summary
}: SignedReceipt): string {
  return JSON.stringify(summary satisfies ReceiptSummaryRow)
}
