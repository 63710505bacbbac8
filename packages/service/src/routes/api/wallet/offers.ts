import { limits, type Offer } from '@countersign/core/contract'
import { createOffer as create } from '../../../actions/offers.ts'
import type { Route } from '../../../route.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { requireOwnOrder } from './credentials.ts'

/** The code follows the #, which browsers do not send to servers. */
export const createOffer: Route<'create_offer'> = async (request, deps) => {
  const code = await create(deps, requireOwnOrder(request), auditContext(request, deps))
  const answer: Offer = {
    offer_url: `${deps.config.baseUrl}/wallet#offer=${code}`,
    expires_in: limits.offer_seconds,
  }
  return { status: 201, body: answer }
}
