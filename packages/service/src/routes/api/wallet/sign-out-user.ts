import { formatTime } from '@countersign/core'
import { cutOff } from '../../../actions/cut-off.ts'
import type { Route } from '../../../route.ts'
import { answerCutOff } from '../../shared/answer-cut-off.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnSite } from '../../shared/require-revoker.ts'

export const signOutUser: Route<'sign_out_user'> = async (request, deps) => {
  const { ppid, site_id: siteId, reason } = request.body
  await requireOwnSite(request, deps, siteId)
  const context = auditContext(request, deps)
  const body = { ppid, before: formatTime(context.atMs) }
  const done = await cutOff(deps, { siteId, kind: 'user.signed_out', body, target: ppid, reason }, context)
  return answerCutOff(request, deps, siteId, 'user.signed_out', ppid, done)
}
