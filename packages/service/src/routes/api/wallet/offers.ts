import { limits, type Offer } from '@countersign/core/contract'
import { createOffer as create } from '../../../actions/offers.ts'
import type { Route } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnGrant, toUser } from './credentials.ts'

/** The code follows the #, which browsers do not send to servers. */
export const createOffer: Route<'create_offer'> = async (request, deps) => {
  const { body } = request
  requireOwnGrant(request, body.site_id)
  const code = await create(
    deps,
    {
      siteId: body.site_id,
      user: toUser(body),
      scope: body.scope,
      permissionId: body.permission_id,
      ttlSeconds: body.ttl_seconds,
    },
    auditContext(request, deps),
  )
  const answer: Offer = {
    offer_url: `${deps.config.baseUrl}/wallet#offer=${code}`,
    expires_in: limits.offer_seconds,
  }
  return { status: 201, body: answer }
}
