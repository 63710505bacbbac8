import type { TokenRevoked } from '@countersign/core/contract'
import { revokeToken as revoke } from '../../../actions/revoke-token.ts'
import type { Route } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { withPropagation } from '../../shared/with-propagation.ts'

/** RFC 7009: an unknown token is no error. */
export const revokeToken: Route<'revoke_token'> = async (request, deps) => {
  const { body, caller } = request
  const siteId = caller.kind === 'site' ? caller.siteId : undefined
  const entry = await revoke(
    deps,
    { token: body.token, siteId, reason: body.reason },
    auditContext(request, deps),
  )
  const answer: TokenRevoked = { success: true, revoked: entry !== undefined }
  return withPropagation(request, deps, entry?.siteId, entry, answer)
}
