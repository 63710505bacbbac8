import { hash, randomBytes } from 'node:crypto'
import { type HolderRequest, type JsonObject, type SiteId, signRequest } from '@countersign/core'
import { rateLimits } from '@countersign/core/contract'
import { expect } from 'vitest'
import { createApp } from '../src/app.ts'
import type { Deps } from '../src/deps.ts'
import { createApiKeys } from '../src/keys/api-keys.ts'
import { openServiceKeys } from '../src/keys/service-keys.ts'
import { createLogger } from '../src/logger.ts'
import { createMeters } from '../src/meters.ts'
import { pairwisePurpose } from '../src/sealing/purposes.ts'
import type { Store } from '../src/store/store.ts'
import { checkContract } from './contract-check.ts'
import { inject } from './inject.ts'
import { createSecrets } from './keys/secrets-double.ts'
import { createSite, openNode, type TestNode } from './node.ts'
import { issued as issuedBy, NOW, newParty, type Party } from './party.ts'

const BASE = 'https://service.example'
export const RETURN_URL = 'https://shop.example/callback'

/** An answer as a browser sees it. */
export interface Seen {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the contract check has looked at it already.
  readonly json: any
  /** Where it leads. */
  readonly to: URL
}

interface Sending {
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly json?: unknown
  readonly form?: Readonly<Record<string, string>>
}

/** A node with its whole http layer on a real store, and a site of its own to sign in to. */
export async function openHosted(
  store: Store,
  changes: Partial<Parameters<Store['createSite']>[0]> = {},
  baseUrl = BASE,
) {
  const name = randomBytes(5).toString('hex')
  const A = `a-${name}.example` as SiteId
  const B = `b-${name}.example` as SiteId
  const issuer = await newParty()
  const keys = await openServiceKeys(createSecrets(), randomBytes(32), baseUrl, NOW)
  const pairwise = (siteId: SiteId) => ({
    pairwiseSecretSealed: keys.seal(pairwisePurpose(siteId), randomBytes(32).toString('base64url')),
  })
  await createSite(store, A, [issuer], { returnUrls: [RETURN_URL], ...pairwise(A), ...changes })
  await createSite(store, B, [issuer], { returnUrls: ['https://other.example/cb'], ...pairwise(B) })
  const logged: string[] = []
  const node: TestNode = await openNode(store, A)
  Object.assign(node.deps, {
    config: {
      ...node.deps.config,
      baseUrl,
      trustedProxies: [],
      rateLimits: QUICK,
      overload: { eventLoopDelayMsMax: 1e9, acceptDelayMsMax: 1e9, inFlightMax: 1e6 },
    },
    keys,
    apiKeys: createApiKeys(store),
    meters: createMeters(),
    log: createLogger('trace', { write: (line: string) => void logged.push(line) }),
  })
  const send = senderOf(node.deps as Deps, baseUrl)
  const verifier = randomBytes(32).toString('base64url')
  const pkce = { code_challenge: hash('sha256', verifier, 'base64url'), code_challenge_method: 'S256' }
  const request = {
    site_id: A,
    return_url: RETURN_URL,
    client_state: 'cs-1',
    requested_scope: ['orders:read'],
    ...pkce,
  }

  const hosted = {
    store,
    node,
    /** What was logged, a line each. */
    logged,
    clock: node.clock,
    A,
    B,
    issuer,
    keys,
    baseUrl,
    verifier,
    pkce,
    request,
    send,
    issued: (grant: Parameters<typeof issuedBy>[1] = {}, by: Party = issuer) =>
      issuedBy(by, { siteId: A, ...grant }),
    /** A browser of one person. */
    browser: () => new TestBrowser(send, baseUrl, () => node.clock.wallMs),
    async start(more: object = {}): Promise<{ state: string; authUrl: string }> {
      const answer = await send('POST', '/auth/sdk-request', { json: { ...request, ...more } })
      expect(answer.status).toBe(201)
      return { state: answer.json.state, authUrl: answer.json.auth_url }
    },
    /** Up to the page: the browser is bound. */
    async opened(more: object = {}) {
      const started = await hosted.start(more)
      const browser = hosted.browser()
      const page = await browser.get(started.authUrl)
      expect(page.status).toBe(200)
      return { ...started, browser, page }
    },
    /** Up to a good presentation. */
    async presented(document: JsonObject, more: object = {}) {
      const flow = await hosted.opened(more)
      const shown = await flow.browser.present(flow.state, document)
      expect([shown.status, shown.json?.code]).toEqual([200, undefined])
      const callbackUrl: string = shown.json.callback_url
      return { ...flow, shown, callbackUrl, payload: new URL(callbackUrl).searchParams.get('payload') ?? '' }
    },
    /** The whole way to the code. */
    async signedIn(document: JsonObject, more: object = {}) {
      const flow = await hosted.presented(document, more)
      const back = await flow.browser.get(flow.callbackUrl)
      expect(back.status).toBe(303)
      return { ...flow, back, code: back.to.searchParams.get('code') ?? '' }
    },
    redeem: (code: string, code_verifier: string = verifier) =>
      send('POST', '/auth/sdk-result', { json: { code, code_verifier } }),
  }
  return hosted
}

/** Another node on the same store, with the same keys. */
export async function openSecond({ store, A, node, clock, baseUrl }: Awaited<ReturnType<typeof openHosted>>) {
  const second = await openNode(store, A, { clock })
  const { config, keys, apiKeys, meters, log } = node.deps
  Object.assign(second.deps, { config, keys, apiKeys, meters, log })
  return { node: second, send: senderOf(second.deps as Deps, baseUrl) }
}

/** Sends requests to a node without a socket, and looks at every answer. */
function senderOf(deps: Deps, baseUrl: string) {
  const app = createApp(deps, { gauge: { eventLoopDelayMs: () => 0, acceptDelayMs: () => 0 } })
  return async (method: string, url: string, { headers = {}, json, form }: Sending = {}): Promise<Seen> => {
    const path = url.startsWith(baseUrl) ? url.slice(baseUrl.length) : url
    const given = Object.fromEntries(
      Object.entries(headers).filter(([, value]) => value !== undefined),
    ) as Record<string, string>
    const type =
      json !== undefined
        ? 'application/json'
        : form !== undefined
          ? 'application/x-www-form-urlencoded'
          : undefined
    const payload = json !== undefined ? JSON.stringify(json) : form && new URLSearchParams(form).toString()
    const answer = await inject(app, {
      method: method as 'GET',
      url: path,
      headers: { ...(type === undefined ? {} : { 'content-type': type }), ...given },
      ...(payload === undefined ? {} : { payload }),
    })
    const seen = { method, path, status: answer.statusCode, headers: answer.headers, text: answer.body }
    checkContract(seen)
    const isJson = /json/.test(String(answer.headers['content-type'])) && answer.body !== ''
    const location = String(answer.headers.location ?? 'about:blank')
    return {
      status: answer.statusCode,
      headers: answer.headers as Seen['headers'],
      text: answer.body,
      json: isJson ? JSON.parse(answer.body) : undefined,
      to: new URL(location),
    }
  }
}

const QUICK = Object.fromEntries(
  Object.entries(rateLimits).map(([name, limit]) => [name, { ...limit, requests: 1e9 }]),
)

/** Keeps cookies and sends what browsers send. */
class TestBrowser {
  readonly jar = new Map<string, string>()
  private readonly send: (method: string, url: string, sending?: Sending) => Promise<Seen>
  private readonly baseUrl: string
  private readonly nowMs: () => number

  constructor(send: TestBrowser['send'], baseUrl: string, nowMs: () => number) {
    this.send = send
    this.baseUrl = baseUrl
    this.nowMs = nowMs
  }

  get cookie(): string | undefined {
    return this.jar.size === 0
      ? undefined
      : [...this.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  async get(url: string, headers: Sending['headers'] = {}): Promise<Seen> {
    return this.keep(
      await this.send('GET', url, { headers: { cookie: this.cookie, accept: 'text/html', ...headers } }),
    )
  }

  async post(url: string, sending: Sending): Promise<Seen> {
    const own = { cookie: this.cookie, origin: this.baseUrl, 'sec-fetch-site': 'same-origin' }
    return this.keep(await this.send('POST', url, { ...sending, headers: { ...own, ...sending.headers } }))
  }

  /** What the script of the page sends, signed by a holder where there is one. */
  async present(
    state: string,
    credential: unknown,
    { holder, ...more }: { holder?: Party } & Sending = {},
  ): Promise<Seen> {
    const json = { state, credential }
    const proof = holder === undefined ? {} : await this.proof('/auth/present', json, holder)
    return this.post('/auth/present', { json, headers: { ...proof, ...more.headers } })
  }

  /** What a page without script sends. */
  presentForm(
    state: string,
    credential: string,
    csrf_token: string,
    headers: Sending['headers'] = {},
  ): Promise<Seen> {
    return this.post('/auth/present', {
      form: { state, credential, csrf_token },
      headers: { accept: 'text/html', origin: 'null', ...headers },
    })
  }

  async proof(path: string, json: unknown, holder: Party): Promise<Record<string, string>> {
    const { host } = new URL(this.baseUrl)
    const body = new TextEncoder().encode(JSON.stringify(json))
    const plain: HolderRequest = {
      method: 'POST',
      authority: host,
      path,
      query: '',
      header: () => undefined,
      body,
    }
    return { ...(await signRequest(plain, { key: holder.key, nowMs: this.nowMs() })) }
  }

  private keep(seen: Seen): Seen {
    for (const line of [seen.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) this.jar.delete(name)
      else this.jar.set(name, value)
    }
    return seen
  }
}

/** What stands in a hidden field of a page. */
export function hiddenField({ text }: Seen, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? ''
}
