import { revokeUser } from '../../../actions/revoke-user.ts'
import type { Route } from '../../../route.ts'
import { answerRevocation } from '../../shared/answer-revocation.ts'
import { requireRevoker } from '../../shared/require-revoker.ts'

/**
 * Revokes a user. Allowed with an API key of the site, or with the user's own root credential. A
 * delegated credential cannot revoke the user who delegated it.
 */
export const revokeUserRoute: Route<'revoke_user'> = async (request, deps) => {
  const { ppid, site_id: siteId, reason } = request.body
  const context = await requireRevoker(
    request,
    deps,
    siteId,
    ({ subject, credential }) => subject.ppid === ppid && credential.parent === undefined,
  )
  return answerRevocation(
    request,
    deps,
    siteId,
    'user',
    await revokeUser(deps, { siteId, ppid, reason }, context),
  )
}
