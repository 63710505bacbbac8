import { formatTime } from '@countersign/core'
import type { Revocation, RevocationType } from '@countersign/core/contract'
import type { Revoked } from '../store/store.ts'
import type { RouteAnswer, RouteRequest } from './route.ts'

/** What is answered to a revocation of whatever type. */
export function revocationAnswer(
  { preferWaitSeconds }: Pick<RouteRequest, 'preferWaitSeconds'>,
  type: RevocationType,
  revoked: Revoked,
): RouteAnswer {
  const body: Revocation = {
    success: true,
    credential_id: revoked.credentialId,
    revocation_type: type,
    credential_ids: [...revoked.credentialIds],
    already_revoked: revoked.alreadyRevoked,
    revoked_at: formatTime(revoked.revokedAtMs),
    tokens_revoked: revoked.tokensRevoked,
    epoch: revoked.epoch,
    seq: revoked.seq,
  }
  if (preferWaitSeconds === undefined) return { status: 200, body }
  // Nobody follows a feed yet, so there is nobody to wait for.
  body.propagation = { connected: 0, acknowledged: 0, elapsed_ms: 0, laggards: [] }
  return { status: 200, body, headers: { 'Preference-Applied': `wait=${preferWaitSeconds}` } }
}
