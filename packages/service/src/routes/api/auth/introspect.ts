import { formatTime } from '@countersign/core'
import type { Introspection } from '@countersign/core/contract'
import { fragmentOf } from '../../../actions/guard.ts'
import { type ActiveToken, introspect as ask } from '../../../actions/introspect.ts'
import { signIntrospection } from '../../../actions/sign-introspection.ts'
import type { RouteAnswer } from '../../../answer.ts'
import type { FoundToken } from '../../../log/token-finder.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { whenKnown } from '../../../when-known.ts'

/**
 * RFC 7662. Whatever is not an active token of the caller's site gets one and the same answer. With
 * a nonce, the answer is signed.
 */
export const introspect: Route<'introspect'> = ({ body: { token, site_id, nonce }, caller }, deps) => {
  const isForeign = caller.kind === 'site' && site_id !== undefined && site_id !== caller.siteId
  const siteId = caller.kind === 'site' ? caller.siteId : site_id
  const { baseUrl } = deps.config
  if (nonce !== undefined) {
    if (siteId === undefined) throw siteNeeded()
    const facts = () =>
      whenKnown(ask(deps, token, siteId), (active) =>
        active === undefined || isForeign ? INACTIVE : described(active, baseUrl),
      )
    return signIntrospection(deps, { nonce, siteId, token }, facts).then(({ facts, proof }) => ({
      status: 200,
      body: { ...facts, proof },
    }))
  }
  return whenKnown(ask(deps, token, siteId), (active) =>
    active === undefined || isForeign ? { status: 200, body: INACTIVE } : answerOf(active, baseUrl),
  )
}

const INACTIVE: Introspection = { active: false }

function siteNeeded(): Problem {
  const message = 'is needed with a nonce when the key is that of an operator'
  return new Problem('validation_failed', `site_id ${message}`, { errors: [{ path: 'site_id', message }] })
}

/**
 * The facts of a token never change, and its scope seldom: what was written once can be sent again.
 */
const written = new WeakMap<
  FoundToken,
  { readonly scope: ActiveToken['scope']; readonly answer: RouteAnswer }
>()

function answerOf(active: ActiveToken, baseUrl: string): RouteAnswer {
  const before = written.get(active.token)
  if (before?.scope === active.scope) return before.answer
  const body = JSON.stringify(described(active, baseUrl))
  const answer: RouteAnswer = { status: 200, body, contentType: 'application/json' }
  written.set(active.token, { scope: active.scope, answer })
  return answer
}

function described({ token, scope }: ActiveToken, baseUrl: string): Introspection {
  const { siteId, credentialIds } = token
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
    issuer: token.issuer,
    issuer_key: fragmentOf(token.issuerKey),
    root_created_at: formatTime(token.signedAtMs),
    oldest_created_at: formatTime(token.oldestSignedAtMs),
  }
}
