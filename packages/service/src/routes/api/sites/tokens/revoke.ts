import type { TokenRevocation } from '@countersign/core/contract'
import { revokeTokenById as revoke } from '../../../../actions/revoke-token.ts'
import type { Route } from '../../../../route.ts'
import { auditContext } from '../../../shared/audit-context.ts'
import { requireSiteInPath } from '../../../shared/site-access.ts'
import { withPropagation } from '../../../shared/with-propagation.ts'

/** As in RFC 7009, an unknown token is no error: it may have expired, and been removed. */
export const revokeTokenById: Route<'revoke_token_by_id'> = async (request, deps) => {
  const { token_id } = request.params
  const { siteId } = await requireSiteInPath(request, deps)
  const order = { siteId, jti: token_id, reason: request.body.reason }
  const entry = await revoke(deps, order, auditContext(request, deps))
  const body: TokenRevocation = {
    success: true,
    token_id,
    revoked: entry !== undefined,
    epoch: entry?.epoch ?? null,
    seq: entry?.seq ?? null,
  }
  return withPropagation(request, deps, siteId, entry, body)
}
