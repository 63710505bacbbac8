import { randomBytes } from 'node:crypto'
import type { SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { InjectOptions, Response } from 'light-my-request'
import { expect } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { readConfig } from '../../src/config.ts'
import { secretSha256 } from '../../src/keys/secret-text.ts'
import { createLogger } from '../../src/logger.ts'
import { type OpenServiceOptions, openService, type Service } from '../../src/service.ts'
import type { PersonRole } from '../../src/store/operations/people.ts'
import { systemClocks } from '../../src/system-clocks.ts'
import { countSleep } from '../../src/time/count-sleep.ts'
import { checkContract } from '../contract-check.ts'
import { inject } from '../inject.ts'
import { MASTER_KEY_HEX } from '../store/fixtures.ts'
import type { StoreWriter } from '../store/store-writer.ts'

export const ORIGIN = 'https://id.example'
export const COOKIE = '__Host-countersign-console'
export const SHOP = 'shop.example' as SiteId
export const OTHER = 'other.example' as SiteId

interface Sent {
  readonly method?: InjectOptions['method']
  readonly body?: object
  /** In place of a body. Its Content-Type is among the headers. */
  readonly form?: string
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>
}

export interface ConsoleNode {
  readonly service: Service
  readonly operatorKey: string
  readonly logged: string[]
  /** Sends exactly these headers, besides Host. */
  send(path: string, sent?: Sent): Promise<Response>
  close(): Promise<void>
}

/** A node with two sites and an operator key. */
export async function openConsoleNode(
  { place }: Pick<StoreWriter, 'place'>,
  more: Readonly<Record<string, string>> = {},
  options: Pick<OpenServiceOptions, 'demoVerifiers'> = {},
): Promise<ConsoleNode> {
  const env = {
    COUNTERSIGN_BASE_URL: ORIGIN,
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    COUNTERSIGN_PORT: '0',
    ...more,
  }
  const config = { ...readConfig('production', { env }), headFile: undefined, store: place }
  const logged: string[] = []
  const log = createLogger('info', { write: (line: string) => void logged.push(line) })
  const onFatal = (fault: Error) => {
    throw fault
  }
  const service = await openService(config, { log, onFatal, clocks: countSleep(systemClocks), ...options })
  const { deps, app } = service
  const context = { actor: 'operator', atMs: deps.clock.nowMs(), requestId: undefined }
  const order = { siteId: null, permissions: [], label: undefined, expiresInSeconds: undefined }
  const { secret: operatorKey } = await createApiKey(deps, order, context)
  const node: ConsoleNode = {
    service,
    operatorKey,
    logged,
    async send(path, { method = 'GET', body, form, headers = {} } = {}) {
      const given = Object.entries(headers).filter(([, value]) => value !== undefined)
      const answer = await inject(app, {
        method,
        url: path,
        headers: {
          host: 'id.example',
          ...(body && { 'content-type': 'application/json' }),
          ...(Object.fromEntries(given) as Record<string, string>),
        },
        ...(body && { payload: JSON.stringify(body) }),
        ...(form !== undefined && { payload: form }),
      })
      const { statusCode: status, body: text } = answer
      if (method !== 'OPTIONS' && !path.startsWith('/console/api'))
        checkContract({ method: String(method), path, status, headers: answer.headers, text })
      expect(answer.headers['access-control-allow-origin']).toBeUndefined()
      return answer
    },
    close: () => service.close(),
  }
  for (const site_id of [SHOP, OTHER])
    await node.send('/api/sites', {
      method: 'POST',
      body: { site_id },
      headers: { 'x-api-key': operatorKey },
    })
  return node
}

/** A page of the console in a browser. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', origin: ORIGIN }

export interface Browser {
  readonly personId: string
  readonly sessionId: string
  readonly cookie: string
  /** A request of a page, with the role at that site. */
  ask(path: string, sent?: Sent, role?: string): Promise<Response>
}

export async function addPerson({ service }: ConsoleNode, roles: readonly PersonRole[]): Promise<string> {
  const { store, clock } = service.deps
  const personId = `person_${randomBytes(8).toString('hex')}`
  const context = { actor: 'operator', atMs: clock.nowMs(), requestId: undefined }
  await store.createPerson({ personId, name: 'Ada', roles }, 1000, undefined, context)
  return personId
}

/** Signs a person in. `ageMs` ago, and used last then. The session lasts `lifetimeMs`. */
export async function signIn(
  node: ConsoleNode,
  personId: string,
  ageMs = 0,
  lifetimeMs = limits.console_session_seconds * 1000,
): Promise<Browser> {
  const { store, clock } = node.service.deps
  const atMs = clock.nowMs() - ageMs
  const [link, secret] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')]
  const context = { actor: 'operator', atMs, requestId: undefined }
  await store.createConsoleLink({ sha256: secretSha256(link), personId, expiresAtMs: atMs + 60_000 }, context)
  const session = {
    sha256: secretSha256(secret),
    sessionId: `session_${atMs}_${randomBytes(4).toString('hex')}`,
    expiresAtMs: atMs + lifetimeMs,
    elevatedUntilMs: atMs + limits.console_elevated_seconds * 1000,
  }
  const opened = await store.openConsoleSession(secretSha256(link), session, undefined, 20, context)
  if (opened === undefined) throw new Error('the person cannot sign in')
  const cookie = `${COOKIE}=${secret}`
  return {
    personId,
    sessionId: session.sessionId,
    cookie,
    ask: (path, sent = {}, role = SHOP) =>
      node.send(path, {
        ...sent,
        headers: { ...SAME_ORIGIN, cookie, 'countersign-console': role, ...sent.headers },
      }),
  }
}

export const outcome = (answer: Response) => [
  answer.statusCode,
  answer.statusCode < 400 ? '' : answer.json().code,
]

/** The last audit rows of the service and its sites. */
export async function auditOf({ service }: ConsoleNode, site: SiteId | null = null) {
  return service.deps.store.auditRows(site, { after: undefined, limit: 50 })
}
