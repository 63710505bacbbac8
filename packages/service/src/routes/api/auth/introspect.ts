import { formatTime } from '@countersign/core'
import type { Introspection } from '@countersign/core/contract'
import { type ActiveToken, introspect as findActiveToken } from '../../../actions/introspect.ts'
import { signIntrospection } from '../../../actions/sign-introspection.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'

/**
 * RFC 7662. Everything that is not an active token of the caller's site gets the same answer. With
 * a nonce, the answer is signed.
 */
export const introspect: Route<'introspect'> = async ({ body: { token, site_id, nonce }, caller }, deps) => {
  const isForeign = caller.kind === 'site' && site_id !== undefined && site_id !== caller.siteId
  const siteId = caller.kind === 'site' ? caller.siteId : site_id
  const answer = async (): Promise<Introspection> => {
    const active = await findActiveToken(deps, token, siteId)
    return active === undefined || isForeign ? INACTIVE : describe(active, deps.config.baseUrl)
  }
  if (nonce === undefined) return { status: 200, body: await answer() }
  if (siteId === undefined) throw siteNeeded()
  const { facts, proof } = await signIntrospection(deps, { nonce, siteId, token }, answer)
  return { status: 200, body: { ...facts, proof } }
}

const INACTIVE: Introspection = { active: false }

function siteNeeded(): Problem {
  const message = 'is needed with a nonce when the key is that of an operator'
  return new Problem('validation_failed', `The site_id ${message}. Send it.`, {
    errors: [{ path: 'site_id', message }],
  })
}

function describe({ token, scope }: ActiveToken, baseUrl: string): Introspection {
  const { siteId, credentialIds, holders } = token
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
    credential_id: credentialIds[0] as string,
    credential_chain: [...credentialIds],
    holder_thumbprints: holders.filter((holder) => holder !== undefined),
    issuer: token.issuer,
    issuer_key: token.issuerKey.slice(token.issuerKey.indexOf('#') + 1),
    root_created_at: formatTime(token.signedAtMs),
    oldest_created_at: formatTime(token.oldestSignedAtMs),
  }
}
