import { randomBytes } from 'node:crypto'
import type { Entry, EntryKind, SiteId } from '@countersign/core'
import { number, optionalJson, optionalNumber, optionalText, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, type Row, read, row, rows, type SqlValue, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { siteBase } from './cut-log.ts'
import { entriesAfter } from './shared/entries-after.ts'
import { formerEpochs } from './shared/former-epochs.ts'
import { toEntry } from './shared/log-rows.ts'
import { padList } from './shared/pad-list.ts'
import { recordAudit } from './shared/record-audit.ts'
import { findSigning } from './shared/webhook-secrets.ts'
import type { WebhookStatus } from './webhooks.ts'

export interface Delivery {
  readonly deliveryId: string
  readonly webhookId: string
  readonly siteId: SiteId
  readonly kind: EntryKind
  readonly epoch: string
  readonly seq: number
  readonly status: 'pending' | 'delivered' | 'failed'
  readonly attempts: number
  readonly createdAtMs: number
  /** Undefined when it has ended. */
  readonly nextAttemptAtMs: number | undefined
  readonly deliveredAtMs: number | undefined
  /** The last status of the receiver; undefined when it did not answer. */
  readonly lastStatus: number | undefined
}

/** What a list of the deliveries of a site is selected by. Of statuses, `delivered` cannot be. */
export interface DeliveryColumn {
  readonly column: 'status' | 'kind' | 'webhook_id'
  readonly value: string
}

export interface Recovery {
  readonly sinceMs: number
  /** Also those that were delivered. */
  readonly isAll: boolean
  readonly after: string | undefined
  readonly reason: string | undefined
}

export interface Recovered {
  readonly count: number
  /** The name of the last one, when there are more. */
  readonly next: string | undefined
}

/** A node's turn to send to a webhook. No other node sends to it until the lease ends. */
export interface WebhookTurn {
  readonly webhookId: string
  readonly owner: string
  readonly nowMs: number
  readonly leaseMs: number
  /** Only records how the attempt ended, and releases the lease. */
  readonly release?: boolean
}

export interface DueDelivery extends Delivery {
  readonly url: string
  /** The newest first, then earlier ones that still sign. */
  readonly secretsSealed: readonly string[]
  /** Since when all attempts have failed. */
  readonly failingSinceMs: number | undefined
  /** Undefined when it is no longer in the log. */
  readonly entry: Entry | undefined
}

export interface EndedAttempt {
  readonly deliveryId: string
  /** `aborted`: this node aborted the attempt; it is not counted and is repeated. */
  readonly end: 'delivered' | 'failed' | 'aborted' | { readonly againAtMs: number }
  readonly lastStatus: number | undefined
  /** What the list of its attempts shows. */
  readonly attempt?: Omit<DeliveryAttempt, 'status'>
  /** Why the webhook is disabled. Its pending deliveries fail, and an audit row is written. */
  readonly disable?: string | undefined
}

/** One attempt, as it is kept with its delivery. */
export interface DeliveryAttempt {
  readonly atMs: number
  /** Until the response; null when there was none. */
  readonly ms: number | null
  readonly status: number | null
  readonly failure: 'status' | 'no_answer' | 'entry_removed' | null
}

export interface WebhookLoad {
  readonly pending: number
  readonly oldestPendingAtMs: number | undefined
  readonly failed: number
  /** Number of disabled webhooks. */
  readonly disabled: number
}

/** Maximum number of pending deliveries of a webhook; later entries stay in the log until then. */
const WAITING_MAX = 200
/** Maximum number of pending replays of a webhook. */
const REPLAYS_MAX = 1000
/** As in the contract, which the writer thread does not load. */
const ATTEMPTS_KEPT = 20
const RECOVERED_MAX = 500
/** How many entries one transaction makes into deliveries. */
const PLANNED_MAX = 50

/**
 * No lease and no pause is longer. A time further ahead comes from a clock that was set back since,
 * and must not delay anything.
 */
const LEASE_MS_BELIEVED = 120_000
const PAUSE_MS_BELIEVED = 86_400_000

/** The newest first. */
export const deliveries = read(function* (
  siteId: SiteId,
  webhookId: string,
  { after, limit }: Page,
): Transaction<readonly Delivery[]> {
  const found = yield* rows(
    `SELECT * FROM deliveries WHERE webhook_id = $1 AND site_id = $2 AND seq < $3 ORDER BY seq DESC LIMIT $4`,
    webhookId,
    siteId,
    after === undefined ? Number.MAX_SAFE_INTEGER : Number(after),
    limit,
  )
  return found.map(toDelivery)
})

/**
 * Makes a delivery pending that has ended: it is sent beside the others, which do not wait for it.
 * One that is pending already is due immediately, in its order. Undefined when the site has no such
 * delivery; `too_many` when a thousand replays of the webhook are waiting.
 */
export function* replayDelivery(
  siteId: SiteId,
  deliveryId: string,
  context: AuditContext,
): Transaction<Delivery | 'too_many' | undefined> {
  // The webhook first, as the sender does.
  const webhook = yield* row(
    `UPDATE webhooks SET due_at = CASE WHEN due_at < $3 THEN due_at ELSE $3 END WHERE site_id = $1 AND deleted_at IS NULL
       AND webhook_id = (SELECT webhook_id FROM deliveries WHERE delivery_id = $2) RETURNING webhook_id`,
    siteId,
    deliveryId,
    context.atMs,
  )
  if (webhook === undefined) return undefined
  if ((yield* countReplays(text(webhook, 'webhook_id'))) >= REPLAYS_MAX) return 'too_many'
  const pending = yield* row(
    `UPDATE deliveries SET next_attempt_at = $2, status = 'pending', delivered_at = NULL,
       attempts = CASE WHEN status = 'pending' THEN attempts ELSE 0 END, replayed = CASE WHEN status = 'pending' THEN replayed ELSE 1 END
     WHERE delivery_id = $1 RETURNING *`,
    deliveryId,
    context.atMs,
  )
  if (pending === undefined) return undefined
  const delivery = toDelivery(pending)
  const detail = { webhook_id: delivery.webhookId, entry: delivery.seq }
  yield* recordAudit({ siteId, action: 'webhook.replay', target: deliveryId, detail, context })
  return delivery
}

/** Deliveries of a site, the newest first. A row is named by `toDeliveryName`. */
export const siteDeliveries = read(function* (
  siteId: SiteId,
  by: DeliveryColumn | undefined,
  { after, limit }: Page,
): Transaction<readonly Delivery[]> {
  const [createdAt = '', seq = '', deliveryId = ''] = after?.split(' ') ?? []
  const values: SqlValue[] = []
  const put = (value: SqlValue) => `$${values.push(value)}`
  // A webhook has one site; with both, a store may choose the index of the site.
  const conditions = [by?.column === 'webhook_id' ? [] : [`site_id = ${put(siteId)}`]].flat()
  if (by !== undefined) conditions.push(`${by.column} = ${put(by.value)}`)
  // Written out, because the index has this condition.
  if (by?.column === 'status') conditions.push(`status <> 'delivered'`)
  if (after !== undefined)
    conditions.push(
      `(created_at, seq, delivery_id) < (${put(Number(createdAt))}, ${put(Number(seq))}, ${put(deliveryId)})`,
    )
  const found = yield* rows(
    `SELECT * FROM deliveries WHERE ${conditions.join(' AND ')}
     ORDER BY created_at DESC, seq DESC, delivery_id DESC LIMIT ${put(limit)}`,
    ...values,
  )
  return found.map(toDelivery).filter((each) => each.siteId === siteId)
})

/** With its attempts, the newest first. Those of deleted webhooks are not found. */
export const delivery = read(function* (
  siteId: SiteId,
  deliveryId: string,
): Transaction<{ readonly delivery: Delivery; readonly attempts: readonly DeliveryAttempt[] } | undefined> {
  const found = yield* row(
    `SELECT d.* FROM deliveries d JOIN webhooks w ON w.webhook_id = d.webhook_id
     WHERE d.delivery_id = $1 AND d.site_id = $2 AND w.deleted_at IS NULL`,
    deliveryId,
    siteId,
  )
  return found && { delivery: toDelivery(found), attempts: toHistory(found) }
})

/**
 * Makes deliveries pending that have ended, the oldest first: those that were created at `sinceMs`
 * or later and come after the one named `after`. They are sent beside the others, which do not wait
 * for them. Undefined when the site has no such webhook; `too_many` when a thousand replays of it
 * are waiting.
 */
export function* recoverDeliveries(
  siteId: SiteId,
  webhookId: string,
  { sinceMs, isAll, after, reason }: Recovery,
  context: AuditContext,
): Transaction<Recovered | 'too_many' | undefined> {
  // The webhook first, as the sender does.
  const webhook = yield* row(
    `UPDATE webhooks SET due_at = CASE WHEN due_at < $3 THEN due_at ELSE $3 END
     WHERE site_id = $1 AND webhook_id = $2 AND deleted_at IS NULL RETURNING webhook_id`,
    siteId,
    webhookId,
    context.atMs,
  )
  if (webhook === undefined) return undefined
  const room = REPLAYS_MAX - (yield* countReplays(webhookId))
  if (room <= 0) return 'too_many'
  const limit = Math.min(room, RECOVERED_MAX)
  const [createdAt, seq] = after?.split(' ') ?? [sinceMs, -1]
  const found = yield* rows(
    `SELECT delivery_id, created_at, seq FROM deliveries WHERE webhook_id = $1 AND status ${isAll ? `<> 'pending'` : `= 'failed'`}
       AND (created_at, seq) > ($2, $3) ORDER BY created_at, seq LIMIT $4`,
    webhookId,
    Number(createdAt),
    Number(seq),
    limit + 1,
  )
  const taken = found.slice(0, limit)
  const ids = padList(taken.map((each) => text(each, 'delivery_id')))
  if (ids.length > 0)
    yield* exec(
      `UPDATE deliveries SET status = 'pending', replayed = 1, attempts = 0, delivered_at = NULL, next_attempt_at = $1
       WHERE delivery_id IN (${ids.map((_, i) => `$${i + 2}`).join(', ')})`,
      context.atMs,
      ...ids,
    )
  const last = found.length > limit ? taken.at(-1) : undefined
  const outcome = taken.length === 0 ? 'unchanged' : 'done'
  const detail = { recovered: taken.length, since: sinceMs, deliveries: isAll ? 'all' : 'failed' }
  yield* recordAudit({
    siteId,
    action: 'webhook.recover',
    target: webhookId,
    outcome,
    reason,
    detail,
    context,
  })
  return {
    count: taken.length,
    next: last && `${number(last, 'created_at')} ${number(last, 'seq')}`,
  }
}

function* countReplays(webhookId: string): Transaction<number> {
  const counted = yield* row(
    `SELECT COUNT(*) AS count FROM deliveries WHERE webhook_id = $1 AND status = 'pending' AND replayed = 1`,
    webhookId,
  )
  return counted === undefined ? 0 : number(counted, 'count')
}

/**
 * Webhooks that have something to be sent now and that no node is sending to, the longest waiting
 * first. Two nodes that ask at the same time get the same answer.
 */
export const dueWebhooks = read(function* (nowMs: number, limit: number): Transaction<readonly string[]> {
  const found = yield* rows(
    `SELECT w.webhook_id FROM webhooks w JOIN heads h ON h.site_id = w.site_id
     WHERE w.deleted_at IS NULL AND w.status <> 'paused' AND ${isFree('$1')}
       AND (w.due_at <= $1 OR w.due_at > $1 + ${PAUSE_MS_BELIEVED} OR (w.status = 'on' AND w.waiting < $3 AND h.seq > w.cursor_seq))
     ORDER BY w.turn_at, w.webhook_id LIMIT $2`,
    nowMs,
    limit,
    WAITING_MAX,
  )
  return found.map((row) => text(row, 'webhook_id'))
})

function isFree(now: string): string {
  return `(lease_until IS NULL OR lease_until <= ${now} OR lease_until > ${now} + ${LEASE_MS_BELIEVED})`
}

/** What one turn changes of a webhook. Its row is locked until the end of the transaction. */
interface WebhookState {
  readonly siteId: SiteId
  readonly kinds: readonly EntryKind[] | undefined
  status: WebhookStatus
  cursorSeq: number
  waiting: number
  failingSinceMs: number | undefined
}

/**
 * Takes the lease of a webhook, records how the last attempt of the lease's holder ended, makes new
 * log entries into deliveries, and returns the one that is due, for which the lease is kept.
 * Undefined when nothing is due, which releases the lease; or when another node holds it, and then
 * nothing is written. Deliveries come in the order of the log: none before those in front of it
 * have ended.
 */
export function* nextDelivery(turn: WebhookTurn, ended?: EndedAttempt): Transaction<DueDelivery | undefined> {
  const { webhookId, nowMs } = turn
  const held = yield* takeLease(turn, ended !== undefined)
  if (held === undefined) return undefined
  const state: WebhookState = {
    siteId: toSiteId(held),
    kinds: optionalJson(held, 'kinds'),
    status: text(held, 'status') as WebhookState['status'],
    cursorSeq: number(held, 'cursor_seq'),
    waiting: number(held, 'waiting'),
    failingSinceMs: optionalNumber(held, 'failing_since'),
  }
  if (ended !== undefined) yield* recordAttempt(ended, turn, state)
  if (state.status === 'on') yield* planDeliveries(turn, state)
  const fronts = yield* findFronts(webhookId)
  const [first] = fronts
  const due =
    turn.release === true || state.status === 'paused'
      ? undefined
      : fronts.find((row) => isDueAt(number(row, 'next_attempt_at'), nowMs))
  yield* exec(
    `UPDATE webhooks SET status = $2, cursor_seq = $3, waiting = $4, failing_since = $5, due_at = $6, turn_at = $7,
       lease_owner = CASE WHEN $8 = 1 THEN lease_owner END, lease_until = CASE WHEN $8 = 1 THEN lease_until END WHERE webhook_id = $1`,
    webhookId,
    state.status,
    state.cursorSeq,
    state.waiting,
    state.failingSinceMs ?? null,
    first === undefined ? null : number(first, 'next_attempt_at'),
    nowMs,
    due === undefined ? 0 : 1,
  )
  if (due === undefined) return undefined
  return {
    ...toDelivery(due),
    url: text(held, 'url'),
    secretsSealed: findSigning(held, nowMs),
    failingSinceMs: state.failingSinceMs,
    entry: optionalText(due, 'hash') === undefined ? undefined : toEntry(due),
  }
}

function isDueAt(atMs: number, nowMs: number): boolean {
  return atMs <= nowMs || atMs > nowMs + PAUSE_MS_BELIEVED
}

/**
 * Undefined when another node holds the lease, or the webhook was deleted. What was sent under a
 * lease that another node has taken over has no effect.
 */
function* takeLease(
  { webhookId, owner, nowMs, leaseMs }: WebhookTurn,
  isHolder: boolean,
): Transaction<Row | undefined> {
  const take =
    'UPDATE webhooks SET lease_owner = $2, lease_until = $3 WHERE webhook_id = $1 AND deleted_at IS NULL'
  return isHolder
    ? yield* row(`${take} AND lease_owner = $2 RETURNING *`, webhookId, owner, nowMs + leaseMs)
    : yield* row(`${take} AND ${isFree('$4')} RETURNING *`, webhookId, owner, nowMs + leaseMs, nowMs)
}

function* recordAttempt(
  ended: EndedAttempt,
  { webhookId, nowMs }: WebhookTurn,
  state: WebhookState,
): Transaction<void> {
  const { deliveryId, end, lastStatus } = ended
  if (end === 'aborted') return
  const isOver = end === 'delivered' || end === 'failed'
  const found = yield* row('SELECT history FROM deliveries WHERE delivery_id = $1', deliveryId)
  const attempt: DeliveryAttempt | undefined = ended.attempt && {
    ...ended.attempt,
    status: lastStatus ?? null,
  }
  const history = [...(attempt ? [attempt] : []), ...(found === undefined ? [] : toHistory(found))]
  const written = yield* row(
    `UPDATE deliveries SET status = $2, attempts = attempts + 1, next_attempt_at = $3, delivered_at = $4, last_status = $5, history = $6
     WHERE delivery_id = $1 AND status = 'pending' RETURNING replayed`,
    deliveryId,
    isOver ? end : 'pending',
    isOver ? nowMs : end.againAtMs,
    end === 'delivered' ? nowMs : null,
    lastStatus ?? null,
    JSON.stringify(history.slice(0, ATTEMPTS_KEPT)),
  )
  if (written === undefined) return
  if (isOver && number(written, 'replayed') === 0) state.waiting--
  state.failingSinceMs = end === 'delivered' ? undefined : (state.failingSinceMs ?? nowMs)
  if (ended.disable === undefined || state.status === 'disabled') return
  state.status = 'disabled'
  state.waiting = 0
  yield* exec(
    `UPDATE deliveries SET status = 'failed' WHERE webhook_id = $1 AND status = 'pending'`,
    webhookId,
  )
  const context: AuditContext = { actor: 'system', atMs: nowMs }
  const { siteId } = state
  yield* recordAudit({ siteId, action: 'webhook.disable', target: webhookId, reason: ended.disable, context })
}

/**
 * Makes the next entries of the log into deliveries. The cursor moves with them, so each is made
 * once.
 */
function* planDeliveries({ webhookId, nowMs }: WebhookTurn, state: WebhookState): Transaction<void> {
  const { siteId, kinds } = state
  const room = Math.min(WAITING_MAX - state.waiting, PLANNED_MAX)
  if (room <= 0) return
  const news = yield* findNews(webhookId, state, room, nowMs)
  const last = news.at(-1)
  if (last === undefined) return
  state.cursorSeq = number(last, 'seq')
  const wanted = news.filter((row) => kinds === undefined || kinds.includes(text(row, 'kind') as EntryKind))
  if (wanted.length === 0) return
  const values = wanted.flatMap((row) => [
    createDeliveryId(),
    text(row, 'epoch'),
    number(row, 'seq'),
    text(row, 'kind'),
  ])
  const places = wanted.map(
    (_, i) => `($${4 * i + 4}, $1, $2, $${4 * i + 5}, $${4 * i + 6}, $${4 * i + 7}, 'pending', 0, 0, $3, $3)`,
  )
  yield* exec(
    `INSERT INTO deliveries (delivery_id, webhook_id, site_id, epoch, seq, kind, status, replayed, attempts, created_at, next_attempt_at)
     VALUES ${places.join(', ')}`,
    webhookId,
    siteId,
    nowMs,
    ...values,
  )
  state.waiting += wanted.length
}

/**
 * The next entries of the log for a webhook. Those before the base are in a former epoch, if a new
 * epoch began since. Entries that are no longer kept cannot be delivered: the cursor moves over
 * them, and an audit row says so.
 */
function* findNews(
  webhookId: string,
  state: WebhookState,
  limit: number,
  nowMs: number,
): Transaction<readonly Row[]> {
  const { siteId } = state
  const base = yield* siteBase(siteId)
  if (base !== undefined && state.cursorSeq < base.seq) {
    const former = yield* findFormer(siteId, state.cursorSeq, base.seq, limit)
    const next = former[0] === undefined ? base.seq + 1 : number(former[0], 'seq')
    if (next > state.cursorSeq + 1) {
      yield* recordAudit({
        siteId,
        action: 'webhook.skip',
        target: webhookId,
        reason: 'the log no longer has these entries',
        detail: { from_seq: state.cursorSeq + 1, to_seq: next - 1 },
        context: { actor: 'system', atMs: nowMs },
      })
      state.cursorSeq = next - 1
    }
    if (former.length > 0) return former
  }
  return yield* entriesAfter(siteId, state.cursorSeq, limit)
}

/** Entries of former epochs that the current one continues, each seq once. */
function* findFormer(
  siteId: SiteId,
  cursorSeq: number,
  baseSeq: number,
  limit: number,
): Transaction<readonly Row[]> {
  const bySeq = new Map<number, Row>()
  for (const epoch of yield* formerEpochs()) {
    const found = yield* rows(
      'SELECT epoch, seq, kind FROM entries WHERE epoch = $1 AND site_id = $2 AND seq > $3 AND seq <= $4 ORDER BY seq LIMIT $5',
      epoch,
      siteId,
      cursorSeq,
      baseSeq,
      limit,
    )
    for (const each of found) bySeq.set(number(each, 'seq'), each)
  }
  // Several epochs may have the same entry. Only those without a gap are sure to be complete.
  const all = [...bySeq.values()].sort((a, b) => number(a, 'seq') - number(b, 'seq')).slice(0, limit)
  const first = all[0] === undefined ? 0 : number(all[0], 'seq')
  return all.filter((each, i) => number(each, 'seq') === first + i)
}

/**
 * The first pending delivery and the first pending replay, with their entries; the earlier one
 * first.
 */
function* findFronts(webhookId: string): Transaction<readonly Row[]> {
  const front = (replayed: 0 | 1, order: string) =>
    `SELECT * FROM (SELECT * FROM deliveries WHERE webhook_id = $1 AND status = 'pending' AND replayed = ${replayed} ORDER BY ${order} LIMIT 1) f${replayed}`
  return yield* rows(
    `SELECT d.*, e.position, e.body, e.at, e.prev_hash, e.hash
     FROM (${front(0, 'seq')} UNION ALL ${front(1, 'next_attempt_at, seq')}) d
       LEFT JOIN entries e ON e.epoch = d.epoch AND e.site_id = d.site_id AND e.seq = d.seq
     ORDER BY d.next_attempt_at, d.replayed`,
    webhookId,
  )
}

const PAUSED = `SELECT webhook_id FROM webhooks WHERE status = 'paused'`

export const webhookLoad = read(function* (): Transaction<WebhookLoad> {
  const found = yield* row(
    // What a paused webhook keeps is not late. The minimum is in one query with the count: alone,
    // it is looked for by age, among all deliveries that have ended.
    `SELECT p.pending, p.oldest,
       (SELECT COUNT(*) FROM deliveries WHERE status = 'failed') AS failed,
       (SELECT COUNT(*) FROM webhooks WHERE status = 'disabled' AND deleted_at IS NULL) AS disabled
     FROM (SELECT COUNT(*) AS pending, MIN(created_at) AS oldest FROM deliveries
       WHERE status = 'pending' AND webhook_id NOT IN (${PAUSED})) p`,
  )
  if (found === undefined) throw new Error('the count returned no row')
  return {
    pending: number(found, 'pending'),
    oldestPendingAtMs: optionalNumber(found, 'oldest'),
    failed: number(found, 'failed'),
    disabled: number(found, 'disabled'),
  }
})

function toHistory(row: Row): readonly DeliveryAttempt[] {
  return optionalJson<readonly DeliveryAttempt[]>(row, 'history') ?? []
}

function createDeliveryId(): string {
  return `dlv_${randomBytes(18).toString('base64url')}`
}

function toDelivery(row: Row): Delivery {
  const status = text(row, 'status') as Delivery['status']
  return {
    deliveryId: text(row, 'delivery_id'),
    webhookId: text(row, 'webhook_id'),
    siteId: toSiteId(row),
    epoch: text(row, 'epoch'),
    seq: number(row, 'seq'),
    kind: text(row, 'kind') as EntryKind,
    status,
    attempts: number(row, 'attempts'),
    createdAtMs: number(row, 'created_at'),
    nextAttemptAtMs: status === 'pending' ? number(row, 'next_attempt_at') : undefined,
    deliveredAtMs: optionalNumber(row, 'delivered_at'),
    lastStatus: optionalNumber(row, 'last_status'),
  }
}
