import { isDenial } from '@countersign/core'
import type { AccessToken } from '@countersign/core/contract'
import { denialToProblem } from '../../../access/guard.ts'
import { exchangeProof as exchange } from '../../../actions/exchange-proof.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'

export const exchangeProof: Route<'exchange_proof'> = async (request, deps) => {
  const signed = request.credentialBody?.credential
  if (signed === undefined)
    throw new Problem(
      'credential_malformed',
      'The body has no credential. Send the signed credential as the member credential.',
    )
  if (isDenial(signed)) throw denialToProblem(signed)
  const { site_id, requested_scope, ttl_seconds } = request.body
  const token = await exchange(deps, {
    signed,
    siteId: site_id,
    requestedScope: requested_scope,
    ttlSeconds: ttl_seconds,
    request: request.holderRequest,
  })
  deps.tallies.count(token.siteId, 'exchange', 'issued')
  const body: AccessToken = {
    access_token: token.text,
    token_type: 'Bearer',
    expires_in: Math.floor((token.expiresAtMs - token.issuedAtMs) / 1000),
    site_id: token.siteId,
    scope: [...token.scope],
    permission_id: token.permissionId,
  }
  return { status: 200, body }
}
