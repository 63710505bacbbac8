import {
  findPresentation,
  type HolderRequest,
  isDenial,
  type JsonObject,
  parseCredentialBody,
  SignatureCache,
  type SiteId,
  signRequest,
} from '@countersign/core'
import {
  type EndpointId,
  endpoints,
  type Permission,
  type ProblemCode,
  parseParameters,
  problems,
  refusalOf,
} from '@countersign/core/contract'
import { expect } from 'vitest'
import type * as z from 'zod'
import type { Caller, RouteAnswer } from '../src/answer.ts'
import type { Deps } from '../src/deps.ts'
import { openLiveViews } from '../src/log/live-views.ts'
import { createSeenCredentials } from '../src/log/seen-credentials.ts'
import { createStoreNonces } from '../src/log/store-nonces.ts'
import { createTokenFinder } from '../src/log/token-finder.ts'
import { Problem } from '../src/problem.ts'
import type { RouteRequest } from '../src/route.ts'
import { routes } from '../src/routes/all.ts'
import { type Store, StoreUnavailable } from '../src/store/store.ts'
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
  laggards: [],
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
  'site:admin',
]
const ORIGIN = 'service.example'

export const anybody: Caller = { kind: 'anonymous', address: '127.0.0.1' }
export const operator: Caller = { kind: 'operator', keyId: 'key_operator', address: '127.0.0.1' }
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
  headers: Readonly<Record<string, string>>
  problem?: Problem
}

/** One node of the service without sockets: a store, its views, and the routes. */
export interface TestNode {
  readonly deps: Deps
  readonly clock: ClockDouble
  readonly home: SiteId
  ask(id: EndpointId, ask?: Ask): Promise<Told>
  /** `POST /api/protected/action` with this header. */
  act(header: string, ask?: Ask): Promise<Told>
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
  readonly reachMsMax?: number
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
  { clock = clockAt(NOW), reachMsMax = 1000 }: TestNodeOptions = {},
): Promise<TestNode> {
  const views = await openLiveViews(store, clock, quiet, { viewAgeMsMax: 2000, reachMsMax })
  const deps = {
    config: {
      baseUrl: `https://${ORIGIN}`,
      protectedSite: home,
      protectedScope: ['orders:read'],
      viewAgeMsMax: 2000,
      openSignInsMax: 10_000,
    },
    store,
    views,
    clock,
    signatures: new SignatureCache(),
    nonces: createStoreNonces(store),
    tokens: createTokenFinder(store),
    seen: createSeenCredentials({ store, nowMs: () => clock.nowMs(), log: quiet, delayMs: 3_600_000 }),
    meters: { verdict: () => {} },
    feeds: { close: async () => {}, dropKey: () => {} },
    verifiers: { close: async () => {}, receipt: async () => NO_RECEIPT },
    log: quiet,
  } as unknown as Deps

  const ask = async (id: EndpointId, ask: Ask = {}): Promise<Told> => {
    try {
      const request = await requestOf(id, ask, clock.wallMs)
      const route = routes[id] as unknown as (request: RouteRequest, deps: Deps) => Promise<RouteAnswer>
      const answer = await route(request, deps)
      const { status, headers = {} } = answer
      const isWritten = answer.contentType === 'application/json' && typeof answer.body === 'string'
      const body = isWritten ? JSON.parse(answer.body as string) : answer.body
      const promised = (endpoints[id].answers as Record<number, { body?: z.ZodType } | undefined>)[status]
      expect(promised, `${id} does not promise ${status}`).toBeDefined()
      if (promised?.body !== undefined) expect(promised.body.safeParse(body).error).toBeUndefined()
      return { status, body, headers }
    } catch (thrown) {
      if (thrown instanceof StoreUnavailable)
        return { status: 503, code: 'store_unavailable', body: undefined, headers: {} }
      if (!(thrown instanceof Problem)) throw thrown
      const general: readonly string[] = [
        'validation_failed',
        'request_malformed',
        'rate_limited',
        'not_found',
        'store_unavailable',
      ]
      expect([...endpoints[id].problems, ...general]).toContain(thrown.code)
      const { code, detail, facts } = thrown
      return {
        status: problems[code].status,
        code,
        body: { code, detail, ...facts },
        headers: {},
        problem: thrown,
      }
    }
  }
  const node: TestNode = {
    deps,
    clock,
    home,
    ask,
    act: (header, more) => ask('protected_action', { fields: { 'x-service-credential': header }, ...more }),
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
    status: (ids, caller = anybody, more = '') => {
      const query = [ids].flat().map((id) => `credential_ids=${id}`)
      return ask('revocation_status', { caller, query: `?${query.join('&')}${more}` })
    },
    async later(ms) {
      clock.pass(ms)
      await expect.poll(() => views.age().ageMs, { interval: 5 }).toBe(0)
    },
    async close() {
      opened.delete(node)
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

/** What the http layer hands to a route, made of the same schemas. */
async function requestOf(
  id: EndpointId,
  { caller = anybody, body, query = '', fields = {}, holder, nonce, preferWaitSeconds }: Ask,
  nowMs: number,
): Promise<RouteRequest> {
  const { method, path, request } = endpoints[id] as {
    method: string
    path: string
    request: Record<string, z.ZodType | undefined> & { queryLists?: string[] }
  }
  const bytes = body === undefined ? undefined : new TextEncoder().encode(JSON.stringify(body))
  const lines = (name: string) => (fields[name] === undefined ? undefined : [fields[name] as string])
  const plain: HolderRequest = {
    method,
    authority: ORIGIN,
    scheme: 'https',
    path,
    query,
    header: lines,
    body: bytes ?? 'none',
  }
  const proof: Record<string, string> =
    holder === undefined
      ? {}
      : {
          ...(await signRequest(plain, {
            key: holder.key,
            nowMs,
            ...(nonce === undefined ? {} : { nonce }),
          })),
        }
  const all = (name: string) =>
    lines(name) ?? (proof[name] === undefined ? undefined : [proof[name] as string])
  const credentialBody = bytes === undefined ? undefined : parseCredentialBody(bytes)
  if (credentialBody !== undefined && 'code' in credentialBody)
    throw new Problem(credentialBody.code, credentialBody.detail)
  return {
    params: undefined,
    query: fit(request.query, parseParameters(new URLSearchParams(query), request.queryLists), 'query'),
    body: fit(request.body, body ?? {}, 'body'),
    credentialBody,
    caller,
    presentation: () => {
      const found = findPresentation(all)
      if (isDenial(found)) throw new Problem(found.code, found.detail)
      return found
    },
    holderRequest: { ...plain, header: all },
    lines: all,
    requestId: 'req_1',
    preferWaitSeconds,
  } as RouteRequest
}

function fit(schema: z.ZodType | undefined, value: unknown, part: 'query' | 'body'): unknown {
  if (schema === undefined) return undefined
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new Problem(refusalOf(result.error, part).code)
}

/** A site in the store, as the administration makes it. */
export async function createSite(
  store: Store,
  siteId: SiteId,
  issuers: readonly Party[],
  changes: Partial<Parameters<Store['createSite']>[0]> = {},
): Promise<void> {
  const act = { actor: 'operator', atMs: NOW - 1000, requestId: undefined }
  await store.createSite(
    {
      siteId,
      name: undefined,
      returnUrls: [],
      bearer: 'on',
      holderProof: 'optional',
      credentialTtlSecondsMax: undefined,
      pairwiseSecretSealed: 'sealed',
      ...changes,
    },
    act,
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
