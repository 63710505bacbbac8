import { limits, type VerifierState } from '@countersign/core/contract'
import type { FeedNodeRow, FeedStreamRow } from '../store/operations/feed-streams.ts'
import type { LeaseRow } from '../store/operations/leases.ts'

/** A reader that declares no instance: it holds no lease. */
export interface StreamReader {
  readonly verifierId: string
  readonly keyId: string
  /** Since when it has been connected without a break. */
  readonly connectedAtMs: number
  /** The last acknowledged entry. */
  readonly seq: number
  readonly acknowledgedAtMs: number | undefined
  readonly streams: readonly FeedStreamRow[]
}

/** A stream of a reader without a lease that has ended. */
export type DepartedStream = Pick<
  FeedStreamRow,
  'keyId' | 'verifierId' | 'connectedAtMs' | 'epoch' | 'seq' | 'acks'
> & { readonly endedAtMs: number }

/**
 * All readers of the log of a site. `nodes` were read before `leases`, and those before
 * `headReadersUntilMs`.
 */
export interface SiteReaders {
  /** The time before any of it was read. */
  readonly readAtMs: number
  /** Other nodes of the store. */
  readonly nodes: readonly FeedNodeRow[]
  readonly leases: readonly LeaseRow[]
  readonly streams: readonly StreamReader[]
  /** Readers without a lease that disconnected in the last ten minutes. */
  readonly departed: readonly DepartedStream[]
  /** Until when readers without a lease may have been given signed heads. */
  readonly headReadersUntilMs: number
}

/** An entry, when it was committed, and what limits how long guards may decide without it. */
export interface CommittedEntry {
  readonly epoch: string
  readonly seq: number
  readonly atMs: number
  /** The position in the log of all sites. */
  readonly position: number
  /** When this node had applied it, or its view was too old to decide without it. */
  readonly deniedHereAtMs: number
  /** A time after the commit. */
  readonly committedAtMs: number
  /** When the last head without the entry expires, without allowance for clocks. */
  readonly headsDeadAtMs: number
  /** The longest validity of any such head. */
  readonly headAgeMsMax: number
}

export interface VerifierReport {
  readonly verifierId: string
  readonly instanceId: string | undefined
  /** The node that it is connected to. */
  readonly nodeId: string | undefined
  /** A time before an instance was given its first signed head. */
  readonly openedAtMs: number | undefined
  /** When it last connected or asked for a snapshot: it has been known since then. */
  readonly sinceMs: number
  readonly state: VerifierState
  readonly seq: number
  readonly acknowledgedAtMs: number | undefined
  /** When it had applied the entry, by its own report; never after it acknowledged. */
  readonly appliedAtMs: number | undefined
  /** When it first denied what the entry revoked, by its own report. */
  readonly deniedAtMs: number | undefined
  /** From when on it rejects everything if it does not acknowledge. Undefined when unknown. */
  readonly rejectsFromMs: number | undefined
}

/** How far an entry has got, and from when on every guard denies what it revoked. */
export interface Receipt {
  /** How many readers were looked at for it. */
  readonly readers: number
  readonly connected: number
  readonly acknowledged: number
  /** Connected verifiers that have not acknowledged and are not silent. A wait ends at 0. */
  readonly awaited: number
  readonly expected: number
  /**
   * From the time of the entry until the last connected verifier acknowledged it, or until now if
   * some have not.
   */
  readonly elapsedMs: number
  readonly committedAtMs: number
  /** Undefined when a verifier fails open. */
  readonly deniedEverywhereAtMs: number | undefined
  /**
   * The same for all guards that do not fail open, even if a declaration or acknowledgement was
   * false.
   */
  readonly deniedAtLatestMs: number
  /** Connected and not acknowledged, the furthest behind first. */
  readonly pending: readonly VerifierReport[]
  /** Those that have not acknowledged come first. */
  readonly verifiers: readonly VerifierReport[]
  readonly exceptions: readonly VerifierReport[]
  /** Instances that were there at the commit and have closed since, acknowledged or not. */
  readonly closed: readonly VerifierReport[]
}

/** Clocks of nodes and guards may differ by so much. */
const CLOCK_ALLOWANCE_MS = limits.clock_allowance_seconds * 1000
const SILENT_MS = limits.feed_silent_seconds * 1000
/** A named instance that vanished without closing is shown for so long. */
const VANISHED_MS_MAX = 86_400_000
/** The rows behind an early instant are kept a little longer than this. */
const EARLY_MS_MAX = 82_800_000

/**
 * One reader for each name under each key. A reader that reconnects may have two connections for a
 * while; the one that has acknowledged more is used.
 */
export function toReaders(streams: Iterable<FeedStreamRow>, epoch: string): readonly StreamReader[] {
  const byName = Map.groupBy(streams, ({ keyId, verifierId }) => `${verifierId} ${keyId}`)
  return [...byName.values()].map((own) => {
    const { verifierId, keyId } = own[0] as FeedStreamRow
    const current = own.filter((stream) => stream.epoch === epoch)
    const [seq, connectedAtMs] = [latestSeq(current), firstConnected(own)]
    let acknowledgedAtMs: number | undefined
    for (const { acks } of current)
      for (const { atMs } of acks) acknowledgedAtMs = Math.max(acknowledgedAtMs ?? atMs, atMs)
    return { verifierId, keyId, connectedAtMs, seq, acknowledgedAtMs, streams: current }
  })
}

/** Whether the instance has a stream on a node that is alive. */
export function isConnected({ nodeId, nodeUntilMs }: LeaseRow, nowMs: number): boolean {
  return nodeId !== '' && nodeUntilMs > nowMs
}

/** Whether a connected instance has not acknowledged anything for too long. */
export function isSilent({ heardAtMs, connectedAtMs }: LeaseRow, nowMs: number): boolean {
  return nowMs - Math.max(heardAtMs, connectedAtMs) > SILENT_MS
}

export function createReceipt(readers: SiteReaders, entry: CommittedEntry, nowMs: number): Receipt {
  const holders = readers.leases.map((lease) => createHolder(lease, entry, nowMs))
  const streams = readers.streams.map((reader) => reportReader(reader, entry))
  const listed = holders.filter(({ isExpected, isConnected: isThere }) => isExpected || isThere)
  const departed = findDeparted(readers, entry)
  const reports = [...listed.map(({ report }) => report), ...streams, ...departed]
  const connected = [
    ...holders.filter((holder) => holder.isConnected).map(({ report }) => report),
    ...streams,
  ]
  const pending = connected
    .filter(({ state }) => state !== 'acknowledged')
    .sort((one, other) => one.seq - other.seq)
  const lastMs =
    pending.length > 0
      ? nowMs
      : Math.max(entry.atMs, ...connected.map(({ acknowledgedAtMs }) => acknowledgedAtMs ?? entry.atMs))
  const open = listed.filter(({ lease }) => lease.failsOpen)
  return {
    readers: readers.leases.length + readers.streams.length + readers.departed.length,
    connected: connected.length,
    acknowledged: connected.length - pending.length,
    awaited: pending.filter(({ state }) => state === 'waiting').length,
    expected: holders.filter(({ isExpected }) => isExpected).length,
    elapsedMs: Math.max(0, lastMs - entry.atMs),
    committedAtMs: entry.committedAtMs,
    deniedEverywhereAtMs: open.length > 0 ? undefined : deniedEverywhereAt(readers, holders, entry, nowMs),
    deniedAtLatestMs: everyGuardDeniesAt(entry),
    pending,
    verifiers: reports.sort((one, other) => ORDER[one.state] - ORDER[other.state] || one.seq - other.seq),
    exceptions: open.map(({ report }) => report),
    closed: holders.filter(({ hasClosed }) => hasClosed).map(({ report }) => report),
  }
}

const ORDER: Readonly<Record<VerifierState, number>> = {
  waiting: 0,
  silent: 1,
  not_connected: 2,
  acknowledged: 3,
}

/**
 * Every guard, known or unknown, denies after `everyGuardMs`: its last head without the entry was
 * signed before the commit. An earlier instant is stated when all guards that can have such a head
 * are known. Then it is the latest of their acknowledgements and lease ends.
 */
function deniedEverywhereAt(
  readers: SiteReaders,
  holders: readonly Holder[],
  entry: CommittedEntry,
  nowMs: number,
): number {
  const { committedAtMs, headAgeMsMax } = entry
  const everyGuardMs = everyGuardDeniesAt(entry)
  // A guard that fails open has no bound: it denies once it has acknowledged or closed.
  const openMs = Math.max(
    -Infinity,
    ...holders.map(({ lease, deniesAtMs }) => (lease.failsOpen ? deniesAtMs : -Infinity)),
  )
  const nodesMs = nodesDenyAt(readers, entry, nowMs)
  const isKnown = readers.headReadersUntilMs < committedAtMs - headAgeMsMax - CLOCK_ALLOWANCE_MS
  if (nodesMs === undefined || !isKnown || nowMs - committedAtMs > EARLY_MS_MAX)
    return Math.max(everyGuardMs, openMs)
  // An instance that opened its lease after all nodes had the entry never had a head without it.
  const appliedMs = nodesMs + (readers.nodes.length > 0 ? CLOCK_ALLOWANCE_MS : 0)
  const holding = holders.filter(({ lease }) => lease.openedAtMs <= appliedMs)
  return Math.max(
    openMs,
    Math.min(everyGuardMs, Math.max(committedAtMs, nodesMs, ...holding.map(({ deniesAtMs }) => deniesAtMs))),
  )
}

/** When the last head without the entry has expired everywhere. */
function everyGuardDeniesAt({ headsDeadAtMs }: CommittedEntry): number {
  return headsDeadAtMs + CLOCK_ALLOWANCE_MS
}

/**
 * When the last node, including this one, had applied the entry. A node that has not reported it
 * stops deciding and giving out heads once its view is too old by its own clock. Undefined before
 * that: such a node may still give a head without the entry to a guard that is not known yet.
 */
function nodesDenyAt(
  { nodes, readAtMs }: SiteReaders,
  { epoch, position, committedAtMs, deniedHereAtMs }: CommittedEntry,
  nowMs: number,
): number | undefined {
  // Times of applying are rounded up.
  const untilMs = Math.ceil(nowMs)
  if (deniedHereAtMs > untilMs) return undefined
  let lastMs = Math.max(committedAtMs, deniedHereAtMs)
  for (const { view } of nodes) {
    const mark = view.epoch === epoch ? view.marks.find((each) => each.position >= position) : undefined
    const deniesAtMs = mark?.atMs ?? committedAtMs + view.ageMsMax
    // The leases must have been read after that node could last open one.
    if (deniesAtMs > (mark === undefined ? readAtMs : untilMs)) return undefined
    lastMs = Math.max(lastMs, deniesAtMs)
  }
  return lastMs
}

interface Holder {
  readonly lease: LeaseRow
  readonly report: VerifierReport
  readonly isConnected: boolean
  readonly isExpected: boolean
  /** It was there when the entry was committed, and has closed since. */
  readonly hasClosed: boolean
  /**
   * From when on this instance denies what the entry revoked; -Infinity when its lease ended before
   * the commit.
   */
  readonly deniesAtMs: number
}

/** Until when an instance may accept with the data that it has. */
export interface LeaseTimes {
  readonly isConnected: boolean
  readonly isClosed: boolean
  /** When it can last have been given a signed head. */
  readonly servedAtMs: number
  /** For how long it may accept after that, with allowance for clocks. */
  readonly leaseMs: number
  /** Infinity unless it has closed. */
  readonly closedAtMs: number
  /** Without regard to whether it fails open. */
  readonly liveUntilMs: number
  /** Whether a receipt of now counts it. */
  readonly isExpected: boolean
}

export function readLeaseTimes(lease: LeaseRow, headAgeMsMax: number, nowMs: number): LeaseTimes {
  const isThere = isConnected(lease, nowMs)
  // While the instance has a stream, a declaration that it has closed is wrong.
  const isClosed = lease.closedAtMs !== undefined && !isThere
  // A node that crashed may have given it heads until the node's own lease expired.
  const servedAtMs = isThere
    ? nowMs
    : lease.nodeId === ''
      ? lease.servedAtMs
      : Math.max(lease.servedAtMs, lease.nodeUntilMs)
  const leaseMs = Math.min(lease.boundMs, headAgeMsMax) + CLOCK_ALLOWANCE_MS
  const closedAtMs = isClosed ? Math.max(lease.closedAtMs ?? 0, servedAtMs) : Infinity
  const liveUntilMs = isClosed ? closedAtMs : servedAtMs + leaseMs
  const isExpected =
    !isClosed &&
    (lease.failsOpen || liveUntilMs > nowMs || (lease.isNamed && servedAtMs > nowMs - VANISHED_MS_MAX))
  return { isConnected: isThere, isClosed, servedAtMs, leaseMs, closedAtMs, liveUntilMs, isExpected }
}

function createHolder(lease: LeaseRow, entry: CommittedEntry, nowMs: number): Holder {
  const { committedAtMs, headAgeMsMax, headsDeadAtMs } = entry
  const times = readLeaseTimes(lease, headAgeMsMax, nowMs)
  const { isConnected: isThere, isClosed, closedAtMs, liveUntilMs, isExpected } = times
  const acknowledgedAtMs =
    lease.epoch === entry.epoch ? lease.acks.find(({ seq }) => seq >= entry.seq)?.atMs : undefined
  const heads = Math.min(committedAtMs + lease.boundMs, headsDeadAtMs) + CLOCK_ALLOWANCE_MS
  const rejectsFromMs = isThere ? heads : Math.min(heads, liveUntilMs)
  const state =
    acknowledgedAtMs !== undefined
      ? 'acknowledged'
      : !isThere
        ? 'not_connected'
        : isSilent(lease, nowMs)
          ? 'silent'
          : 'waiting'
  return {
    lease,
    isConnected: isThere,
    isExpected,
    hasClosed: isClosed && lease.openedAtMs <= committedAtMs && closedAtMs > committedAtMs,
    deniesAtMs:
      liveUntilMs <= committedAtMs
        ? -Infinity
        : Math.min(acknowledgedAtMs ?? Infinity, lease.failsOpen ? Infinity : heads, closedAtMs),
    report: {
      verifierId: lease.verifierId,
      instanceId: lease.instanceId,
      nodeId: isThere ? lease.nodeId : undefined,
      openedAtMs: lease.openedAtMs,
      sinceMs: Math.max(lease.connectedAtMs, lease.declaredAtMs),
      state,
      seq: lease.epoch === entry.epoch ? lease.seq : 0,
      acknowledgedAtMs,
      ...findTimes(lease, entry, acknowledgedAtMs),
      rejectsFromMs: acknowledgedAtMs !== undefined || lease.failsOpen ? undefined : rejectsFromMs,
    },
  }
}

/**
 * What an instance has reported about an entry that it has acknowledged. The times are never before
 * the entry, and it can only have applied what it acknowledges.
 */
function findTimes(
  { times }: LeaseRow,
  { seq, atMs }: CommittedEntry,
  acknowledgedAtMs: number | undefined,
): Pick<VerifierReport, 'appliedAtMs' | 'deniedAtMs'> {
  if (acknowledgedAtMs === undefined) return NOTHING_REPORTED
  const appliedMs = times.applied.find((time) => time.seq >= seq)?.atMs
  // A later time is that of a later entry: it did not report this one.
  const appliedAtMs =
    appliedMs === undefined || appliedMs > acknowledgedAtMs ? undefined : Math.max(atMs, appliedMs)
  const deniedMs = times.denied.find((time) => time.seq === seq)?.atMs
  const deniedAtMs = deniedMs === undefined ? undefined : Math.max(appliedAtMs ?? atMs, deniedMs)
  return { appliedAtMs, deniedAtMs }
}

const NOTHING_REPORTED = { appliedAtMs: undefined, deniedAtMs: undefined }

/**
 * Readers without a lease that were connected when the entry was committed and have left since. One
 * that has come back under its name is among the streams. Without an acknowledgement they may
 * accept as long as any guard.
 */
function findDeparted(
  { departed, streams }: Pick<SiteReaders, 'departed' | 'streams'>,
  entry: CommittedEntry,
): readonly VerifierReport[] {
  const toKey = ({ keyId, verifierId }: Pick<StreamReader, 'keyId' | 'verifierId'>) =>
    `${verifierId} ${keyId}`
  const wereThere = departed.filter(
    ({ endedAtMs, connectedAtMs }) => endedAtMs >= entry.atMs && connectedAtMs <= entry.committedAtMs,
  )
  if (wereThere.length === 0) return []
  const present = new Set(streams.map(toKey))
  const left = wereThere.filter((each) => !present.has(toKey(each)))
  return [...Map.groupBy(left, toKey).values()].map((own): VerifierReport => {
    const current = own.filter(({ epoch }) => epoch === entry.epoch)
    const seq = latestSeq(current)
    const isDone = seq >= entry.seq
    return {
      verifierId: own[0]?.verifierId ?? '',
      instanceId: undefined,
      nodeId: undefined,
      openedAtMs: undefined,
      sinceMs: firstConnected(own),
      state: isDone ? 'acknowledged' : 'not_connected',
      seq,
      acknowledgedAtMs: isDone ? firstAck(current, entry) : undefined,
      ...NOTHING_REPORTED,
      rejectsFromMs: isDone ? undefined : everyGuardDeniesAt(entry),
    }
  })
}

function reportReader(
  { verifierId, connectedAtMs, seq, streams }: StreamReader,
  entry: CommittedEntry,
): VerifierReport {
  const isDone = seq >= entry.seq
  return {
    verifierId,
    instanceId: undefined,
    nodeId: streams[0]?.nodeId,
    openedAtMs: undefined,
    sinceMs: connectedAtMs,
    state: isDone ? 'acknowledged' : 'waiting',
    seq,
    acknowledgedAtMs: isDone ? firstAck(streams, entry) : undefined,
    ...NOTHING_REPORTED,
    rejectsFromMs: undefined,
  }
}

/** What a receipt asks of each reader. */
type Acknowledged = Pick<FeedStreamRow, 'acks' | 'seq' | 'connectedAtMs'>

// Loops in these three: each reader usually has one stream, and with lists of their values, 1,000
// readers take twice the time.

/** Undefined when the reader had the entry before it connected. */
function firstAck(streams: readonly Acknowledged[], { seq }: CommittedEntry): number | undefined {
  let firstMs = Infinity
  for (const { acks } of streams)
    firstMs = Math.min(firstMs, acks.find((ack) => ack.seq >= seq)?.atMs ?? Infinity)
  return firstMs === Infinity ? undefined : firstMs
}

function latestSeq(streams: readonly Acknowledged[]): number {
  let latest = 0
  for (const { seq } of streams) latest = Math.max(latest, seq)
  return latest
}

function firstConnected(streams: readonly Acknowledged[]): number {
  let firstMs = Infinity
  for (const { connectedAtMs } of streams) firstMs = Math.min(firstMs, connectedAtMs)
  return firstMs
}
