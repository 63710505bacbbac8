import { formatTime } from '@countersign/core'
import type { Reinstatement } from '@countersign/core/contract'
import { reinstateUser as reinstate } from '../../../actions/reinstate-user.ts'
import type { Route } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnSite } from '../../shared/require-revoker.ts'

export const reinstateUser: Route<'reinstate_user'> = async (request, deps) => {
  const { ppid, site_id: siteId, reason } = request.body
  await requireOwnSite(request, deps, siteId)
  const { reinstatedAtMs, alreadyActive, epoch, seq } = await reinstate(
    deps,
    { siteId, ppid, reason },
    auditContext(request, deps),
  )
  const body: Reinstatement = {
    success: true,
    ppid,
    site_id: siteId,
    reinstated_at: formatTime(reinstatedAtMs),
    already_active: alreadyActive,
    epoch,
    seq,
  }
  return { status: 200, body }
}
