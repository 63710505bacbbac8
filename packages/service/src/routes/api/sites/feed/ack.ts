import { parseTime } from '@countersign/core'
import { headerNames, parseVerifierTimes } from '@countersign/core/contract'
import { acknowledge as recordAcknowledgement } from '../../../../actions/acknowledge.ts'
import type { Route } from '../../../../route.ts'
import { requireKeyId } from '../../../shared/require-key-id.ts'
import { requireOwnPath } from '../../../shared/site-access.ts'

export const acknowledge: Route<'acknowledge'> = async ({ caller, params, body, lines }, deps) => {
  requireOwnPath(caller, params.site_id)
  await recordAcknowledgement(deps, {
    siteId: params.site_id,
    keyId: requireKeyId(caller),
    verifierId: lines(headerNames.verifierId)?.[0],
    instanceId: lines(headerNames.verifierInstance)?.[0],
    position: { epoch: body.epoch, seq: body.seq },
    sentAtMs: parseTime(body.sent_at),
    applied: parseVerifierTimes(lines(headerNames.verifierApplied)?.[0], body.seq),
    denied: parseVerifierTimes(lines(headerNames.verifierDenied)?.[0], body.seq),
    isClosing: body.closed === true,
  })
  if (body.refresh_issuer !== undefined) deps.refreshHints.hint(params.site_id, body.refresh_issuer)
  return { status: 204 }
}
