import type { ClaimedCredential } from '@countersign/core/contract'
import { claimOffer as claim } from '../../actions/offers.ts'
import type { Route } from '../../route.ts'

export const claimOffer: Route<'claim_offer'> = async ({ body, holderRequest, requestId }, deps) => {
  const credential = await claim(
    deps,
    { code: body.offer, holderKey: body.holder_key, request: holderRequest },
    requestId,
  )
  // What the core has just signed and read back.
  const answer = { credential } as ClaimedCredential
  return { status: 201, body: answer }
}
