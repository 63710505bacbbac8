import { formatTime } from '@countersign/core'
import type { Node, NodeState } from '@countersign/core/contract'
import type { Route } from '../../../route.ts'
import type { NodeReport } from '../../../store/operations/nodes.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireOperator } from '../../shared/site-access.ts'

/** A node reports every ten seconds. */
const SILENT_MS = 30_000

export const listNodes: Route<'list_nodes'> = async (request, deps) => {
  requireOperator(request.caller)
  const nowMs = deps.clock.nowMs()
  return answerPage(
    request,
    deps,
    'nodes',
    (page) => deps.store.nodes(page),
    ({ nodeId }) => nodeId,
    (report) => toNodeBody(report, nowMs),
  )
}

function toNodeBody(report: NodeReport, nowMs: number): Node {
  return {
    node_id: report.nodeId,
    version: report.version,
    state: toState(report, nowMs),
    started_at: formatTime(report.startedAtMs),
    reported_at: formatTime(report.reportedAtMs),
    epoch: report.epoch,
    position: report.position,
    view_age_ms: report.viewAgeMs ?? null,
    streams: report.streams,
    clock_difference_ms: report.clockDifferenceMs,
  }
}

function toState({ reportedAtMs, isReady }: NodeReport, nowMs: number): NodeState {
  if (nowMs - reportedAtMs > SILENT_MS) return 'silent'
  return isReady ? 'ready' : 'not_ready'
}
