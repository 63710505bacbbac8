import { resolveUser } from '../../../actions/resolve-user.ts'
import { revokeUserIds } from '../../../actions/revoke-user.ts'
import type { Route } from '../../../route.ts'
import { answerRevocation } from '../../shared/answer-revocation.ts'
import { requireRevoker } from '../../shared/require-revoker.ts'

/**
 * Revokes a user. Allowed with an API key of the site, or with the user's own root credential,
 * which names the user by ppid. A delegated credential cannot revoke the user who delegated it.
 */
export const revokeUserRoute: Route<'revoke_user'> = async (request, deps) => {
  const { ppid, site_id: siteId, reason } = request.body
  const context = await requireRevoker(
    request,
    deps,
    siteId,
    ({ subject, credential }) => subject.ppid === ppid && credential.parent === undefined,
  )
  const ppids = await resolveUser(deps, siteId, request.body)
  const revoked = await revokeUserIds(deps, { siteId, ppids, reason }, context)
  const entries = revoked.users.map(({ ppid, seq, alreadyRevoked }) => ({
    ppid,
    seq,
    already_revoked: alreadyRevoked,
  }))
  return answerRevocation(request, deps, siteId, { revocation_type: 'user', entries }, revoked)
}
