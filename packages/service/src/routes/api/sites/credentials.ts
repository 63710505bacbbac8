import { formatTime, parseTime, type SiteId } from '@countersign/core'
import type { CredentialDetail, KnownCredential } from '@countersign/core/contract'
import { requireFresh } from '../../../access/require-fresh.ts'
import { loadByStatus, updateStatuses } from '../../../actions/list-statuses.ts'
import { loadCredential } from '../../../actions/load-credential.ts'
import { toCredentialState } from '../../../actions/revocation-status.ts'
import type { Deps } from '../../../deps.ts'
import { Problem } from '../../../problem.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import { toCredentialName, toEndName } from '../../../store/credential-name.ts'
import type { CredentialRow } from '../../../store/operations/credentials.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { FILTERED_ROWS_MAX, loadPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listCredentials: Route<'list_credentials'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { query } = request
  const nowMs = deps.clock.nowMs()
  requireFresh(deps.views, 'store_unavailable')
  const toItem = (row: CredentialRow): Listed => ({ row, body: toCredentialBody(deps, row, nowMs) })
  const { items, next_cursor } =
    query.expires_before === undefined
      ? await loadNewest(deps, siteId, query, toItem)
      : await loadByEnd(deps, siteId, query, parseTime(query.expires_before) ?? 0, toItem)
  requireFresh(deps.views, 'store_unavailable')
  return { status: 200, body: { items: items.map(({ body }) => body), next_cursor } }
}

type CredentialQuery = RouteRequest<'list_credentials'>['query']
type CredentialsPage = Promise<{ readonly items: readonly Listed[]; readonly next_cursor: string | null }>

interface Listed {
  readonly row: CredentialRow
  readonly body: KnownCredential
}

async function loadNewest(
  deps: Deps,
  siteId: SiteId,
  query: CredentialQuery,
  toItem: (row: CredentialRow) => Listed,
): CredentialsPage {
  const { ppid, status, issuer, source } = query
  const issuerKey = toIssuerKey(query)
  const isIndexed = status !== undefined && (await updateStatuses(deps, siteId, FILTERED_ROWS_MAX))
  // One filter besides the status comes from an index.
  const isOther = ppid !== undefined || issuer !== undefined
  const indexed = {
    ppid,
    ...(issuerKey === undefined ? { issuer } : { issuerKey }),
    ...(isOther ? {} : { source }),
  }
  // Without the index only while very many are to be classified, such as after a cut-off of the
  // site: reads all of them, a part for each page.
  const isComplete = status === undefined || (isIndexed && (source === undefined || !isOther))
  return loadPage(
    deps.keys,
    { ...query, list: `credentials ${siteId}` },
    (wanted) =>
      isIndexed
        ? loadByStatus(deps, siteId, { ...indexed, status }, wanted)
        : deps.store.credentials(siteId, { ppid }, wanted),
    toCredentialName,
    toItem,
    isComplete ? undefined : (item) => isAsked(query, item),
  )
}

async function loadByEnd(
  deps: Deps,
  siteId: SiteId,
  query: CredentialQuery,
  beforeMs: number,
  toItem: (row: CredentialRow) => Listed,
): CredentialsPage {
  const { ppid, status, issuer, source } = query
  const nowMs = deps.clock.nowMs()
  // What has expired is at the beginning of this list, and what is active after it.
  const range = {
    fromMs: status === 'active' ? nowMs : 0,
    beforeMs: status === 'expired' ? Math.min(beforeMs, nowMs + 1) : beforeMs,
  }
  const isFiltered = [ppid, status, issuer, source].some((filter) => filter !== undefined)
  return loadPage(
    deps.keys,
    { ...query, list: `credentials by end and age ${siteId}` },
    (wanted) => deps.store.credentialsByEnd(siteId, range, wanted),
    toEndName,
    toItem,
    isFiltered ? (item) => isAsked(query, item) : undefined,
  )
}

function isAsked(query: CredentialQuery, { row, body }: Listed): boolean {
  const { ppid, status, issuer, source } = query
  const issuerKey = toIssuerKey(query)
  return (
    (ppid === undefined || row.ppid === ppid) &&
    (status === undefined || body.status === status) &&
    (issuer === undefined || row.issuer === issuer) &&
    (issuerKey === undefined || row.issuerKey === issuerKey) &&
    (source === undefined || row.source === source)
  )
}

function toIssuerKey({ issuer, issuer_key }: CredentialQuery): string | undefined {
  return issuer_key && `${issuer}#${issuer_key}`
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
