import type { SiteId } from '@countersign/core'
import { number, text } from '../columns.ts'
import { addTimes, NO_TIMES, type ReportedTimes } from '../reported-times.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { ACKS_KEPT, type Acknowledged, toAcksText, toTimesText } from './shared/acks.ts'
import { type LeaseName, type LeaseRow, type LeaseTerms, toLease } from './shared/lease-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

export type { LeaseName, LeaseRow, LeaseTerms }

export interface LeaseOrder extends LeaseTerms {
  readonly nodeId: string
  /** Undefined for a snapshot. */
  readonly streamId: string | undefined
  readonly epoch: string
  readonly nowMs: number
  readonly liveMax: number
}

export interface LeaseEnd extends LeaseName {
  readonly streamId: string
  readonly atMs: number
}

/** What an instance has acknowledged, oldest first. */
export interface LeaseAcks extends LeaseName {
  readonly epoch: string
  readonly acks: readonly Acknowledged[]
  readonly times: ReportedTimes
  readonly heardAtMs: number
  /** Set when the instance has closed. */
  readonly closedAtMs: number | undefined
}

export interface LeasePage {
  readonly after: Pick<LeaseName, 'keyId' | 'instanceId'> | undefined
  readonly limit: number
}

/** Ended leases kept for one key, for receipts of the last day. */
const ENDED_PER_KEY_MAX = 1000
const CLOCK_ALLOWANCE_MS = 10_000
/**
 * Whether the instance may still accept with its data at the time `$2`. One that fails open may
 * until it has closed.
 */
const IS_LIVE = `(node_id <> '' OR (closed_at IS NULL AND (fails_open = 1 OR served_at + bound_ms + ${CLOCK_ALLOWANCE_MS} > $2)))`
/** Rows of one statement, always the same number, so that it is prepared once. */
const ACKS_ASKED = 64

/**
 * Writes or renews the lease of an instance before it is given a signed head. `full`: the key has
 * `liveMax` live leases, and nothing was written.
 */
export function* openLease(order: LeaseOrder): Transaction<'open' | 'full'> {
  const { siteId, keyId, instanceId, nowMs, nodeId, streamId } = order
  const before = yield* row(
    `SELECT 1 AS one FROM leases WHERE key_id = $1 AND ${IS_LIVE} AND site_id = $3 AND instance_id = $4`,
    keyId,
    nowMs,
    siteId,
    instanceId,
  )
  // Also for an instance whose lease has ended.
  if (before === undefined) {
    // Two concurrent requests must not both get the last free lease.
    yield* lock(`leases ${keyId}`)
    const live = yield* row(
      `SELECT count(*) AS live FROM leases WHERE key_id = $1 AND ${IS_LIVE}`,
      keyId,
      nowMs,
    )
    if (number(live as Row, 'live') >= order.liveMax) return 'full'
    yield* removeOldest(keyId, nowMs)
    yield* exec(
      'DELETE FROM former_verifiers WHERE site_id = $1 AND key_id = $2 AND instance_id = $3',
      siteId,
      keyId,
      instanceId,
    )
  }
  // A stream replaces the earlier one of the same instance. The weaker promise is kept.
  const stream =
    ', node_id = excluded.node_id, last_node_id = excluded.node_id, stream_id = excluded.stream_id, connected_at = excluded.connected_at'
  yield* exec(
    `INSERT INTO leases (site_id, key_id, instance_id, verifier_id, named, bound_ms, fails_open, opened_at, node_id, stream_id, connected_at, served_at, epoch,
       seq, acks, heard_at, closed_at, declared_at, version, last_node_id, retired)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $10, $8, $9, $10, $10, $11, 0, '[]', 0, NULL, $10, $12, $8, 0)
     ON CONFLICT (site_id, key_id, instance_id) DO UPDATE SET verifier_id = excluded.verifier_id, named = excluded.named, version = excluded.version, retired = 0,
       bound_ms = CASE WHEN excluded.bound_ms > leases.bound_ms THEN excluded.bound_ms ELSE leases.bound_ms END,
       fails_open = CASE WHEN excluded.fails_open > leases.fails_open THEN excluded.fails_open ELSE leases.fails_open END,
       served_at = CASE WHEN excluded.served_at > leases.served_at THEN excluded.served_at ELSE leases.served_at END,
       declared_at = CASE WHEN excluded.declared_at > leases.declared_at THEN excluded.declared_at ELSE leases.declared_at END,
       closed_at = NULL${streamId === undefined ? '' : stream}`,
    siteId,
    keyId,
    instanceId,
    order.verifierId,
    order.isNamed ? 1 : 0,
    order.boundMs,
    order.failsOpen ? 1 : 0,
    streamId === undefined ? '' : nodeId,
    streamId ?? '',
    nowMs,
    order.epoch,
    order.version ?? '',
  )
  return 'open'
}

/**
 * Removes the oldest ended leases of a key above the limit. Receipts of that time may no longer
 * state an early instant, so each removed row is recorded as a reader without a lease.
 */
function* removeOldest(keyId: string, nowMs: number): Transaction<void> {
  const gone = yield* rows(
    `SELECT site_id, instance_id, served_at, bound_ms FROM leases WHERE key_id = $1 AND NOT ${IS_LIVE}
     ORDER BY served_at DESC LIMIT 100 OFFSET ${ENDED_PER_KEY_MAX}`,
    keyId,
    nowMs,
  )
  for (const each of gone) {
    const siteId = text(each, 'site_id')
    yield* exec(
      'DELETE FROM leases WHERE site_id = $1 AND key_id = $2 AND instance_id = $3',
      siteId,
      keyId,
      text(each, 'instance_id'),
    )
    yield* recordHeadReaders(
      [siteId as SiteId],
      number(each, 'served_at') + number(each, 'bound_ms') + CLOCK_ALLOWANCE_MS,
    )
  }
}

/** These streams have ended. A lease whose instance has another stream stays as it is. */
export function* endLeaseStreams(ends: readonly LeaseEnd[]): Transaction<void> {
  for (const { siteId, keyId, instanceId, streamId, atMs } of [...ends].sort(byName)) {
    yield* exec(
      `UPDATE leases SET node_id = '', stream_id = '', served_at = CASE WHEN served_at > $5 THEN served_at ELSE $5 END
       WHERE site_id = $1 AND key_id = $2 AND instance_id = $3 AND stream_id = $4`,
      siteId,
      keyId,
      instanceId,
      streamId,
      atMs,
    )
  }
}

/** The streams of all other nodes have ended: for a store that only one process can have open. */
export function* endLeaseStreamsOfOthers(nodeId: string, nowMs: number): Transaction<void> {
  yield* exec(
    `UPDATE leases SET node_id = '', stream_id = '', served_at = $2 WHERE node_id <> '' AND node_id <> $1`,
    nodeId,
    nowMs,
  )
}

/**
 * Applies acknowledgements to the leases they are for. None moves back, and none creates a lease.
 * An instance that acknowledges after it has closed is open again, and so is one that was opened
 * again since.
 */
export function* applyLeaseAcks(acks: readonly LeaseAcks[]): Transaction<void> {
  const sorted = [...acks].sort(byName)
  for (let from = 0; from < sorted.length; from += ACKS_ASKED) {
    const asked = sorted.slice(from, from + ACKS_ASKED)
    const found = yield* findNamedLeases(asked)
    for (const each of asked) {
      const lease = found.get(toName(each))
      if (lease !== undefined) yield* applyLeaseAck(lease, each)
    }
  }
}

function* applyLeaseAck(
  lease: LeaseRow,
  { siteId, keyId, instanceId, epoch, acks, times, heardAtMs, closedAtMs }: LeaseAcks,
): Transaction<void> {
  const isSame = lease.epoch === epoch
  const news = acks.filter(({ seq }) => !isSame || seq > lease.seq)
  const kept = [...(isSame ? lease.acks : []), ...news].slice(-ACKS_KEPT)
  const seq = news.at(-1)?.seq ?? (isSame ? lease.seq : 0)
  const { applied, denied } = addTimes(isSame ? lease.times : NO_TIMES, times)
  yield* exec(
    `UPDATE leases SET epoch = $4, seq = $5, acks = $6, applied = $8, denied = $9,
       heard_at = CASE WHEN heard_at > $7 THEN heard_at ELSE $7 END, closed_at = CASE WHEN closed_at < $7 THEN NULL ELSE closed_at END
     WHERE site_id = $1 AND key_id = $2 AND instance_id = $3 AND (epoch <> $4 OR seq <= $5)`,
    siteId,
    keyId,
    instanceId,
    epoch,
    seq,
    toAcksText(kept),
    heardAtMs,
    toTimesText(applied),
    toTimesText(denied),
  )
  if (closedAtMs === undefined) return
  yield* exec(
    'UPDATE leases SET closed_at = $4, retired = 0 WHERE site_id = $1 AND key_id = $2 AND instance_id = $3 AND declared_at <= $4',
    siteId,
    keyId,
    instanceId,
    closedAtMs,
  )
}

/** A lease as it was read: one that was declared again since is not closed. */
export type RetiredLease = Pick<LeaseRow, 'keyId' | 'declaredAtMs'>

/**
 * Closes leases of an instance that is gone, and marks it as retired if it has ended long ago.
 * False when there was nothing to close. The caller has checked that the leases have no stream.
 */
export function* dismissLease(
  siteId: SiteId,
  instanceId: string,
  leases: readonly RetiredLease[],
  nowMs: number,
  context: AuditContext,
): Transaction<boolean> {
  const dismissed: Row[] = []
  for (const { keyId, declaredAtMs } of leases)
    dismissed.push(
      ...(yield* rows(
        `UPDATE leases SET closed_at = $5, retired = 1
         WHERE site_id = $1 AND instance_id = $2 AND key_id = $3 AND declared_at = $4 AND closed_at IS NULL RETURNING verifier_id`,
        siteId,
        instanceId,
        keyId,
        declaredAtMs,
        nowMs,
      )),
    )
  dismissed.push(
    ...(yield* rows(
      `UPDATE former_verifiers SET closed_at = $3, retired = 1, state = 'retired'
       WHERE site_id = $1 AND instance_id = $2 AND state = 'gone' RETURNING verifier_id`,
      siteId,
      instanceId,
      nowMs,
    )),
  )
  if (dismissed.length === 0) return false
  const detail = { verifiers: dismissed.map((each) => text(each, 'verifier_id')).sort() }
  yield* recordAudit({ siteId, action: 'verifier.dismiss', target: instanceId, detail, context })
  return true
}

function* findNamedLeases(acks: readonly LeaseAcks[]): Transaction<ReadonlyMap<string, LeaseRow>> {
  const asked = [...acks]
  while (asked.length < ACKS_ASKED) asked.push(acks[0] as LeaseAcks)
  const list = asked.map((_, i) => `($${i * 3 + 1}, $${i * 3 + 2}, $${i * 3 + 3})`).join(', ')
  const found = yield* rows(
    `SELECT l.*, 0 AS node_until FROM leases l WHERE (l.site_id, l.key_id, l.instance_id) IN (VALUES ${list})`,
    ...asked.flatMap(({ siteId, keyId, instanceId }) => [siteId, keyId, instanceId]),
  )
  return new Map(found.map(toLease).map((lease) => [toName(lease), lease]))
}

/**
 * The leases of a site by key and instance: all live ones, and those that ended within the last
 * day.
 */
export const leases = read(function* (
  siteId: SiteId,
  { after, limit }: LeasePage,
): Transaction<readonly LeaseRow[]> {
  const found = yield* rows(
    `SELECT l.*, COALESCE(n.expires_at, 0) AS node_until FROM leases l LEFT JOIN feed_nodes n ON n.node_id = l.node_id
     WHERE l.site_id = $1 AND (l.key_id, l.instance_id) > ($2, $3) ORDER BY l.key_id, l.instance_id LIMIT $4`,
    siteId,
    after?.keyId ?? '',
    after?.instanceId ?? '',
    limit,
  )
  return found.map(toLease)
})

/** Readers without a lease may be given heads of these sites until then. Never moves back. */
export function* recordHeadReaders(siteIds: readonly SiteId[], untilMs: number): Transaction<void> {
  for (const siteId of [...siteIds].sort()) {
    yield* exec(
      `INSERT INTO head_readers (site_id, until) VALUES ($1, $2) ON CONFLICT (site_id) DO UPDATE SET until = excluded.until
       WHERE excluded.until > head_readers.until`,
      siteId,
      untilMs,
    )
  }
}

/**
 * Until when readers without a lease may have been given heads of the site; 0 when there were none
 * lately.
 */
export const headReadersUntil = read(function* (siteId: SiteId): Transaction<number> {
  const found = yield* row('SELECT until FROM head_readers WHERE site_id = $1', siteId)
  return found === undefined ? 0 : number(found, 'until')
})

function toName({
  siteId,
  keyId,
  instanceId,
}: {
  readonly siteId: string
  readonly keyId: string
  readonly instanceId: string
}): string {
  return `${siteId} ${keyId} ${instanceId}`
}

/** In a fixed order, so that no two transactions wait for each other. */
function byName(one: Parameters<typeof toName>[0], other: Parameters<typeof toName>[0]): number {
  return toName(one) < toName(other) ? -1 : 1
}
