import { formatTime, type SiteId } from '@countersign/core'
import type { Revocation } from '@countersign/core/contract'
import type { RouteAnswer } from '../../answer.ts'
import type { Deps } from '../../deps.ts'
import type { Revoked } from '../../store/operations/revocations.ts'
import { type WaitingRequest, withPropagation } from './with-propagation.ts'

/** The answer to a revocation of any type, after the wait that the caller prefers. */
export function answerRevocation(
  request: WaitingRequest,
  deps: Pick<Deps, 'verifiers' | 'log'>,
  siteId: SiteId,
  { revocation_type, entries }: Pick<Revocation, 'revocation_type' | 'entries'>,
  revoked: Revoked,
): Promise<RouteAnswer> {
  const body: Revocation = {
    success: true,
    credential_id: revoked.credentialId,
    revocation_type,
    credential_ids: [...revoked.credentialIds],
    already_revoked: revoked.alreadyRevoked,
    revoked_at: formatTime(revoked.revokedAtMs),
    tokens_revoked: revoked.tokensRevoked,
    ...(entries === undefined ? {} : { entries }),
    epoch: revoked.epoch,
    seq: revoked.seq,
  }
  return withPropagation(
    request,
    deps,
    siteId,
    { epoch: revoked.epoch, seq: revoked.seq, atMs: revoked.revokedAtMs },
    body,
  )
}
