import { formatTime } from '@countersign/core'
import type { Introspection } from '@countersign/core/contract'
import { fragmentOf } from '../../../actions/guard.ts'
import { type ActiveToken, introspect as ask } from '../../../actions/introspect.ts'
import type { FoundToken } from '../../../log/token-finder.ts'
import { whenKnown } from '../../../when-known.ts'
import type { Route, RouteAnswer } from '../../route.ts'

/** RFC 7662. Whatever is not an active token of the caller's site gets one and the same answer. */
export const introspect: Route<'introspect'> = ({ body: { token, site_id }, caller }, deps) => {
  const isForeign = caller.kind === 'site' && site_id !== undefined && site_id !== caller.siteId
  const siteId = caller.kind === 'site' ? caller.siteId : site_id
  return whenKnown(ask(deps, token, siteId), (active) =>
    active === undefined || isForeign ? INACTIVE : answerOf(active, deps.config.baseUrl),
  )
}

const INACTIVE: RouteAnswer = { status: 200, body: { active: false } satisfies Introspection }

/** The facts of a token never change, and its scope seldom: what was written once can be sent again. */
const written = new WeakMap<FoundToken, { readonly scope: ActiveToken['scope']; readonly answer: RouteAnswer }>()

function answerOf(active: ActiveToken, baseUrl: string): RouteAnswer {
  const before = written.get(active.token)
  if (before?.scope === active.scope) return before.answer
  const body = JSON.stringify(described(active, baseUrl))
  const answer: RouteAnswer = { status: 200, body, contentType: 'application/json' }
  written.set(active.token, { scope: active.scope, answer })
  return answer
}

function described({ token, scope }: ActiveToken, baseUrl: string): Introspection {
  const { siteId, credentialChain } = token
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
