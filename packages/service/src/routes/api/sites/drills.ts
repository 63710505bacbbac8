import { formatTime } from '@countersign/core'
import type { Drill, DrillSummary } from '@countersign/core/contract'
import { requireDrill, startDrill as start } from '../../../actions/drills.ts'
import type { Route } from '../../../route.ts'
import type { DrillRow } from '../../../store/operations/drills.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const startDrill: Route<'start_drill'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { reason } = request.body
  const drill = await start(deps, { siteId, reason }, auditContext(request, deps))
  return { status: 202, body: toDrillBody(drill) }
}

export const listDrills: Route<'list_drills'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  return answerPage(
    request,
    deps,
    `drills ${siteId}`,
    (page) => deps.store.drills(siteId, page),
    ({ drillId }) => drillId,
    toSummary,
  )
}

export const readDrill: Route<'read_drill'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  return { status: 200, body: toDrillBody(await requireDrill(deps, siteId, request.params.drill_id)) }
}

function toDrillBody(drill: DrillRow): Drill {
  return { ...toMembers(drill), report: (drill.report as Drill['report'] | undefined) ?? null }
}

function toSummary(drill: DrillRow): DrillSummary {
  const { expected = null, acknowledged = null, elapsed_ms = null } = drill.report?.receipt ?? {}
  return { ...toMembers(drill), expected, acknowledged, elapsed_ms }
}

function toMembers({ drillId, credentialId, epoch, seq, startedAtMs, endedAtMs, outcome }: DrillRow) {
  return {
    drill_id: drillId,
    state: outcome ?? ('running' as const),
    started_at: formatTime(startedAtMs),
    ended_at: toOptionalTime(endedAtMs),
    credential_id: credentialId,
    epoch,
    seq,
  }
}
