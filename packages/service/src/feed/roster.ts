import type { RosterState } from '@countersign/core/contract'
import type { LeaseRow } from '../store/operations/leases.ts'
import { isSilent, readLeaseTimes, type StreamReader } from './receipt.ts'

/** A verifier of a site, now or in the last 30 days. */
export interface RosterEntry {
  readonly verifierId: string
  readonly keyId: string
  /** Undefined for a reader that declares no instance. */
  readonly lease: LeaseRow | undefined
  readonly state: RosterState
  /** Whether receipts of now count it. */
  readonly isExpected: boolean
  readonly nodeId: string | undefined
  readonly connectedAtMs: number
  readonly seq: number
  readonly acknowledgedAtMs: number | undefined
  /** From when on it certainly rejects everything; undefined while it may accept. */
  readonly rejectsSinceMs: number | undefined
  readonly retiredAtMs: number | undefined
  readonly retiredBy: 'verifier' | 'operator' | undefined
}

/** What an entry depends on besides its lease. */
export interface RosterMoment {
  readonly nowMs: number
  /** How long signed heads of the site are valid at most. */
  readonly headAgeMsMax: number
  /** Acknowledgements of other epochs mean nothing. */
  readonly epoch: string
}

export function toRosterEntry(lease: LeaseRow, { nowMs, headAgeMsMax, epoch }: RosterMoment): RosterEntry {
  const times = readLeaseTimes(lease, headAgeMsMax, nowMs)
  const state = !times.isConnected
    ? times.isClosed
      ? 'retired'
      : 'gone'
    : isSilent(lease, nowMs)
      ? 'silent'
      : 'connected'
  const isRetired = state === 'retired'
  const mayAccept = times.isConnected || (lease.failsOpen && !(isRetired && !lease.isRetired))
  return {
    verifierId: lease.verifierId,
    keyId: lease.keyId,
    lease,
    state,
    isExpected: times.isExpected,
    nodeId: lease.lastNodeId === '' ? undefined : lease.lastNodeId,
    connectedAtMs: lease.connectedAtMs,
    seq: lease.epoch === epoch ? lease.seq : 0,
    acknowledgedAtMs: lease.heardAtMs || undefined,
    // An operator can say that a verifier is gone, but not when it stopped.
    rejectsSinceMs: mayAccept
      ? undefined
      : isRetired && !lease.isRetired
        ? times.closedAtMs
        : times.servedAtMs + times.leaseMs,
    retiredAtMs: isRetired ? lease.closedAtMs : undefined,
    retiredBy: isRetired ? (lease.isRetired ? 'operator' : 'verifier') : undefined,
  }
}

/** A reader without an instance is listed while it is connected. */
export function toReaderEntry(reader: StreamReader): RosterEntry {
  const { verifierId, keyId, connectedAtMs, seq, acknowledgedAtMs, streams } = reader
  return {
    verifierId,
    keyId,
    lease: undefined,
    state: 'connected',
    isExpected: false,
    nodeId: streams[0]?.nodeId,
    connectedAtMs,
    seq,
    acknowledgedAtMs,
    rejectsSinceMs: undefined,
    retiredAtMs: undefined,
    retiredBy: undefined,
  }
}

/**
 * The name of an entry in the list. Several instances may have one verifier name, and two keys may
 * have a verifier of the same name. Names sort like their parts, because no part has a space.
 */
export function toRosterName({ verifierId, keyId, lease }: RosterEntry): string {
  return [verifierId, keyId, ...(lease === undefined ? [] : [lease.instanceId])].join(' ')
}

/** The parts of such a name. */
export function parseRosterName(name: string): {
  readonly verifierId: string
  readonly keyId: string
  readonly instanceId: string
} {
  const [verifierId = '', keyId = '', instanceId = ''] = name.split(' ')
  return { verifierId, keyId, instanceId }
}
