import type { SiteId } from '@countersign/core'
import { json, number, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import { type Acknowledged, toAcks, toAcksText } from './shared/acks.ts'

/**
 * A connection that follows the feed of a site. Its row is removed with the connection, or soon
 * after its node has ended.
 */
export interface FeedStreamRow {
  readonly streamId: string
  readonly nodeId: string
  readonly siteId: SiteId
  readonly keyId: string
  readonly verifierId: string
  /** Whether the verifier chose that name itself. */
  readonly isNamed: boolean
  readonly connectedAtMs: number
  readonly epoch: string
  /** Up to which entry it has applied the log, as it reports. */
  readonly seq: number
  /** The last few, oldest first. */
  readonly acks: readonly Acknowledged[]
}

/** Which part of the log a node has applied, and for how long it may decide with it. */
export interface NodeView {
  readonly ageMsMax: number
  readonly epoch: string
  /** The last positions that it has applied, with their times, oldest first. */
  readonly marks: readonly { readonly position: number; readonly atMs: number }[]
}

export interface FeedNodeRow {
  readonly nodeId: string
  readonly expiresAtMs: number
  readonly view: NodeView
}

export interface StreamReport {
  readonly nodeId: string
  readonly nowMs: number
  readonly view: NodeView
  /** Until when the node is live. */
  readonly expiresAtMs: number
  readonly streams: readonly FeedStreamRow[]
  /** Ids of ended streams. */
  readonly ended: readonly string[]
}

/** An acknowledgement from a client with that key. */
export interface RemoteAck extends Acknowledged {
  readonly siteId: SiteId
  readonly keyId: string
  /** Undefined for a reader without a name. */
  readonly verifierId: string | undefined
  readonly epoch: string
}

/** Rows of one statement, always the same number, so that it is prepared once. */
const ACKS_ASKED = 64

/**
 * Renews the lease of a node, writes its streams and removes those that have ended. `begun`: the
 * node had no lease any more, so its streams may have been removed and must all be reported again.
 */
export function* reportStreams({
  nodeId,
  nowMs,
  expiresAtMs,
  view,
  streams,
  ended,
}: StreamReport): Transaction<'kept' | 'begun'> {
  const before = yield* row('SELECT expires_at FROM feed_nodes WHERE node_id = $1', nodeId)
  yield* exec(
    `INSERT INTO feed_nodes (node_id, expires_at, view_age_ms, epoch, marks) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (node_id) DO UPDATE SET expires_at = excluded.expires_at, epoch = excluded.epoch, marks = excluded.marks`,
    nodeId,
    expiresAtMs,
    view.ageMsMax,
    view.epoch,
    JSON.stringify(view.marks.map(({ position, atMs }) => [position, Math.floor(atMs)])),
  )
  // In order of their ids, as in `applyAcks`, so that no two transactions wait for each other.
  for (const stream of [...streams].sort(byId)) {
    yield* exec(
      `INSERT INTO feed_streams (stream_id, node_id, site_id, key_id, verifier_id, named, connected_at, epoch, seq, acks)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       ON CONFLICT (stream_id) DO UPDATE SET seq = excluded.seq, acks = excluded.acks WHERE excluded.seq > feed_streams.seq`,
      stream.streamId,
      nodeId,
      stream.siteId,
      stream.keyId,
      stream.verifierId,
      stream.isNamed ? 1 : 0,
      stream.connectedAtMs,
      stream.epoch,
      stream.seq,
      toAcksText(stream.acks),
    )
  }
  for (const streamId of [...ended].sort())
    yield* exec('DELETE FROM feed_streams WHERE stream_id = $1', streamId)
  return before !== undefined && number(before, 'expires_at') > nowMs ? 'kept' : 'begun'
}

/** The node has ended, and its streams with it. */
export function* endFeedNode(nodeId: string, nowMs: number): Transaction<void> {
  yield* exec(
    `UPDATE leases SET node_id = '', stream_id = '', served_at = $2 WHERE node_id = $1`,
    nodeId,
    nowMs,
  )
  yield* exec('DELETE FROM feed_streams WHERE node_id = $1', nodeId)
  yield* exec('DELETE FROM feed_nodes WHERE node_id = $1', nodeId)
}

/**
 * Applies acknowledgements to the streams they are for, on any node; none moves back. Returns those
 * that matched no stream here.
 */
export function* applyAcks(acks: readonly RemoteAck[], nowMs: number): Transaction<readonly RemoteAck[]> {
  const matched = new Map<RemoteAck, readonly FeedStreamRow[]>()
  const named = acks.filter(({ verifierId }) => verifierId !== undefined)
  for (let from = 0; from < named.length; from += ACKS_ASKED) {
    const asked = named.slice(from, from + ACKS_ASKED)
    const found = yield* findNamedStreams(asked, nowMs)
    for (const ack of asked) matched.set(ack, found.get(toName(ack)) ?? [])
  }
  for (const ack of acks)
    if (ack.verifierId === undefined) matched.set(ack, yield* findUnnamedStream(ack, nowMs))

  const matches = [...matched].flatMap(([ack, streams]) => streams.map((stream) => ({ stream, ack })))
  for (const { stream, ack } of matches.sort((one, other) => byId(one.stream, other.stream))) {
    if (ack.seq <= stream.seq || ack.epoch !== stream.epoch) continue
    yield* exec(
      'UPDATE feed_streams SET seq = $2, acks = $3 WHERE stream_id = $1 AND seq < $2',
      stream.streamId,
      ack.seq,
      toAcksText([...stream.acks, { seq: ack.seq, atMs: ack.atMs }]),
    )
  }
  return acks.filter((ack) => matched.get(ack)?.length === 0)
}

function* findNamedStreams(
  acks: readonly RemoteAck[],
  nowMs: number,
): Transaction<ReadonlyMap<string, readonly FeedStreamRow[]>> {
  const asked = [...acks]
  while (asked.length < ACKS_ASKED) asked.push(acks[0] as RemoteAck)
  const list = asked.map((_, i) => `($${i * 3 + 2}, $${i * 3 + 3}, $${i * 3 + 4})`).join(', ')
  const found = yield* rows(
    `SELECT f.* FROM feed_streams f JOIN feed_nodes n ON n.node_id = f.node_id
     WHERE n.expires_at > $1 AND (f.site_id, f.key_id, f.verifier_id) IN (VALUES ${list})`,
    nowMs,
    ...asked.flatMap(({ siteId, keyId, verifierId }) => [siteId, keyId, verifierId ?? '']),
  )
  return Map.groupBy(found.map(toStream), toName)
}

/**
 * An acknowledgement without a name is for the one unnamed stream of its key at that site, and for
 * none when there are several.
 */
function* findUnnamedStream(
  { siteId, keyId }: RemoteAck,
  nowMs: number,
): Transaction<readonly FeedStreamRow[]> {
  const found = yield* rows(
    `SELECT f.* FROM feed_streams f JOIN feed_nodes n ON n.node_id = f.node_id
     WHERE n.expires_at > $1 AND f.site_id = $2 AND f.key_id = $3 AND f.named = 0 LIMIT 2`,
    nowMs,
    siteId,
    keyId,
  )
  return found.length === 1 ? found.map(toStream) : []
}

function toName({ siteId, keyId, verifierId }: RemoteAck | FeedStreamRow): string {
  return `${siteId} ${keyId} ${verifierId}`
}

/** The streams of a site on all live nodes, by stream id. */
export const feedStreams = read(function* (
  siteId: SiteId,
  nowMs: number,
  { after, limit }: Page,
): Transaction<readonly FeedStreamRow[]> {
  const found = yield* rows(
    `SELECT f.* FROM feed_streams f JOIN feed_nodes n ON n.node_id = f.node_id
     WHERE f.site_id = $1 AND n.expires_at > $2 AND f.stream_id > $3 ORDER BY f.stream_id LIMIT $4`,
    siteId,
    nowMs,
    after ?? '',
    limit,
  )
  return found.map(toStream)
})

/** All live nodes, and those that vanished within the last hour. */
export const feedNodes = read(function* (): Transaction<readonly FeedNodeRow[]> {
  const found = yield* rows('SELECT * FROM feed_nodes ORDER BY node_id')
  return found.map((node) => ({
    nodeId: text(node, 'node_id'),
    expiresAtMs: number(node, 'expires_at'),
    view: {
      ageMsMax: number(node, 'view_age_ms'),
      epoch: text(node, 'epoch'),
      marks: json<[number, number][]>(node, 'marks').map(([position, atMs]) => ({ position, atMs })),
    },
  }))
})

function toStream(found: Row): FeedStreamRow {
  return {
    streamId: text(found, 'stream_id'),
    nodeId: text(found, 'node_id'),
    siteId: toSiteId(found),
    keyId: text(found, 'key_id'),
    verifierId: text(found, 'verifier_id'),
    isNamed: number(found, 'named') === 1,
    connectedAtMs: number(found, 'connected_at'),
    epoch: text(found, 'epoch'),
    seq: number(found, 'seq'),
    acks: toAcks(found),
  }
}

function byId(one: { readonly streamId: string }, other: { readonly streamId: string }): number {
  return one.streamId < other.streamId ? -1 : 1
}
