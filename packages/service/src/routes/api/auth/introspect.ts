import { formatTime } from '@countersign/core'
import type { Introspection } from '@countersign/core/contract'
import { fragmentOf } from '../../../actions/guard.ts'
import { type ActiveToken, introspect as ask } from '../../../actions/introspect.ts'
import type { Route } from '../../route.ts'

/** RFC 7662. Whatever is not an active token of the caller's site gets one and the same answer. */
export const introspect: Route<'introspect'> = async ({ body: { token, site_id }, caller }, deps) => {
  const isForeign = caller.kind === 'site' && site_id !== undefined && site_id !== caller.siteId
  const siteId = caller.kind === 'site' ? caller.siteId : site_id
  const active = await ask(deps, token, siteId)
  const body: Introspection = active === undefined || isForeign ? { active: false } : described(active, deps.config.baseUrl)
  return { status: 200, body }
}

function described(token: ActiveToken, baseUrl: string): Introspection {
  const { siteId, scope, credentialChain } = token
  return {
    active: true,
    scope: scope.join(' '),
    scopes: [...scope],
    client_id: siteId,
    token_type: 'Bearer',
    exp: Math.floor(token.expiresAtMs / 1000),
    iat: Math.floor(token.issuedAtMs / 1000),
    nbf: Math.floor(token.issuedAtMs / 1000),
    sub: token.ppid,
    aud: siteId,
    iss: baseUrl,
    jti: token.jti,
    site_id: siteId,
    permission_id: token.permissionId,
    credential_id: credentialChain[0] as string,
    credential_chain: [...credentialChain],
    issuer: token.issuer,
    issuer_key: fragmentOf(token.issuerKey),
    root_created_at: formatTime(token.rootCreatedMs),
    oldest_created_at: formatTime(token.oldestCreatedMs),
  }
}
