import { type Allow, type Denial, type HolderRequest, isSiteHost, type SiteId } from '@countersign/core'
import { guard } from '../../../access/guard.ts'
import type { Deps } from '../../../deps.ts'
import { Problem } from '../../../problem.ts'
import type { Route, RouteRequest } from '../../../route.ts'
import { toHeaderText } from '../../shared/oauth-token.ts'
import { waitForMinSeq } from '../../shared/wait-for-min-seq.ts'

/**
 * Forward-auth: a reverse proxy asks whether to forward a request. The site is that of the proxy's
 * key.
 */
export const forwardAuth: Route<'forward_auth'> = async (request, deps) => {
  const { caller, query } = request
  if (caller.kind !== 'site')
    throw new Problem('api_key_forbidden', 'This is an operator key. Use an API key of the site.')
  const { siteId } = caller
  await waitForMinSeq(request, deps, siteId)
  const original = findOriginalRequest(request)
  const access = {
    presentation: request.requirePresentation(),
    siteId,
    scope: query.scope,
    request: original,
    checkInStore: (allow: Allow) => (isHeld(allow) ? checkSiteHost(deps, siteId, original) : undefined),
  }
  const allow = await guard(deps, access)
  if (allow.presented === 'credential') deps.seen.record(allow)
  const { subject } = allow
  return {
    status: 200,
    headers: {
      'X-Service-Subject': subject.ppid,
      'X-Service-Site': subject.siteId,
      'X-Service-Scope': subject.scope.join(' '),
      'X-Service-Credential-Id': subject.credentialId,
      ...(allow.presented === 'credential' && allow.holder === 'verified_without_body'
        ? { 'X-Service-Body': 'unchecked' }
        : {}),
      ...(allow.presented === 'jwt'
        ? {
            'X-Service-Issuer': toHeaderText(allow.jwt.facts.issuer),
            'X-Service-Token-Subject': toHeaderText(allow.jwt.facts.subject),
          }
        : {}),
    },
  }
}

/** Whether the caller has proved possession of a key. */
function isHeld(allow: Allow): boolean {
  if (allow.presented === 'jwt') return allow.jwt.facts.holderThumbprint !== undefined
  return allow.presented === 'credential' && allow.holder !== 'unbound'
}

/**
 * Denies with `proof_invalid` when the holder signed the request for a host that is not one of the
 * site's: another server that received it could have forwarded it. Comes after the guard, so that
 * only a caller with a valid credential and proof makes the store read the site.
 */
async function checkSiteHost(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  original: HolderRequest | undefined,
): Promise<Denial | undefined> {
  const authority = original?.authority ?? ''
  if (isSiteHost(authority, siteId, (await store.site(siteId))?.hosts)) return undefined
  const detail = `The holder proof is for the host ${authority}, which is not a host of the site ${siteId}. If callers use it, the operator of the site must add it to the site's hosts.`
  return { ok: false, code: 'proof_invalid', detail }
}

/**
 * The request that the proxy asks about, as its client signed it. Undefined when the proxy does not
 * say, or when the two families of headers contradict each other: one of them may come from the
 * client through a proxy that sets only the other, and then it is unknown which.
 */
function findOriginalRequest({ lines }: Pick<RouteRequest, 'lines'>): HolderRequest | undefined {
  const method = findAgreed(lines('x-original-method'), lines('x-forwarded-method'))
  const authority = findAgreed(lines('x-original-host'), lines('x-forwarded-host'))
  const uri = findAgreed(lines('x-original-uri'), lines('x-forwarded-uri'))
  if (method === undefined || authority === undefined || uri === undefined || !uri.startsWith('/'))
    return undefined
  const queryAt = uri.indexOf('?')
  return {
    method,
    authority,
    path: queryAt === -1 ? uri : uri.slice(0, queryAt),
    query: queryAt === -1 ? '' : uri.slice(queryAt),
    header: lines,
    body: 'unseen',
  }
}

function findAgreed(...families: readonly (readonly string[] | undefined)[]): string | undefined {
  const values = new Set(families.flatMap((lines) => lines ?? []))
  const [value] = values
  return values.size === 1 && value !== '' ? value : undefined
}
