import { createHash, randomUUID } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { Store } from '../src/store/store.ts'
import { type AdminNode, newSiteId, openAdminNode } from './admin-node.ts'
import { type Ask, keyOf } from './node.ts'
import { NOW } from './party.ts'

export const ISSUER = 'https://idp.example/realms/acme'
export const AUDIENCE = 'https://api.shop.example'

/** A key pair, with what a token says of it. */
export interface OAuthKey {
  readonly alg: string
  readonly kid: string
  readonly privateKey: Awaited<ReturnType<typeof generateKeyPair>>['privateKey']
  readonly jwk: JWK
}

export async function newOAuthKey(alg = 'ES256', kid: string = randomUUID()): Promise<OAuthKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

export interface TokenChanges {
  readonly claims?: JWTPayload
  readonly header?: Readonly<Record<string, unknown>>
  readonly nowMs?: number
}

/** An access token of RFC 9068 with every claim that a site wants, and these changes. */
export function signToken(key: OAuthKey, changes: TokenChanges = {}): Promise<string> {
  const { nowMs = NOW } = changes
  const iat = Math.floor(nowMs / 1000) - 5
  const claims: JWTPayload = {
    iss: ISSUER,
    sub: 'alice',
    aud: AUDIENCE,
    client_id: 'client-1',
    scope: 'orders:read openid',
    jti: randomUUID(),
    iat,
    exp: iat + 600,
    ...changes.claims,
  }
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...changes.header } as never)
    .sign(key.privateKey)
}

export interface ProofChanges extends TokenChanges {
  readonly method?: string
  readonly url?: string
  readonly token: string
}

/** A DPoP proof (RFC 9449 §4.2) for the protected route, with these changes. */
export function signProof(key: OAuthKey, changes: ProofChanges): Promise<string> {
  const { nowMs = NOW, method = 'POST', url = 'https://service.example/api/protected/action' } = changes
  const { kid: _kid, alg: _alg, use: _use, ...jwk } = key.jwk
  return new SignJWT({
    htm: method,
    htu: url,
    iat: Math.floor(nowMs / 1000),
    jti: randomUUID(),
    ath: createHash('sha256').update(changes.token).digest('base64url'),
    ...changes.claims,
  })
    .setProtectedHeader({ alg: key.alg, typ: 'dpop+jwt', jwk, ...changes.header } as never)
    .sign(key.privateKey)
}

type Answer = Awaited<ReturnType<AdminNode['ask']>>

export interface OAuthSite {
  readonly node: AdminNode
  readonly A: SiteId
  readonly issuerId: string
  /** `POST /api/protected/action` with this Authorization header. */
  call(authorization: string, fields?: Readonly<Record<string, string>>): Promise<Answer>
  bearer(token: string): Promise<Answer>
  /** Calls an endpoint with a key of the site. */
  ask(id: Parameters<AdminNode['ask']>[0], ask?: Ask): Promise<Answer>
}

/** A site that trusts an OAuth issuer with these keys. */
export async function openOAuthSite(
  store: Store,
  keys: readonly OAuthKey[],
  issuer: object = {},
  site: object = {},
): Promise<OAuthSite> {
  const A = newSiteId()
  const node = await openAdminNode(store, A)
  await node.admin('create_site', { body: { site_id: A, ...site } })
  const { status, body } = await node.admin('add_issuer', {
    params: { site_id: A },
    body: {
      type: 'oauth',
      issuer: ISSUER,
      audience: [AUDIENCE],
      jwks: { keys: keys.map(({ jwk }) => jwk) },
      ...issuer,
    },
  })
  if (status !== 201) throw new Error(JSON.stringify(body))
  const call: OAuthSite['call'] = (authorization, fields = {}) =>
    node.ask('protected_action', { fields: { authorization, ...fields } })
  return {
    node,
    A,
    issuerId: body.issuer_id,
    call,
    bearer: (token) => call(`Bearer ${token}`),
    ask: (id, ask) => node.ask(id, { caller: keyOf(A), ...ask }),
  }
}
