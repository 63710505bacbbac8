import { type AllowCredential, CREDENTIAL_HEADER, type SiteId } from '@countersign/core'
import { guard } from '../../access/guard.ts'
import type { Deps } from '../../deps.ts'
import { Problem } from '../../problem.ts'
import type { RouteRequest } from '../../route.ts'
import type { AuditContext } from '../../store/operations/audit.ts'
import { auditContext } from './audit-context.ts'

type RevokerRequest = Pick<
  RouteRequest,
  'caller' | 'requirePresentation' | 'holderRequest' | 'lines' | 'requestId' | 'reason'
>

/**
 * The audit context of a caller that may revoke at this site: the operator, a key of the site, or
 * the holder of a credential that `isOwn` accepts. Throws a Problem for every other caller.
 */
export async function requireRevoker(
  request: RevokerRequest,
  deps: Deps,
  siteId: SiteId,
  isOwn: (allow: AllowCredential) => boolean | Promise<boolean>,
): Promise<AuditContext> {
  const { caller } = request
  if (caller.kind !== 'anonymous') {
    if (request.lines(CREDENTIAL_HEADER) !== undefined)
      throw new Problem('auth_ambiguous', 'The request has an API key and a credential. Send one of them.')
    await requireOwnSite(request, deps, siteId)
    return auditContext(request, deps)
  }
  if (request.lines(CREDENTIAL_HEADER) === undefined) {
    throw new Problem(
      'api_key_missing',
      'The request has neither an API key nor a credential. Send an API key of the site in X-API-Key, or the credential itself in X-Service-Credential.',
    )
  }
  const allow = await guard(deps, {
    presentation: request.requirePresentation(),
    siteId,
    scope: [],
    request: request.holderRequest,
  })
  if (allow.presented !== 'credential' || !(await isOwn(allow))) throw forbidden()
  return auditContext(request, deps, allow)
}

/** Throws unless the key belongs to this site, or to the operator and the site exists. */
export async function requireOwnSite(
  { caller }: Pick<RouteRequest, 'caller'>,
  { views, store }: Deps,
  siteId: SiteId,
): Promise<void> {
  if (caller.kind === 'site' && caller.siteId === siteId) return
  if (caller.kind !== 'operator') throw forbidden()
  // Another node may have created it a moment ago.
  const isKnown = views.view(siteId) !== undefined || (await store.site(siteId)) !== undefined
  if (!isKnown) throw new Problem('site_unknown')
}

function forbidden(): Problem {
  return new Problem(
    'revocation_forbidden',
    'Only a key of the site or the holder can revoke this. Use one of the two.',
  )
}
