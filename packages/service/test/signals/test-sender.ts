import { randomUUID } from 'node:crypto'
import type { JsonObject, SiteId } from '@countersign/core'
import type { SignalSender, SignalType } from '@countersign/core/contract'
import { CompactSign, exportJWK, generateKeyPair } from 'jose'
import { BoundedMap } from '../../src/bounded-map.ts'
import type { Deps } from '../../src/deps.ts'
import { createSenderKeys } from '../../src/signals/sender-keys.ts'
import { createFindSenders } from '../../src/signals/senders.ts'
import type { AdminNode } from '../admin-node.ts'
import { quiet } from '../log/log-double.ts'
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
    backchannel_logout: {
      header: { typ: 'logout+jwt' },
      claims: { aud: CLIENT, exp: second(NOW) + 120, sub: 'alice', events: { [LOGOUT]: {} } },
    },
    token_revocation: {
      header: { typ: 'global-token-revocation+jwt' },
      claims: { aud: revocationUrl(siteId), exp: second(NOW) + 300, sub: 'app-1' },
    },
    events: {
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

function revocationUrl(siteId: SiteId): string {
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
  if (type === 'backchannel_logout')
    return node.ask('receive_logout', {
      params,
      text: new URLSearchParams({ logout_token: token, other: 'ignored' }).toString(),
      fields: { 'content-type': 'application/x-www-form-urlencoded' },
    })
  if (type === 'events')
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

/** A sender that signs with the keys of the OAuth issuer. */
export function newSender(type: SignalType, changes: Partial<SignalSender> = {}): SignalSender {
  return { type, issuer: IDP, audience: [CLIENT], subject: 'sub', ...changes }
}

/**
 * Makes the site trust the identity provider as an OAuth issuer with these keys, or changes what it
 * has said of it before.
 */
export async function trustIdp(
  node: AdminNode,
  siteId: SiteId,
  { keys, ...members }: { readonly keys?: readonly TestSigner[] } & Members,
): Promise<void> {
  const jwks = keys === undefined ? {} : { jwks: { keys: keys.map(({ jwk }) => jwk) } }
  const { status, body } = await node.admin('list_issuers', { params: { site_id: siteId } })
  const known = body.items.find(({ issuer }: { issuer: string }) => issuer === IDP)
  const answer =
    known === undefined
      ? await node.admin('add_issuer', {
          params: { site_id: siteId },
          body: { type: 'oauth', issuer: IDP, audience: ['https://api.shop.example'], ...jwks, ...members },
        })
      : await node.admin('change_issuer', {
          params: { site_id: siteId, issuer: known.issuer_id },
          body: { ...jwks, ...members },
        })
  if (status !== 200 || answer.status >= 300) throw new Error(JSON.stringify(answer.body))
}

/** Gives a node what it needs for signals. Reads senders every time, and fetches no key set. */
export function connectSignals(node: Pick<AdminNode, 'deps'>): void {
  const keySets = { fetch: async () => ({ fault: 'the host does not answer' }) }
  let readings = 0
  const signals: Deps['signals'] = {
    unmapped: new BoundedMap(10),
    findSenders: createFindSenders(node.deps.store, () => (readings += 10_000)),
    keys: createSenderKeys(keySets, { monotonicMs: () => 0, log: quiet }),
  }
  Object.assign(node.deps, { signals })
}
