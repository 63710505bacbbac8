import { formatTime } from '@countersign/core'
import type { CredentialDetail, KnownCredential } from '@countersign/core/contract'
import { requireFresh } from '../../../access/require-fresh.ts'
import { loadByStatus, updateStatuses } from '../../../actions/list-statuses.ts'
import { loadCredential } from '../../../actions/load-credential.ts'
import { toCredentialState } from '../../../actions/revocation-status.ts'
import type { Deps } from '../../../deps.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { toCredentialName } from '../../../store/credential-name.ts'
import type { CredentialRow } from '../../../store/operations/credentials.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { FILTERED_ROWS_MAX, loadPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listCredentials: Route<'list_credentials'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { ppid, status, issuer, issuer_key } = request.query
  const issuerKey = issuer_key && `${issuer}#${issuer_key}`
  const nowMs = deps.clock.nowMs()
  requireFresh(deps.views, 'store_unavailable')
  const isIndexed = status !== undefined && (await updateStatuses(deps, siteId, FILTERED_ROWS_MAX))
  const page = await loadPage(
    deps.keys,
    { ...request.query, list: `credentials ${siteId}` },
    (wanted) =>
      isIndexed
        ? loadByStatus(
            deps,
            siteId,
            { ppid, status, ...(issuerKey === undefined ? { issuer } : { issuerKey }) },
            wanted,
          )
        : deps.store.credentials(siteId, { ppid }, wanted),
    toCredentialName,
    (row) => ({ row, body: toCredentialBody(deps, row, nowMs) }),
    // Only while very many are to be classified, such as after a cut-off of the site: reads all of
    // them, a part for each page.
    status === undefined || isIndexed
      ? undefined
      : ({ row, body }) =>
          body.status === status &&
          (issuer === undefined || row.issuer === issuer) &&
          (issuerKey === undefined || row.issuerKey === issuerKey),
  )
  requireFresh(deps.views, 'store_unavailable')
  return { status: 200, body: { ...page, items: page.items.map(({ body }) => body) } }
}

export const getCredential: Route<'get_credential'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const nowMs = deps.clock.nowMs()
  const found = await loadCredential(deps, siteId, request.params.credential_id)
  if (found === undefined) throw new Problem('not_found')
  const { row, parents, descendants } = found
  const body: CredentialDetail = {
    ...toCredentialBody(deps, row, nowMs),
    source: row.source,
    issuer_key: row.issuerKey?.slice(row.issuer.length + 1) ?? null,
    signed_at: formatTime(row.chain[0]?.createdMs ?? row.validFromMs),
    parents: parents.map(({ link, status }) => ({
      credential_id: link.credentialId,
      status,
      holder_bound: link.holder !== undefined,
      signed_at: formatTime(link.createdMs),
    })),
    descendants: descendants.map((each) => ({
      credential_id: each.credentialId,
      parent_id: each.chain[1]?.credentialId ?? row.credentialId,
      status: toCredentialBody(deps, each, nowMs).status,
      scope: [...each.scope],
      holder_bound: each.holderBound,
      expires_at: formatTime(each.validUntilMs),
    })),
    descendants_complete: found.isComplete,
  }
  return { status: 200, body }
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
