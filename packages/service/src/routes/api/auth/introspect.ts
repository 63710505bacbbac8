import {
  DEFAULT_PERMISSION_ID,
  formatTime,
  type Grounds,
  isJwtForm,
  type Scope,
  type SiteId,
  type VerifiedJwt,
} from '@countersign/core'
import type { Introspection } from '@countersign/core/contract'
import { type ActiveToken, introspect as findActiveToken } from '../../../actions/introspect.ts'
import { signIntrospection } from '../../../actions/sign-introspection.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { toOauthToken } from '../../shared/oauth-token.ts'

/**
 * RFC 7662. Everything that is not an active token of the caller's site gets the same answer. With
 * a nonce, the answer is signed.
 */
export const introspect: Route<'introspect'> = async ({ body: { token, site_id, nonce }, caller }, deps) => {
  const isForeign = caller.kind === 'site' && site_id !== undefined && site_id !== caller.siteId
  const siteId = caller.kind === 'site' ? caller.siteId : site_id
  const find = () => findActiveToken(deps, token, siteId)
  const toFacts = (active: ActiveToken | undefined): Introspection =>
    active === undefined || isForeign ? INACTIVE : describe(active, deps.config.baseUrl)
  if (siteId === undefined && isJwtForm(token)) throw siteNeeded('for an access token of an OAuth issuer')
  if (nonce === undefined) return { status: 200, body: toFacts(await find()) }
  if (siteId === undefined) throw siteNeeded('with a nonce')
  const { facts, proof } = await signIntrospection(deps, { nonce, siteId, token }, async () =>
    toFacts(await find()),
  )
  return { status: 200, body: { ...facts, proof } }
}

const INACTIVE: Introspection = { active: false }

function siteNeeded(when: string): Problem {
  const message = `is needed ${when} when the key is that of an operator`
  return new Problem('validation_failed', `The site_id ${message}. Send it.`, {
    errors: [{ path: 'site_id', message }],
  })
}

function describe(active: ActiveToken, iss: string): Introspection {
  if ('jwt' in active) return describeJwt(active.jwt, active.siteId, iss)
  const { token, scope } = active
  return {
    ...describeGrounds(token, token.siteId, scope),
    token_type: 'Bearer',
    iat: Math.floor(token.issuedAtMs / 1000),
    nbf: Math.floor(token.issuedAtMs / 1000),
    iss,
    jti: token.jti,
    permission_id: token.permissionId,
  }
}

/** With the names that this service uses; `token` has those of the issuer. */
function describeJwt(jwt: VerifiedJwt, siteId: SiteId, iss: string): Introspection {
  const { facts, grounds } = jwt
  const { holderThumbprint: jkt } = facts
  return {
    ...describeGrounds(grounds, siteId, facts.scope),
    token_type: jkt === undefined ? 'Bearer' : 'DPoP',
    iat: facts.issuedAtMs / 1000,
    nbf: facts.notBeforeMs / 1000,
    iss,
    jti: grounds.credentialIds[0] as string,
    permission_id: DEFAULT_PERMISSION_ID,
    token: toOauthToken(jwt),
    ...(jkt === undefined ? {} : { cnf: { jkt } }),
  }
}

function describeGrounds(grounds: Grounds, siteId: SiteId, scope: readonly Scope[]) {
  const { credentialIds, holders } = grounds
  return {
    active: true as const,
    scope: scope.join(' '),
    scopes: [...scope],
    client_id: siteId,
    exp: Math.floor(grounds.expiresAtMs / 1000),
    sub: grounds.ppid,
    aud: siteId,
    site_id: siteId,
    credential_id: credentialIds[0] as string,
    credential_chain: [...credentialIds],
    holder_thumbprints: holders.filter((holder) => holder !== undefined),
    issuer: grounds.issuer,
    issuer_key: grounds.issuerKey.slice(grounds.issuerKey.indexOf('#') + 1),
    root_created_at: formatTime(grounds.signedAtMs),
    oldest_created_at: formatTime(grounds.oldestSignedAtMs),
  }
}
