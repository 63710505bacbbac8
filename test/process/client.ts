import { createHash } from 'node:crypto'
import type { JsonObject } from '@countersign/core'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { issued, type Made, newParty, type Party } from '../../packages/service/test/party.ts'

/** An answer as it came over the wire, read to its end. */
export interface Told {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked into, whatever it is.
  readonly body: any
}

/**
 * What an integration does with a node, in plain HTTP. Every call rejects when the wire breaks
 * before the answer is whole.
 */
export interface Client {
  ask(method: string, path: string, options?: AskOptions): Promise<Told>
  show(header: string): Promise<Told>
  bearer(token: string): Promise<Told>
  /** Forward-auth, with the place in the log that the answer must know of. */
  verify(header: string, minSeq: string): Promise<Told>
  exchange(credential: JsonObject, more?: { readonly ttl_seconds?: number }): Promise<Told>
  introspect(token: string): Promise<Told>
  revokeUser(ppid: string, headers?: Readonly<Record<string, string>>): Promise<Told>
  revokeCredential(id: string, headers?: Readonly<Record<string, string>>): Promise<Told>
  revokeToken(token: string): Promise<Told>
  ready(): Promise<boolean>
}

interface AskOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

/** Longer than the service may take for anything. */
const ANSWER_MS_MAX = 30_000

export function createClient(url: string, dev: Pick<DevFile, 'site_id' | 'site_key'>): Client {
  const ask = async (
    method: string,
    path: string,
    { key, headers = {}, body }: AskOptions = {},
  ): Promise<Told> => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === undefined ? {} : { 'X-API-Key': key }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  }
  const { site_id, site_key: key } = dev
  return {
    ask,
    show: (header) => ask('POST', '/api/protected/action', { headers: { 'X-Service-Credential': header } }),
    bearer: (token) =>
      ask('POST', '/api/protected/action', { headers: { Authorization: `Bearer ${token}` } }),
    verify: (header, minSeq) =>
      ask('GET', `/api/auth/verify?scope=orders:read&min_seq=${minSeq}`, {
        key,
        headers: { 'X-Service-Credential': header },
      }),
    exchange: (credential, more = {}) =>
      ask('POST', '/api/auth/exchange-proof', { body: { credential, ...more } }),
    introspect: (token) => ask('POST', '/api/auth/introspect', { key, body: { token } }),
    revokeUser: (ppid, headers = {}) =>
      ask('POST', '/api/wallet/revoke-user', { key, headers, body: { ppid, site_id } }),
    revokeCredential: (credential_id, headers = {}) =>
      ask('POST', '/api/wallet/revoke', { key, headers, body: { credential_id, site_id } }),
    revokeToken: (token) => ask('POST', '/api/auth/revoke', { key, body: { token } }),
    ready: async () => (await ask('GET', '/readyz')).status === 200,
  }
}

/** An issuer outside the service that the site trusts. */
export interface Issuer {
  issue(changes?: { readonly ppid?: string; readonly holderKey?: string }): Promise<Made>
}

/** Adds an issuer of ours to the site. */
export async function addIssuer(client: Client, dev: DevFile): Promise<Issuer> {
  const party: Party = await newParty()
  const { status, body } = await client.ask('POST', `/api/sites/${dev.site_id}/issuers`, {
    key: dev.operator_key,
    body: { issuer: party.did },
  })
  if (status !== 201) throw new Error(`the issuer was not added: ${JSON.stringify(body)}`)
  return { issue: (changes = {}) => issued(party, { siteId: dev.site_id, nowMs: Date.now(), ...changes }) }
}

export const tokenSha256 = (token: string) => createHash('sha256').update(token).digest('hex')
