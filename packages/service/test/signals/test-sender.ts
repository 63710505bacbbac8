import { randomUUID } from 'node:crypto'
import { type JsonObject, type OAuthIssuerState, parseJwtKey, type SiteId } from '@countersign/core'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import type { SignalType } from '../../src/store/operations/signals.ts'
import type { AdminNode } from '../admin-node.ts'
import { NOW } from '../party.ts'

export const IDP = 'https://idp.example/realms/acme'
export const CLIENT = 'shop-client'
export const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout'
const EVENTS = 'https://schemas.openid.net/secevent'
export const SESSION_REVOKED = `${EVENTS}/caep/event-type/session-revoked`
export const SESSIONS_REVOKED = `${EVENTS}/risc/event-type/sessions-revoked`
export const ACCOUNT_DISABLED = `${EVENTS}/risc/event-type/account-disabled`
export const ACCOUNT_PURGED = `${EVENTS}/risc/event-type/account-purged`
export const ACCOUNT_ENABLED = `${EVENTS}/risc/event-type/account-enabled`
export const VERIFICATION = `${EVENTS}/ssf/event-type/verification`

type Members = Readonly<Record<string, unknown>>

/** What a sender signs. Claims of the value undefined are left out. */
export interface SignedToken {
  readonly header?: Members
  readonly claims?: Members
}

export interface TestSigner {
  readonly kid: string
  readonly jwk: JsonObject
  sign(claims: Members, header?: Members): Promise<string>
}

/** A key of a sender, which signs with `jose`. */
export async function newSigner(alg = 'ES256', kid = `key-${randomUUID()}`): Promise<TestSigner> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } as unknown as JsonObject
  return {
    kid,
    jwk,
    sign: (claims, header = {}) =>
      new CompactSign(Buffer.from(JSON.stringify(claims)))
        // Members of the value undefined are left out, as in the claims.
        .setProtectedHeader(JSON.parse(JSON.stringify({ alg, kid, ...header })))
        .sign(privateKey),
  }
}

const second = (ms: number) => Math.floor(ms / 1000)

/** The token of a good signal, of which a test changes one thing. */
export function goodToken(type: SignalType, siteId: SiteId, { header = {}, claims = {} }: SignedToken = {}) {
  const common = { iss: IDP, iat: second(NOW), jti: randomUUID() }
  const bySort = {
    logout: {
      header: { typ: 'logout+jwt' },
      claims: { aud: CLIENT, exp: second(NOW) + 120, sub: 'alice', events: { [LOGOUT]: {} } },
    },
    token_revocation: {
      header: { typ: 'global-token-revocation+jwt' },
      claims: { aud: revocationUrl(siteId), exp: second(NOW) + 300, sub: 'app-1' },
    },
    event: {
      header: { typ: 'secevent+jwt' },
      claims: {
        aud: CLIENT,
        sub_id: { format: 'iss_sub', iss: IDP, sub: 'alice' },
        events: { [SESSION_REVOKED]: { event_timestamp: second(NOW) } },
      },
    },
  }[type]
  return {
    header: { ...bySort.header, ...header } as Members,
    claims: { ...common, ...bySort.claims, ...claims } as Members,
  }
}

export function revocationUrl(siteId: SiteId): string {
  return `https://service.example/api/sites/${siteId}/signals/token-revocation`
}

/** Sends the token of a signal to its endpoint, as a provider does. */
export function send(
  node: Pick<AdminNode, 'ask'>,
  type: SignalType,
  siteId: SiteId,
  token: string,
  subId: unknown = { format: 'iss_sub', iss: IDP, sub: 'alice' },
): ReturnType<AdminNode['ask']> {
  const params = { site_id: siteId }
  if (type === 'logout')
    return node.ask('receive_logout', {
      params,
      text: new URLSearchParams({ logout_token: token, other: 'ignored' }).toString(),
      fields: { 'content-type': 'application/x-www-form-urlencoded' },
    })
  if (type === 'event')
    return node.ask('receive_event', {
      params,
      text: token,
      fields: { 'content-type': 'application/secevent+jwt' },
    })
  return node.ask('receive_token_revocation', {
    params,
    body: { sub_id: subId },
    fields: { authorization: `Bearer ${token}` },
  })
}

/** Makes the site trust the identity provider as an OAuth issuer with these keys. */
export async function trustIdp(
  node: AdminNode,
  siteId: SiteId,
  signers: readonly TestSigner[],
  changes: Partial<OAuthIssuerState> = {},
): Promise<void> {
  const view = node.deps.views.view(siteId)
  const keys = new Map()
  for (const { jwk, kid } of signers) {
    const key = parseJwtKey(jwk)
    keys.set(kid, { id: kid, kid, key, status: 'active', changedAtMs: undefined })
  }
  const issuer = {
    issuer: IDP,
    keys,
    policy: { sessionClaim: changes.session_claim ?? undefined },
    userRefFromSubject: changes.user_ref_from_subject ?? false,
  }
  Object.assign(view as object, { oauthIssuer: (name: string) => (name === IDP ? issuer : undefined) })
}
