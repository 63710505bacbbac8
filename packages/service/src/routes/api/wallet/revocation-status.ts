import { type CredentialId, formatTime } from '@countersign/core'
import type { RevocationState, RevocationStatus } from '@countersign/core/contract'
import { revocationStatus as ask, type CredentialState } from '../../../actions/revocation-status.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { waitForMinSeq } from '../../shared/wait-for-min-seq.ts'

const UNKNOWN: RevocationState = { status: 'unknown', revoked: null }

/**
 * Open to all, since ids cannot be guessed. A key of the site narrows the question to its site, and
 * adds the reasons to the answer.
 */
export const revocationStatus: Route<'revocation_status'> = async (request, deps) => {
  const { query, caller } = request
  const { credential_ids: credentialIds, site_id } = query
  const isForeign = caller.kind === 'site' && site_id !== undefined && site_id !== caller.siteId
  if (isForeign && query.min_seq !== undefined)
    throw new Problem('revocation_view_stale', undefined, { retryAfterSeconds: 1 })
  const siteId = caller.kind === 'site' ? caller.siteId : site_id
  const isOwn = caller.kind !== 'anonymous'
  if (siteId !== undefined) await waitForMinSeq(request, deps, siteId)
  const answer = await ask(deps, { credentialIds, siteId, isOwn })
  const statuses = Object.fromEntries(
    credentialIds.map((id: CredentialId) => [
      id,
      isForeign ? UNKNOWN : described(answer.states.get(id), isOwn),
    ]),
  )
  const seq = site_id === undefined || isForeign ? undefined : answer.seq
  const body: RevocationStatus = {
    success: true,
    as_of: { epoch: answer.epoch, time: formatTime(answer.asOfMs), seq },
    statuses,
  }
  return { status: 200, body }
}

function described(state: CredentialState | undefined, withReason: boolean): RevocationState {
  if (state === undefined || state.status === 'unknown') return UNKNOWN
  if (state.status !== 'revoked') return { status: state.status, revoked: false }
  const { sinceMs, type, reason } = state
  return {
    status: 'revoked',
    revoked: true,
    revoked_at: formatTime(sinceMs),
    ...(withReason ? { revocation_type: type } : {}),
    ...(withReason && reason !== undefined ? { reason } : {}),
  }
}
