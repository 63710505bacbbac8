import { hash } from 'node:crypto'
import { formatTime, type SiteId } from '@countersign/core'
import type { Issuer as IssuerBody, IssuerPage } from '@countersign/core/contract'
import { addIssuer as add } from '../../../actions/add-issuer.ts'
import {
  changeIssuer as change,
  changeIssuerKey as changeKey,
  type IssuerChange,
} from '../../../actions/change-issuer.ts'
import { addOAuthIssuer } from '../../../actions/oauth-issuer.ts'
import type { Deps } from '../../../deps.ts'
import { waitForLocalView } from '../../../log/wait-for-local-view.ts'
import { Problem } from '../../../problem.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import { toKeySource } from '../../../store/key-source.ts'
import type { ChangedIssuer, Issuer, OAuthSettings } from '../../../store/operations/issuers.ts'
import type { Page } from '../../../store/page.ts'
import { answerRepeated } from '../../shared/answer-repeated.ts'
import { auditContext, toWaitingCaller } from '../../shared/audit-context.ts'
import { fitsCursor, loadPage } from '../../shared/paging.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'
import { withPropagation } from '../../shared/with-propagation.ts'

export const addIssuer: Route<'add_issuer'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  return answerRepeated(
    request,
    async () => toIssuerBody(await makeIssuer(request, deps)),
    async () => {
      const issuer = await deps.store.issuer(params.site_id, body.issuer)
      if (issuer === undefined) return undefined
      await waitForLocalView(deps, { position: 0 })
      return toIssuerBody(issuer)
    },
  )
}

function makeIssuer(request: RouteRequest<'add_issuer'>, deps: Deps): Promise<Issuer> {
  const { body, params } = request
  const waiting = toWaitingCaller(request, deps)
  if (body.type === 'oauth') {
    const { type, issuer, scope, label, reason, ...members } = body
    return addOAuthIssuer(deps, { siteId: params.site_id, issuer, scope, label, members }, waiting)
  }
  return add(
    deps,
    {
      siteId: params.site_id,
      issuer: body.issuer,
      pinned: body.keys,
      scope: body.scope,
      credentialTtlSecondsMax: body.credential_ttl_seconds_max,
      label: body.label,
    },
    waiting,
  )
}

export const listIssuers: Route<'list_issuers'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { limit, cursor } = request.query
  const read = async (page: Page) =>
    withKeyTimes(
      deps,
      await deps.store.issuers(siteId, {
        ...page,
        after: page.after && (await requireIssuerByName(deps, siteId, page.after)),
      }),
    )
  const body: IssuerPage = await loadPage(
    deps.keys,
    { list: `issuers ${siteId}`, limit, cursor },
    read,
    toCursorName,
    toIssuerBody,
  )
  return { status: 200, body }
}

export const getIssuer: Route<'get_issuer'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const issuer = await deps.store.issuer(siteId, request.params.issuer)
  if (issuer === undefined) throw new Problem('not_found')
  return { status: 200, body: toIssuerBody(await withKeyTime(deps, issuer)) }
}

export const changeIssuer: Route<'change_issuer'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const { status, keys, scope, credential_ttl_seconds_max, label, reason, ...oauth } = body
  const changes: IssuerChange = {
    ...(status === undefined ? {} : { status }),
    ...(keys === undefined ? {} : { pinned: keys }),
    ...(scope === undefined ? {} : { scope }),
    ...(credential_ttl_seconds_max === undefined
      ? {}
      : { credentialTtlSecondsMax: credential_ttl_seconds_max }),
    ...(label === undefined ? {} : { label }),
    oauth,
  }
  const changed = await change(deps, params.site_id, params.issuer, changes, toWaitingCaller(request, deps))
  return toChangeAnswer(request, deps, changed)
}

export const changeIssuerKey: Route<'change_issuer_key'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const key = { siteId: params.site_id, issuer: params.issuer, keyId: params.key }
  const changed = await changeKey(deps, key, body.status, auditContext(request, deps))
  return toChangeAnswer(request, deps, changed)
}

async function toChangeAnswer(
  request: RouteRequest<'change_issuer'> | RouteRequest<'change_issuer_key'>,
  deps: Deps,
  changed: ChangedIssuer,
) {
  const body = toIssuerBody(await withKeyTime(deps, changed))
  return withPropagation(request, deps, changed.siteId, changed.entry, body)
}

/** The issuers with the time when their keys were last fetched. */
async function withKeyTimes(
  { store }: Pick<Deps, 'store'>,
  issuers: readonly Issuer[],
): Promise<readonly Issuer[]> {
  const times = await store.keySourceTimes([
    ...new Set(issuers.filter(({ fetched }) => fetched).map(toKeySource)),
  ])
  return issuers.map((issuer) => ({
    ...issuer,
    keysAtMs: Math.max(issuer.keysAtMs, times.get(toKeySource(issuer)) ?? 0),
  }))
}

async function withKeyTime(deps: Pick<Deps, 'store'>, issuer: Issuer): Promise<Issuer> {
  const [timed = issuer] = await withKeyTimes(deps, [issuer])
  return timed
}

function toIssuerBody(issuer: Issuer): IssuerBody {
  const { keys, oauth } = issuer
  const common = {
    issuer: issuer.issuer,
    issuer_id: issuer.issuerId,
    scope: issuer.scope === undefined ? null : [...issuer.scope],
    keys_refreshed_at: issuer.fetched ? formatTime(issuer.keysAtMs) : null,
    status: issuer.status,
    label: issuer.label ?? null,
    created_at: formatTime(issuer.createdAtMs),
  }
  if (oauth !== undefined)
    return {
      ...common,
      ...toOAuthBody(oauth),
      type: 'oauth',
      keys: keys.map((key) => ({ kid: null, ...key })),
    }
  return {
    ...common,
    type: 'credential',
    keys: keys.map(({ kid, ...key }) => key),
    credential_ttl_seconds_max: issuer.credentialTtlSecondsMax ?? null,
  }
}

type OAuthBody = Extract<IssuerBody, { type: 'oauth' }>

/** A copy, because the body may be changed. */
function toOAuthBody(oauth: OAuthSettings): Pick<OAuthBody, keyof OAuthSettings> {
  return structuredClone(oauth as object) as Pick<OAuthBody, keyof OAuthSettings>
}

const DIGEST = 'sha256 '
const SEARCH_PAGE = 200

/**
 * A DID may be twice as long as a cursor; then its digest is used instead. No DID begins like one.
 */
function toCursorName({ issuer }: Issuer): string {
  return fitsCursor(issuer) ? issuer : DIGEST + hash('sha256', issuer, 'hex')
}

/**
 * Issuers are never deleted, so the one behind a digest is still there. Such DIDs are rare enough
 * to look through all for them.
 */
async function requireIssuerByName(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  name: string,
): Promise<string> {
  if (!name.startsWith(DIGEST)) return name
  for (let after: string | undefined; ; ) {
    const issuers = await store.issuers(siteId, { after, limit: SEARCH_PAGE })
    const found = issuers.find((issuer) => toCursorName(issuer) === name)
    if (found !== undefined) return found.issuer
    if (issuers.length < SEARCH_PAGE)
      throw new Error('the issuer of a cursor has vanished, and issuers never do')
    after = issuers.at(-1)?.issuer
  }
}
