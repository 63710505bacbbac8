import { createHash } from 'node:crypto'
import {
  type HolderRequest,
  type JsonObject,
  SignatureCache,
  type SiteId,
  signRequest,
} from '@countersign/core'
import {
  type EndpointId,
  endpoints,
  type Permission,
  type ProblemCode,
  rateLimits,
} from '@countersign/core/contract'
import { expect } from 'vitest'
import { createSeenCredentials } from '../src/access/seen-credentials.ts'
import { createStoreNonces } from '../src/access/store-nonces.ts'
import { createTokenFinder } from '../src/access/token-finder.ts'
import { BulkQuota } from '../src/actions/bulk-quota.ts'
import { ErasureQuota } from '../src/actions/erasure-quota.ts'
import { PreviewQuota } from '../src/actions/preview/preview-quota.ts'
import type { Caller } from '../src/answer.ts'
import { createApp } from '../src/app.ts'
import { ExportQuota } from '../src/audit-list/export-quota.ts'
import type { Deps } from '../src/deps.ts'
import { createRateLimiter } from '../src/http/rate-limiter.ts'
import { createConsoleSessions } from '../src/keys/console-sessions.ts'
import { LiveViews } from '../src/log/live-views.ts'
import { createLogger } from '../src/logger.ts'
import type { ApiKey } from '../src/store/operations/api-keys.ts'
import type { Store } from '../src/store/store.ts'
import { checkContract } from './contract-check.ts'
import { inject } from './inject.ts'
import { ClockDouble, quiet } from './log/log-double.ts'
import { issued as issuedBy, NOW, newParty, type Party } from './party.ts'

/** Of a site without verifiers. */
const NO_RECEIPT = {
  connected: 0,
  acknowledged: 0,
  expected: 0,
  elapsedMs: 0,
  committedAtMs: 0,
  deniedEverywhereAtMs: 0,
  deniedAtLatestMs: 0,
  pending: [],
  verifiers: [],
  exceptions: [],
}

export const A = 'a.example' as SiteId
export const NOWHERE = 'nowhere.example' as SiteId
const ALL: readonly Permission[] = [
  'tokens:introspect',
  'tokens:revoke',
  'credentials:issue',
  'credentials:revoke',
  'credentials:reinstate',
  'feed:read',
  'site:read',
  'site:admin',
]
const ORIGIN = 'service.example'
const UNLIMITED = Object.fromEntries(
  Object.entries(rateLimits).map(([name, limit]) => [name, { ...limit, requests: Infinity }]),
)

export const anonymous: Caller = { kind: 'anonymous', address: '127.0.0.1' }
export const operator: Extract<Caller, { kind: 'operator'; keyId: string }> = {
  kind: 'operator',
  keyId: 'key_operator',
  address: '127.0.0.1',
}
export const keyOf = (siteId: SiteId): Caller => ({
  kind: 'site',
  siteId,
  keyId: `key_${siteId}`,
  permissions: ALL,
  address: '127.0.0.1',
})

/** How a request looks on its way to a route. */
export interface Ask {
  readonly caller?: Caller
  readonly body?: unknown
  /** The body as it is sent, in place of JSON; its content-type is one of the fields. */
  readonly text?: string
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly fields?: Readonly<Record<string, string>>
  /** Signs the request as the holder with this key. */
  readonly holder?: Party
  readonly nonce?: string
  readonly preferWaitSeconds?: number
}

/** An answer, or the problem in its place. */
export type Told = {
  status: number
  code?: ProblemCode
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked into, whatever it is.
  body: any
  headers: Readonly<Record<string, unknown>>
}

/** One node of the service without sockets: a store, its views, and the app. */
export interface TestNode {
  readonly deps: Deps
  readonly clock: ClockDouble
  readonly home: SiteId
  ask(id: EndpointId, ask?: Ask): Promise<Told>
  /** `POST /api/protected/action` with this header. */
  context(header: string, ask?: Ask): Promise<Told>
  bearer(token: string, ask?: Ask): Promise<Told>
  exchange(document: JsonObject, more?: object, ask?: Ask): Promise<Told>
  tokenFor(document: JsonObject, more?: object, ask?: Ask): Promise<string>
  introspect(token: string, caller?: Caller, more?: object): Promise<Told>
  revokeUser(ppid: string, ask?: Ask & { siteId?: string; reason?: string }): Promise<Told>
  revokeCredential(id: string, ask?: Ask & { siteId?: string; reason?: string }): Promise<Told>
  revokeToken(token: string, caller?: Caller, more?: object): Promise<Told>
  reinstate(ppid: string, ask?: Ask & { siteId?: string }): Promise<Told>
  status(ids: string | readonly string[], caller?: Caller, more?: string): Promise<Told>
  /** Lets time pass, until this node has heard of its store since. */
  later(ms: number): Promise<void>
  close(): Promise<void>
}

export interface TestNodeOptions {
  readonly clock?: ClockDouble
  readonly waitMsMax?: number
}

const opened = new Set<TestNode>()

/** Closes all nodes that are still open. */
export async function closeNodes(): Promise<void> {
  await Promise.all([...opened].map((node) => node.close()))
}

/** `home` is the site of its protected route, and of every call that names no other. */
export async function openNode(
  store: Store,
  home: SiteId = A,
  { clock = clockAt(NOW), waitMsMax = 1000 }: TestNodeOptions = {},
): Promise<TestNode> {
  const views = await LiveViews.open(store, clock, quiet, {
    viewAgeMsMax: 2000,
    waitMsMax,
    findSubjectKey: async (siteId) => createHash('sha256').update(siteId).digest(),
  })
  const deps = {
    config: {
      baseUrl: `https://${ORIGIN}`,
      protectedSite: home,
      protectedScope: ['orders:read'],
      viewAgeMsMax: 2000,
      issuerKeysAgeMsMax: 86_400_000,
      openSignInsMax: 10_000,
      console: true,
      host: '127.0.0.1',
      port: 0,
      trustedProxies: [],
      rateLimits: UNLIMITED,
      overload: { eventLoopDelayMsMax: 100, acceptDelayMsMax: 250, inFlightMax: 1000 },
    },
    store,
    views,
    clock,
    consoleSessions: createConsoleSessions({ store, log: createLogger('silent') }),
    signatures: new SignatureCache(),
    nonces: createStoreNonces(store),
    tokens: createTokenFinder(store),
    seen: createSeenCredentials({ store, nowMs: () => clock.nowMs(), log: quiet, delayMs: 3_600_000 }),
    meters: {
      verdict: () => {},
      request: () => {},
      problem: () => {},
      signal: () => {},
      issuerRefresh: () => {},
    },
    rateLimiter: createRateLimiter(UNLIMITED as Deps['config']['rateLimits']),
    auditExports: new ExportQuota(),
    previews: new PreviewQuota(),
    bulkRevocations: new BulkQuota(),
    erasures: new ErasureQuota(),
    tallies: { count: () => {}, add: () => {}, flush: async () => {}, close: async () => {} },
    feeds: { close: async () => {}, dropKey: () => {} },
    verifiers: {
      close: async () => {},
      receipt: async () => NO_RECEIPT,
      connected: async () => ({ leases: [], streams: [] }),
    },
    log: createLogger('silent'),
  } as unknown as Deps

  /** The keys that stand for the callers of `ask`, by their text. */
  const keys = new Map<string, ApiKey>()
  // Inherits, so that a test may replace any part of `deps` later.
  const appDeps: Deps = Object.create(deps, {
    apiKeys: {
      value: {
        find: async (secret, nowMs) => keys.get(secret) ?? deps.apiKeys?.find(secret, nowMs),
        wasGood: (secret) => keys.has(secret),
        forget: (keyId) => deps.apiKeys.forget(keyId),
      } satisfies Deps['apiKeys'],
    },
  })
  const app = createApp(appDeps, { gauge: { eventLoopDelayMs: () => 0, acceptDelayMs: () => 0 } })

  const ask = async (id: EndpointId, { caller = anonymous, ...ask }: Ask = {}): Promise<Told> => {
    const { method, path, bytes, fields } = await sent(id, ask, clock.wallMs)
    if (caller.kind !== 'anonymous') {
      const { keyId = '' } = caller
      keys.set(keyId, toApiKey(caller))
      fields['x-api-key'] = keyId
    }
    const answer = await inject(app, {
      method: method as 'GET',
      url: path,
      headers: {
        host: ORIGIN,
        ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
        ...fields,
      },
      ...(bytes === undefined ? {} : { payload: bytes }),
    })
    const { statusCode: status, headers, body: text } = answer
    const isJson =
      /json$/.test(String(headers['content-type'])) && headers['content-type'] !== 'application/x-ndjson'
    const body = text === '' ? undefined : isJson ? JSON.parse(text) : text
    if (status === 500) throw new Error(`${id} has failed`)
    // Every endpoint may answer so when the store fails.
    if (body?.code !== 'store_unavailable') checkContract({ method, path, status, headers, text })
    return { status, body, headers, ...(status < 400 ? {} : { code: body.code }) }
  }
  const node: TestNode = {
    deps,
    clock,
    home,
    ask,
    context: (header, more) =>
      ask('protected_action', { fields: { 'x-service-credential': header }, ...more }),
    bearer: (token, more) =>
      ask('protected_action', { fields: { authorization: `Bearer ${token}` }, ...more }),
    exchange: (credential, body, more) => ask('exchange_proof', { body: { credential, ...body }, ...more }),
    async tokenFor(credential, body, more) {
      const { status, body: answer } = await node.exchange(credential, body, more)
      expect(status).toBe(200)
      return answer.access_token
    },
    introspect: (token, caller = keyOf(home), more = {}) =>
      ask('introspect', { caller, body: { token, ...more } }),
    revokeUser: (ppid, { siteId = home, reason, ...more } = {}) =>
      ask('revoke_user', {
        caller: keyOf(home),
        body: { ppid, site_id: siteId, ...(reason === undefined ? {} : { reason }) },
        ...more,
      }),
    revokeCredential: (credential_id, { siteId = home, reason, ...more } = {}) =>
      ask('revoke_credential', {
        caller: keyOf(home),
        body: { credential_id, site_id: siteId, ...(reason === undefined ? {} : { reason }) },
        ...more,
      }),
    revokeToken: (token, caller = keyOf(home), more = {}) =>
      ask('revoke_token', { caller, body: { token, ...more } }),
    reinstate: (ppid, { siteId = home, ...more } = {}) =>
      ask('reinstate_user', { caller: keyOf(home), body: { ppid, site_id: siteId }, ...more }),
    status: (ids, caller = anonymous, more = '') => {
      const query = [ids].flat().map((id) => `credential_ids=${id}`)
      return ask('revocation_status', { caller, query: `?${query.join('&')}${more}` })
    },
    async later(ms) {
      clock.pass(ms)
      await expect.poll(() => views.age().ageMs, { interval: 5 }).toBe(0)
    },
    async close() {
      opened.delete(node)
      await app.close()
      await deps.seen.close()
      await views.close()
    },
  }
  opened.add(node)
  return node
}

function clockAt(ms: number): ClockDouble {
  const clock = new ClockDouble()
  clock.wallMs = ms
  return clock
}

/** The request on the wire. */
async function sent(
  id: EndpointId,
  { body, text, params = {}, query: asked = '', holder, nonce, ...ask }: Ask,
  nowMs: number,
) {
  const { method, path: template } = endpoints[id]
  const query = asked === '' || asked.startsWith('?') ? asked : `?${asked}`
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ''))
  const content = text ?? (body === undefined ? undefined : JSON.stringify(body))
  const bytes = content === undefined ? undefined : Buffer.from(content)
  const fields: Record<string, string> = { 'x-request-id': 'req_1', ...ask.fields }
  if (ask.preferWaitSeconds !== undefined) fields.prefer = `wait=${ask.preferWaitSeconds}`
  if (holder !== undefined) {
    const request: HolderRequest = {
      method,
      authority: ORIGIN,
      scheme: 'https',
      path,
      query,
      header: (name) => (fields[name] === undefined ? undefined : [fields[name]]),
      body: bytes ?? 'none',
    }
    const options = { key: holder.key, nowMs, ...(nonce === undefined ? {} : { nonce }) }
    Object.assign(fields, await signRequest(request, options))
  }
  return { method, path: `${path}${query}`, bytes, fields }
}

function toApiKey(caller: Exclude<Caller, { kind: 'anonymous' }>): ApiKey {
  return {
    keyId: caller.keyId ?? '',
    siteId: caller.kind === 'site' ? caller.siteId : null,
    permissions: caller.kind === 'site' ? caller.permissions : [],
    sha256: '',
    last4: '',
    label: undefined,
    expiresAtMs: undefined,
    createdAtMs: NOW,
  }
}

/** A site in the store, as the administration makes it. */
export async function createSite(
  store: Store,
  siteId: SiteId,
  issuers: readonly Party[],
  changes: Partial<Parameters<Store['createSite']>[0]> = {},
): Promise<void> {
  const context = { actor: 'operator', atMs: NOW - 1000, requestId: undefined }
  await store.createSite(
    {
      siteId,
      name: undefined,
      returnUrls: [],
      bearer: 'on',
      holderProof: 'optional',
      delegation: 'on',
      credentialTtlSecondsMax: undefined,
      pairwiseSecretSealed: 'sealed',
      ...changes,
    },
    context,
  )
  for (const issuer of issuers) await trust(store, siteId, issuer)
}

export async function trust(
  store: Store,
  siteId: SiteId,
  issuer: Party,
  changes: Partial<Parameters<Store['addIssuer']>[0]> = {},
): Promise<void> {
  await store.addIssuer(
    {
      siteId,
      issuer: issuer.did,
      keys: [{ id: issuer.keyId, key: issuer.keyId, status: 'active' }],
      scope: undefined,
      credentialTtlSecondsMax: undefined,
      label: undefined,
      fetched: false,
      ...changes,
    },
    { actor: 'operator', atMs: NOW - 1000, requestId: undefined },
  )
}

/**
 * Two sites of its own for each test, an issuer that both trust, and a node whose home is the
 * first.
 */
export async function begin(store: Store) {
  const name = Math.random().toString(36).slice(2, 10)
  const A = `a-${name}.example` as SiteId
  const B = `b-${name}.example` as SiteId
  const issuer = await newParty()
  await createSite(store, A, [issuer])
  await createSite(store, B, [issuer])
  const node = await openNode(store, A)
  /** A good credential at the first site, by the issuer that it trusts. */
  const issued = (changes: Parameters<typeof issuedBy>[1] = {}, by: Party = issuer) =>
    issuedBy(by, { siteId: A, ...changes })
  return { store, A, B, issuer, node, issued }
}
