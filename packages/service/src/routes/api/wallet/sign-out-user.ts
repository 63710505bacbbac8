import { signOutUser as signOut } from '../../../actions/cut-off.ts'
import { resolveUser } from '../../../actions/resolve-user.ts'
import type { Route } from '../../../route.ts'
import { answerCutOff } from '../../shared/answer-cut-off.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnSite } from '../../shared/require-revoker.ts'

export const signOutUser: Route<'sign_out_user'> = async (request, deps) => {
  const { site_id: siteId, reason } = request.body
  await requireOwnSite(request, deps, siteId)
  const ppids = await resolveUser(deps, siteId, request.body)
  const context = auditContext(request, deps)
  const done = await signOut(deps, { siteId, ppids, beforeMs: context.atMs, reason }, context)
  return answerCutOff(request, deps, siteId, 'user.signed_out', done.target, done)
}
