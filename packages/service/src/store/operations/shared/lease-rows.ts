import { number, optionalNumber, text, toSiteId } from '../../columns.ts'
import type { Row } from '../../transaction.ts'
import type { LeaseRow } from '../leases.ts'
import { toAcks } from './acks.ts'

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
    heardAtMs: number(found, 'heard_at'),
    closedAtMs: optionalNumber(found, 'closed_at'),
    isRetired: number(found, 'retired') === 1,
  }
}
