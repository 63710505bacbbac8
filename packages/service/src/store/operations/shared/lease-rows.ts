import type { SiteId } from '@countersign/core'
import { number, optionalNumber, text, toSiteId } from '../../columns.ts'
import type { ReportedTimes } from '../../reported-times.ts'
import type { Row } from '../../transaction.ts'
import { type Acknowledged, toAcks } from './acks.ts'

/** One verifier instance at one site under one key. */
export interface LeaseName {
  readonly siteId: SiteId
  readonly keyId: string
  readonly instanceId: string
}

/** What a verifier declares when it asks for a signed head. */
export interface LeaseTerms extends LeaseName {
  readonly verifierId: string
  /** Whether the name is configured. */
  readonly isNamed: boolean
  /** It rejects everything when its last signed head is older. */
  readonly boundMs: number
  /** Whether it accepts with older data, too. */
  readonly failsOpen: boolean
  /** Of its software, as declared. */
  readonly version?: string | undefined
}

export interface LeaseRow extends LeaseTerms {
  /** Empty if it did not say. */
  readonly version: string
  /** A time before it was given its first signed head. */
  readonly openedAtMs: number
  /** When it last asked for a stream or a snapshot. */
  readonly declaredAtMs: number
  /** Empty while it has no stream. */
  readonly nodeId: string
  readonly streamId: string
  /** The node of its last stream; empty before the first. */
  readonly lastNodeId: string
  /** Until when the node of its stream is live; 0 without a stream. */
  readonly nodeUntilMs: number
  readonly connectedAtMs: number
  /** When it was last given a signed head, while it has no stream. */
  readonly servedAtMs: number
  readonly epoch: string
  readonly seq: number
  readonly acks: readonly Acknowledged[]
  /** Of the same epoch as `seq`. */
  readonly times: ReportedTimes
  /** Time of its last acknowledgement; 0 before the first. */
  readonly heardAtMs: number
  /** When it declared that it rejects everything. Ignored while it has a stream. */
  readonly closedAtMs: number | undefined
  /** Whether an operator has closed it. */
  readonly isRetired: boolean
}

/** A row of the leases, with `node_until` of its node. */
export function toLease(found: Row): LeaseRow {
  return {
    siteId: toSiteId(found),
    keyId: text(found, 'key_id'),
    instanceId: text(found, 'instance_id'),
    verifierId: text(found, 'verifier_id'),
    isNamed: number(found, 'named') === 1,
    boundMs: number(found, 'bound_ms'),
    failsOpen: number(found, 'fails_open') === 1,
    version: text(found, 'version'),
    openedAtMs: number(found, 'opened_at'),
    declaredAtMs: number(found, 'declared_at'),
    nodeId: text(found, 'node_id'),
    lastNodeId: text(found, 'last_node_id'),
    nodeUntilMs: number(found, 'node_until'),
    streamId: text(found, 'stream_id'),
    connectedAtMs: number(found, 'connected_at'),
    servedAtMs: number(found, 'served_at'),
    epoch: text(found, 'epoch'),
    seq: number(found, 'seq'),
    acks: toAcks(found),
    times: { applied: toAcks(found, 'applied'), denied: toAcks(found, 'denied') },
    heardAtMs: number(found, 'heard_at'),
    closedAtMs: optionalNumber(found, 'closed_at'),
    isRetired: number(found, 'retired') === 1,
  }
}
