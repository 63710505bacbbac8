import type { Allow, SiteId } from '@countersign/core'
import { type Permission, rateLimits } from '@countersign/core/contract'
import type { InjectOptions } from 'light-my-request'
import { type App, type AppOptions, createApp } from '../../src/app.ts'
import type { Config } from '../../src/config.ts'
import type { Deps } from '../../src/deps.ts'
import { createApiKeys } from '../../src/keys/api-keys.ts'
import { createSecretText, secretSha256 } from '../../src/keys/secret-text.ts'
import { createLogger } from '../../src/logger.ts'
import { createMeters } from '../../src/meters.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import type { ApiKey } from '../../src/store/operations/api-keys.ts'
import type { NewAuditRow } from '../../src/store/operations/audit.ts'
import type { IdempotencyState, KeptAnswer } from '../../src/store/operations/idempotency.ts'
import type { Store } from '../../src/store/store.ts'
import { checkContract } from '../contract-check.ts'
import { inject } from '../inject.ts'

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

export const BASE_URL = 'https://id.example'
export const SITE = 'shop.example' as SiteId

/** An app on doubles of our own ports. Every answer it gives is checked against the contract. */
export interface AppDouble {
  readonly app: App
  readonly deps: Deps
  readonly audit: NewAuditRow[]
  readonly keys: Map<string, ApiKey>
  readonly logLines: string[]
  readonly now: { ms: number }
  /** A key that the store knows. */
  key(options?: { siteId?: SiteId | null; permissions?: readonly Permission[]; expiresAtMs?: number }): string
  call(
    method: string,
    url: string,
    options?: Pick<InjectOptions, 'headers' | 'payload' | 'remoteAddress'>,
  ): Promise<Answered>
}

interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the contract check has looked at it already.
  readonly json: any
}

export interface DoubleOptions extends AppOptions {
  readonly config?: Partial<Config>
  readonly store?: Partial<Store>
  readonly deps?: Partial<Deps>
}

const DEFAULTS: Config = {
  mode: 'production',
  baseUrl: BASE_URL,
  host: '127.0.0.1',
  port: 0,
  adminHost: '127.0.0.1',
  adminPort: undefined,
  headFile: undefined,
  store: { kind: 'sqlite', file: 'unused' },
  dataDir: 'unused',
  console: true,
  consoleUrl: undefined,
  consoleOidc: undefined,
  masterKey: new Uint8Array(32),
  protectedSite: SITE,
  protectedScope: [],
  trustedProxies: [],
  workers: 1,
  logLevel: 'info',
  viewAgeMsMax: 2000,
  issuerKeysAgeMsMax: 86_400_000,
  logKeptMs: 396 * 86_400_000,
  rateLimits,
  openSignInsMax: 10_000,
  drillEveryMs: undefined,
  retention: {
    credentialsKeptMs: 86_400_000,
    auditKeptMs: undefined,
    auditArchiveDir: undefined,
    receiptsKeptMs: 86_400_000,
  },
  overload: { eventLoopDelayMsMax: 100, acceptDelayMsMax: 250, inFlightMax: 1000 },
}

/** What the guard of the double decides about every credential. */
const ALLOWED = { ok: true, presented: 'credential' } as Allow

let made = 0

export function createAppDouble({ config, store, deps: more, ...options }: DoubleOptions = {}): AppDouble {
  const audit: NewAuditRow[] = []
  const keys = new Map<string, ApiKey>()
  const logLines: string[] = []
  const now = { ms: 1_800_000_000_000 }
  const storeDouble = {
    ...memoryIdempotency(),
    logPosition: async () => 0,
    apiKeyBySha256: async (sha256: string) => keys.get(sha256),
    audit: async (row: NewAuditRow) => void audit.push(row),
    ...store,
  } as Partial<Store> as Store
  const deps = {
    config: { ...DEFAULTS, ...config },
    store: storeDouble,
    clock: {
      nowMs: () => now.ms,
      clocks: () => ({ wallMs: now.ms, monotonicMs: now.ms }),
      whileFrozen: <Result>(work: () => Result) => work(),
    },
    keys: createSealer(new Uint8Array(32)),
    views: { waitFor: async () => {}, waiting: 0 },
    apiKeys: createApiKeys(storeDouble, () => now.ms),
    meters: createMeters(),
    feeds: { close: async () => {}, dropKey: () => {} },
    verifiers: { close: async () => {}, receipt: async () => NO_RECEIPT },
    log: createLogger('info', { write: (line) => void logLines.push(line) }),
    ...more,
  } as Partial<Deps> as Deps
  const app = createApp(deps, {
    gauge: { eventLoopDelayMs: () => 0, acceptDelayMs: () => 0 },
    guard: async () => ALLOWED,
    monotonicMs: () => now.ms,
    ...options,
  })

  return {
    app,
    deps,
    audit,
    keys,
    logLines,
    now,
    key({ siteId = SITE, permissions = ['tokens:introspect'] as const, expiresAtMs } = {}) {
      const secret = createSecretText('svc_sk_', Buffer.alloc(32, ++made))
      const sha256 = secretSha256(secret)
      keys.set(sha256, {
        keyId: `key_${made}`,
        siteId,
        sha256,
        last4: secret.slice(-4),
        permissions,
        label: undefined,
        expiresAtMs,
        createdAtMs: now.ms,
      })
      return secret
    },
    async call(method, url, { headers = {}, payload, remoteAddress } = {}) {
      const answer = await inject(app, {
        method: method as 'GET',
        url,
        headers,
        ...(payload === undefined ? {} : { payload }),
        ...(remoteAddress === undefined ? {} : { remoteAddress }),
      })
      const seen = {
        method,
        path: url,
        status: answer.statusCode,
        headers: answer.headers,
        text: answer.body,
      }
      checkContract(seen)
      const isJson = /json/.test(String(answer.headers['content-type'])) && answer.body !== ''
      return { ...seen, json: isJson ? JSON.parse(answer.body) : undefined }
    },
  }
}

function memoryIdempotency(): Pick<Store, 'beginIdempotent' | 'finishIdempotent' | 'abandonIdempotent'> {
  const kept = new Map<string, { requestSha256: string; state: 'running' | KeptAnswer }>()
  const nameOf = (key: { owner: string; sha256: string }) => `${key.owner} ${key.sha256}`
  return {
    async beginIdempotent(key): Promise<IdempotencyState> {
      const found = kept.get(nameOf(key))
      if (found === undefined) {
        kept.set(nameOf(key), { requestSha256: key.requestSha256, state: 'running' })
        return 'begun'
      }
      return found.requestSha256 === key.requestSha256 ? found.state : 'other_request'
    },
    async finishIdempotent(key, answer) {
      kept.set(nameOf(key), { requestSha256: key.requestSha256, state: answer })
    },
    async abandonIdempotent(key) {
      kept.delete(nameOf(key))
    },
  }
}
