import { formatTime } from '@countersign/core'
import type { KnownCredential } from '@countersign/core/contract'
import { requireFresh } from '../../../access/require-fresh.ts'
import { loadByStatus, updateStatuses } from '../../../actions/list-statuses.ts'
import { toCredentialState } from '../../../actions/revocation-status.ts'
import type { Deps } from '../../../deps.ts'
import type { Route } from '../../../route.ts'
import { toCredentialName } from '../../../store/credential-name.ts'
import type { CredentialRow } from '../../../store/operations/credentials.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { answerPage, FILTERED_ROWS_MAX } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listCredentials: Route<'list_credentials'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { ppid, status } = request.query
  const nowMs = deps.clock.nowMs()
  requireFresh(deps.views, 'store_unavailable')
  const isIndexed = status !== undefined && (await updateStatuses(deps, siteId, FILTERED_ROWS_MAX))
  const answer = await answerPage(
    request,
    deps,
    `credentials ${siteId}`,
    (page) =>
      isIndexed
        ? loadByStatus(deps, siteId, { ppid, status }, page)
        : deps.store.credentials(siteId, { ppid }, page),
    toCredentialName,
    (row) => toCredentialBody(deps, row, nowMs),
    // Only while very many are to be classified, such as after a cut-off of the site: reads all of
    // them, a part for each page.
    status === undefined || isIndexed ? undefined : (item) => item.status === status,
  )
  requireFresh(deps.views, 'store_unavailable')
  return answer
}
function toCredentialBody(deps: Pick<Deps, 'views'>, row: CredentialRow, nowMs: number): KnownCredential {
  const state = toCredentialState(deps, row, nowMs)
  const revoked = state.status === 'revoked' ? state : undefined
  return {
    credential_id: row.credentialId,
    ppid: row.ppid,
    issuer: row.issuer,
    scope: [...row.scope],
    permission_id: row.permissionId,
    status: state.status === 'unknown' ? 'active' : state.status,
    holder_bound: row.holderBound,
    valid_from: formatTime(row.validFromMs),
    expires_at: formatTime(row.validUntilMs),
    first_seen_at: formatTime(row.knownAtMs),
    revoked_at: toOptionalTime(revoked?.sinceMs),
    revocation_type: revoked?.type ?? null,
    reason: revoked?.reason ?? null,
  }
}
