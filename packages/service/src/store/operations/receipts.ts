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
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
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

/**
 * Writes the first versions of receipts, and moves the progress. False, and nothing is written,
 * when another node has moved it.
 */
export function* writeReceipts(
  { from, to }: Pick<ReceiptWork, 'from' | 'to'>,
  written: readonly ReceiptRow[],
): Transaction<boolean> {
  yield* lock(LOCK)
  const now = yield* row('SELECT epoch, position FROM receipt_progress WHERE one = 1')
  if (now?.epoch !== from?.epoch || now?.position !== from?.position) return false
  for (const { receipt, dueAtMs } of written) {
    yield* exec(
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
  }
  yield* addApplyTimes(written.map(toApplyTimes))
  yield* exec(
    `INSERT INTO receipt_progress (one, epoch, position) VALUES (1, $1, $2)
     ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, position = excluded.position`,
    to.epoch,
    to.position,
  )
  return true
}

/** Replaces receipts that no other node has replaced since they were read. */
export function* updateReceipts(changes: readonly ReceiptUpdate[]): Transaction<void> {
  yield* lock(LOCK)
  const written: ReceiptUpdate[] = []
  for (const change of changes) {
    const { receipt, dueAtMs, updates } = change
    const found = yield* rows(
      `UPDATE receipts SET state = $4, due_at = $5, updates = updates + 1, summary = $6, receipt = $7
       WHERE site_id = $1 AND seq = $2 AND epoch = $3 AND updates = $8 RETURNING 1 AS one`,
      receipt.site_id,
      receipt.seq,
      receipt.epoch,
      receipt.state,
      dueAtMs ?? null,
      toSummary(receipt),
      JSON.stringify(receipt),
      updates,
    )
    if (found.length > 0) written.push(change)
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

/** Receipts of all sites that are to be written again by now. */
export const dueReceipts = read(function* (
  nowMs: number,
  limit: number,
): Transaction<readonly OpenReceipt[]> {
  const found = yield* rows(
    'SELECT receipt, updates FROM receipts WHERE due_at <= $1 ORDER BY due_at LIMIT $2',
    nowMs,
    limit,
  )
  return found.map(toOpenReceipt)
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
  const gone = yield* rows(
    `DELETE FROM receipts WHERE (site_id, seq) IN
       (SELECT site_id, seq FROM receipts WHERE at <= $1 ORDER BY at LIMIT $2) RETURNING 1 AS one`,
    beforeMs,
    limit,
  )
  return gone.length
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
