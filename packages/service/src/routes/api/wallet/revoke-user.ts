import { revokeUser as revoke } from '../../../actions/revoke-user.ts'
import type { Route } from '../../../route.ts'
import { answerRevocation } from '../../shared/answer-revocation.ts'
import { requireRevoker } from '../../shared/require-revoker.ts'

/**
 * With a key of the site, or by the user with a root credential: a delegated one may not turn
 * against its principal.
 */
export const revokeUser: Route<'revoke_user'> = async (request, deps) => {
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
    await revoke(deps, { siteId, ppid, reason }, context),
  )
}
