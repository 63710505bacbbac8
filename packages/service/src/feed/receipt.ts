import { limits, type VerifierState } from '@countersign/core/contract'
import type { FeedNodeRow, FeedStreamRow } from '../store/operations/feed-streams.ts'
import type { LeaseRow } from '../store/operations/leases.ts'

/** A reader that declares no instance: it holds no lease. */
export interface StreamReader {
  readonly verifierId: string
  readonly keyId: string
  /** Since when, without a break. */
  readonly connectedAtMs: number
  /** What it has acknowledged. */
  readonly seq: number
  readonly acknowledgedAtMs: number | undefined
  readonly streams: readonly FeedStreamRow[]
}

/**
 * Everything that may read the log of a site. `nodes` were read before `leases`, and those before
 * `headReadersUntilMs`.
 */
export interface SiteReaders {
  /** Before any of it was read. */
  readonly readAtMs: number
  /** Other nodes of the store. */
  readonly nodes: readonly FeedNodeRow[]
  readonly leases: readonly LeaseRow[]
  readonly streams: readonly StreamReader[]
  /** Until when readers without a lease may have been given signed heads. */
  readonly headReadersUntilMs: number
}

/** An entry, when it was made, and what decides how long guards may accept without it. */
export interface CommittedEntry {
  readonly epoch: string
  readonly seq: number
  readonly atMs: number
  /** Of the log of all sites. */
  readonly position: number
  /** When the view of the answering node had it, or could no longer be used without it. */
  readonly deniedHereAtMs: number
  /** Read after the commit. */
  readonly committedAtMs: number
  /** When the last head without the entry is no longer valid, clocks aside. */
  readonly headsDeadAtMs: number
  /** The longest validity of any such head. */
  readonly headAgeMsMax: number
}

export interface VerifierReport {
  readonly verifierId: string
  readonly instanceId: string | undefined
  readonly state: VerifierState
  readonly seq: number
  readonly acknowledgedAtMs: number | undefined
  /** While it has not acknowledged the entry. Undefined when nothing is known. */
  readonly rejectsFromMs: number | undefined
}

/** How far an entry has got, and from when on no guard accepts what it revoked. */
export interface Receipt {
  readonly connected: number
  readonly acknowledged: number
  /** Connected verifiers that have not acknowledged and are not silent: worth waiting for. */
  readonly awaited: number
  readonly expected: number
  /**
   * From the time of the entry until the last connected verifier acknowledged it; while some have
   * not, until now.
   */
  readonly elapsedMs: number
  readonly committedAtMs: number
  /** Undefined when a verifier fails open. */
  readonly deniedEverywhereAtMs: number | undefined
  /**
   * The same for all guards that do not fail open, whatever was declared or acknowledged in their
   * names.
   */
  readonly deniedAtLatestMs: number
  /** Connected and not acknowledged, the furthest behind first. */
  readonly laggards: readonly VerifierReport[]
  /** Those that have not acknowledged come first. */
  readonly verifiers: readonly VerifierReport[]
  readonly exceptions: readonly VerifierReport[]
}

/** Clocks of nodes and guards may differ by so much. */
const CLOCK_ALLOWANCE_MS = limits.clock_allowance_seconds * 1000
const SILENT_MS = limits.feed_silent_seconds * 1000
/** A named instance that vanished without closing is shown for so long. */
const VANISHED_MS_MAX = 86_400_000
/** The rows behind an early instant are kept a little longer than this. */
const EARLY_MS_MAX = 82_800_000

/**
 * One for each name under each key: a reader that reconnects may have two connections for a while,
 * and the further one counts.
 */
export function toReaders(streams: Iterable<FeedStreamRow>, epoch: string): readonly StreamReader[] {
  const byName = Map.groupBy(streams, ({ keyId, verifierId }) => `${verifierId} ${keyId}`)
  return [...byName.values()].map((own) => {
    const { verifierId, keyId } = own[0] as FeedStreamRow
    const current = own.filter((stream) => stream.epoch === epoch)
    const times = current.flatMap(({ acks }) => acks.map(({ atMs }) => atMs))
    return {
      verifierId,
      keyId,
      connectedAtMs: Math.min(...own.map(({ connectedAtMs }) => connectedAtMs)),
      seq: Math.max(0, ...current.map(({ seq }) => seq)),
      acknowledgedAtMs: times.length === 0 ? undefined : Math.max(...times),
      streams: current,
    }
  })
}

/** Whether the instance has a stream on a node that is there. */
export function isConnected({ nodeId, nodeUntilMs }: LeaseRow, nowMs: number): boolean {
  return nodeId !== '' && nodeUntilMs > nowMs
}

/** Whether a connected instance has not acknowledged anything for too long. */
export function isSilent({ heardAtMs, connectedAtMs }: LeaseRow, nowMs: number): boolean {
  return nowMs - Math.max(heardAtMs, connectedAtMs) > SILENT_MS
}

export function createReceipt(readers: SiteReaders, entry: CommittedEntry, nowMs: number): Receipt {
  const holders = readers.leases.map((lease) => createHolder(lease, entry, nowMs))
  const reports = [
    ...holders
      .filter(({ isExpected, isConnected: isThere }) => isExpected || isThere)
      .map(({ report }) => report),
    ...readers.streams.map((reader) => reportReader(reader, entry)),
  ]
  const connected = [
    ...holders.filter(({ isConnected: isThere }) => isThere).map(({ report }) => report),
    ...readers.streams.map((reader) => reportReader(reader, entry)),
  ]
  const laggards = connected
    .filter(({ state }) => state !== 'acknowledged')
    .sort((one, other) => one.seq - other.seq)
  const lastMs =
    laggards.length > 0
      ? nowMs
      : Math.max(entry.atMs, ...connected.map(({ acknowledgedAtMs }) => acknowledgedAtMs ?? entry.atMs))
  const open = holders.filter(
    ({ lease, isExpected, isConnected: isThere }) => lease.failsOpen && (isExpected || isThere),
  )
  return {
    connected: connected.length,
    acknowledged: connected.length - laggards.length,
    awaited: laggards.filter(({ state }) => state === 'waiting').length,
    expected: holders.filter(({ isExpected }) => isExpected).length,
    elapsedMs: Math.max(0, lastMs - entry.atMs),
    committedAtMs: entry.committedAtMs,
    deniedEverywhereAtMs: open.length > 0 ? undefined : deniedEverywhereAt(readers, holders, entry, nowMs),
    deniedAtLatestMs: everyGuardDeniesAt(entry),
    laggards,
    verifiers: reports.sort((one, other) => order(one) - order(other) || one.seq - other.seq),
    exceptions: open.map(({ report }) => report),
  }
}

const order = ({ state }: VerifierReport) =>
  ['waiting', 'silent', 'not_connected', 'acknowledged'].indexOf(state)

/**
 * No guard accepts after `everyGuardMs`, whether it is known here or not: its last head without the
 * entry was made before the commit. An earlier instant is stated when everything that can have such
 * a head is known, and then it is the last of their acknowledgements or ends.
 */
function deniedEverywhereAt(
  readers: SiteReaders,
  holders: readonly Holder[],
  entry: CommittedEntry,
  nowMs: number,
): number {
  const { committedAtMs, headAgeMsMax } = entry
  const everyGuardMs = everyGuardDeniesAt(entry)
  // The bound for every guard says nothing about one that failed open until it closed.
  const openMs = Math.max(
    -Infinity,
    ...holders.map(({ lease, deniesAtMs }) => (lease.failsOpen ? deniesAtMs : -Infinity)),
  )
  const nodesMs = nodesDenyAt(readers, entry, nowMs)
  const isKnown = readers.headReadersUntilMs < committedAtMs - headAgeMsMax - CLOCK_ALLOWANCE_MS
  if (nodesMs === undefined || !isKnown || nowMs - committedAtMs > EARLY_MS_MAX)
    return Math.max(everyGuardMs, openMs)
  // An instance that came after all nodes had the entry was never given a head without it.
  const appliedMs = nodesMs + (readers.nodes.length > 0 ? CLOCK_ALLOWANCE_MS : 0)
  const holding = holders.filter(({ lease }) => lease.openedAtMs <= appliedMs)
  return Math.max(
    openMs,
    Math.min(everyGuardMs, Math.max(committedAtMs, nodesMs, ...holding.map(({ deniesAtMs }) => deniesAtMs))),
  )
}

/** When the last head without the entry is no longer valid anywhere. */
function everyGuardDeniesAt({ headsDeadAtMs }: CommittedEntry): number {
  return headsDeadAtMs + CLOCK_ALLOWANCE_MS
}

/**
 * When the last node, this one included, has applied the entry. A node that has not said so can
 * neither decide nor give out heads without it once its view is too old, which it measures on a
 * clock of its own. Undefined before that: it may give such a head to a guard that is not known
 * yet.
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
    // Leases that it opened before its view was too old have to be among those that were read.
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
  /**
   * From when on this instance denies what the entry revoked; -Infinity when its lease ended
   * before.
   */
  readonly deniesAtMs: number
}

function createHolder(lease: LeaseRow, entry: CommittedEntry, nowMs: number): Holder {
  const { committedAtMs, headAgeMsMax, headsDeadAtMs } = entry
  const isThere = isConnected(lease, nowMs)
  // While it has a stream, what was said about its end may be a mistake or a lie.
  const isClosed = lease.closedAtMs !== undefined && !isThere
  // A node that vanished can have given it heads until it stopped counting as there.
  const servedAtMs = isThere
    ? nowMs
    : lease.nodeId === ''
      ? lease.servedAtMs
      : Math.max(lease.servedAtMs, lease.nodeUntilMs)
  const leaseMs = Math.min(lease.boundMs, headAgeMsMax) + CLOCK_ALLOWANCE_MS
  const closedAtMs = isClosed ? Math.max(lease.closedAtMs ?? 0, servedAtMs) : Infinity
  const liveUntilMs = isClosed ? closedAtMs : servedAtMs + leaseMs
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
    isExpected:
      !isClosed &&
      (lease.failsOpen || liveUntilMs > nowMs || (lease.isNamed && servedAtMs > nowMs - VANISHED_MS_MAX)),
    deniesAtMs:
      liveUntilMs <= committedAtMs
        ? -Infinity
        : Math.min(acknowledgedAtMs ?? Infinity, lease.failsOpen ? Infinity : heads, closedAtMs),
    report: {
      verifierId: lease.verifierId,
      instanceId: lease.instanceId,
      state,
      seq: lease.epoch === entry.epoch ? lease.seq : 0,
      acknowledgedAtMs,
      rejectsFromMs: acknowledgedAtMs !== undefined || lease.failsOpen ? undefined : rejectsFromMs,
    },
  }
}

function reportReader({ verifierId, seq, streams }: StreamReader, entry: CommittedEntry): VerifierReport {
  // Undefined when it had the entry before it connected.
  const times = streams.flatMap(({ acks }) => acks.find((ack) => ack.seq >= entry.seq)?.atMs ?? [])
  return {
    verifierId,
    instanceId: undefined,
    state: seq >= entry.seq ? 'acknowledged' : 'waiting',
    seq,
    acknowledgedAtMs: seq >= entry.seq && times.length > 0 ? Math.min(...times) : undefined,
    rejectsFromMs: undefined,
  }
}
