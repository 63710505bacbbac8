import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import type { Permission } from '@countersign/core/contract'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { createApiKey } from '../../src/actions/api-keys.ts'
import { type Config, readConfig } from '../../src/config.ts'
import { createPairwiseSecret } from '../../src/keys/ids.ts'
import { createLogger } from '../../src/logger.ts'
import { pairwisePurpose } from '../../src/sealing/purposes.ts'
import { type OpenServiceOptions, openService, type Service } from '../../src/service.ts'
import { systemClocks } from '../../src/system-clocks.ts'
import { countSleep } from '../../src/time/count-sleep.ts'
import { checkContract } from '../contract-check.ts'
import { startPostgres } from '../store/postgres-server.ts'

/** A whole node of the service that listens, as anonymous would run it. */
export interface FeedNode {
  readonly service: Service
  readonly port: number
  /** What it has logged, a line each. */
  readonly logged: string[]
  /** A new site with a key that may do everything there. */
  newSite(): Promise<FeedSite>
  newKey(
    siteId: SiteId | null,
    permissions?: readonly Permission[],
    expiresInSeconds?: number,
  ): Promise<{ key: string; keyId: string }>
  call(method: string, path: string, options?: CallOptions): Promise<Told>
  /** Moves the clocks of this node ahead, both of them: the time passes, and nothing jumps. */
  passTime(ms: number): void
  close(): Promise<void>
}

export interface FeedSite {
  readonly siteId: SiteId
  readonly key: string
  readonly keyId: string
}

interface CallOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

export interface Told {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** As they came, compressed or not. */
  readonly bytes: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: the contract check has looked at it already.
  readonly json: any
}

/**
 * Where nodes come from. Those on PostgreSQL share a database; on SQLite each has a file of its
 * own.
 */
export interface FeedHome {
  readonly kind: 'SQLite' | 'PostgreSQL'
  /** A node for one test, which may do with it what it likes. */
  open(): Promise<FeedNode>
  /**
   * A node for all tests that leave it as it is: starting one takes its time. It writes receipts
   * after a fifth of the usual time.
   */
  node(): Promise<FeedNode>
}

const EVERYTHING: readonly Permission[] = [
  'tokens:introspect',
  'tokens:revoke',
  'credentials:issue',
  'credentials:revoke',
  'credentials:reinstate',
  'feed:read',
  'site:read',
  'site:admin',
]
export const context = () => ({ actor: 'operator', atMs: Date.now(), requestId: undefined })
export const newPpid = () => `did:service:ppid_${randomBytes(16).toString('hex')}` as Ppid
export const newCredentialId = () => `cred_${randomBytes(13).toString('hex')}` as CredentialId

/** Runs the same tests on every store, each with nodes that are closed after every test. */
export function onEachStore(name: string, tests: (home: () => FeedHome) => void): void {
  describe.each(['SQLite', 'PostgreSQL'] as const)(`${name} on %s`, (kind) => {
    const opened = new Set<FeedNode>()
    let place: Place | undefined
    let home: FeedHome | undefined
    let shared: Promise<FeedNode> | undefined
    beforeAll(async () => {
      const made = await (kind === 'SQLite' ? sqlitePlace() : postgresPlace())
      place = made
      home = {
        kind,
        async open() {
          const node = await openFeedNode(made.config())
          opened.add(node)
          return node
        },
        node: () => (shared ??= openFeedNode(made.config(), { receiptsMs: 200 })),
      }
    })
    afterEach(async ({ task }) => {
      if (task.result?.state === 'fail') printWarnings([...opened, await shared])
      for (const node of opened) await node.close()
      opened.clear()
    })
    afterAll(async () => {
      await (await shared)?.close()
      await place?.close()
    })
    tests(() => home as FeedHome)
  })
}

const PRINTED_MAX = 20

/** The last warnings and errors of the nodes: an answer says that a store failed, and not why. */
function printWarnings(nodes: readonly (FeedNode | undefined)[]): void {
  const lines = nodes.flatMap((node) => node?.logged ?? [])
  const warnings = lines.filter((line) => JSON.parse(line).level >= 40)
  console.error(['What the nodes of this test logged:', ...warnings.slice(-PRINTED_MAX)].join('\n'))
}

interface Place {
  config(): Partial<Config>
  close(): Promise<void>
}

async function sqlitePlace(): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-feed-'))
  let made = 0
  return {
    config: () => ({ store: { kind: 'sqlite', file: join(folder, `store-${++made}.db`) } }),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  }
}

async function postgresPlace(): Promise<Place> {
  const server = await startPostgres()
  const store = { kind: 'postgres', url: await server.createTables() } as const
  const masterKey = randomBytes(32)
  return { config: () => ({ store, masterKey }), close: () => server.stop() }
}

/** A node that listens, with these settings in the place of the defaults. The caller closes it. */
export async function openFeedNode(
  changes: Partial<Config>,
  options: Pick<OpenServiceOptions, 'receiptsMs'> = {},
): Promise<FeedNode> {
  const env = {
    COUNTERSIGN_BASE_URL: 'http://127.0.0.1',
    COUNTERSIGN_MASTER_KEY: randomBytes(32).toString('hex'),
    COUNTERSIGN_PORT: '0',
    // A machine that has much else to do is not an overloaded service.
    COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
    COUNTERSIGN_OVERLOAD_ACCEPT_DELAY_MS_MAX: '60000',
  }
  const config: Config = {
    ...readConfig('production', { env }),
    adminPort: undefined,
    headFile: undefined,
    ...changes,
  }
  const logged: string[] = []
  // A build server may be paused for a minute, and no test is about that.
  const readClocks = countSleep(systemClocks)
  let passedMs = 0
  const service = await openService(config, {
    ...options,
    clocks: () => {
      const { wallMs, monotonicMs } = readClocks()
      return { wallMs: wallMs + passedMs, monotonicMs: monotonicMs + passedMs }
    },
    log: createLogger('info', { write: (line: string) => void logged.push(line) }),
    onFatal: (fault) => {
      throw fault
    },
  })
  const { port } = await service.listen()
  const { deps } = service
  const newKey: FeedNode['newKey'] = async (siteId, permissions = EVERYTHING, expiresInSeconds) => {
    const made = await createApiKey(
      deps,
      { siteId, permissions, label: undefined, expiresInSeconds },
      context(),
    )
    return { key: made.secret, keyId: made.key.keyId }
  }
  const node: FeedNode = {
    service,
    port,
    logged,
    newKey,
    async newSite() {
      const siteId = `s${randomBytes(6).toString('hex')}.example` as SiteId
      const pairwiseSecretSealed = deps.keys.seal(pairwisePurpose(siteId), createPairwiseSecret())
      const plain = {
        name: undefined,
        returnUrls: [],
        credentialTtlSecondsMax: undefined,
        pairwiseSecretSealed,
      }
      const made = await deps.store.createSite(
        { siteId, bearer: 'on', holderProof: 'optional', delegation: 'on', ...plain },
        context(),
      )
      if (made === 'exists') throw new Error('a random name was taken')
      await deps.views.waitFor(made.position)
      return { siteId, ...(await newKey(siteId)) }
    },
    call: (method, path, options) => call(port, method, path, options),
    passTime(ms) {
      passedMs += ms
    },
    close: () => service.close(),
  }
  return node
}

/** One request on a connection of its own; its answer is checked against the contract. */
async function call(port: number, method: string, path: string, options: CallOptions = {}): Promise<Told> {
  const { key, headers = {}, body } = options
  const told = await new Promise<Told>((resolve, reject) => {
    const request = httpRequest({
      port,
      host: '127.0.0.1',
      method,
      path,
      agent: false,
      headers: {
        ...(key === undefined ? {} : { 'x-api-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('error', reject)
      response.on('end', () => {
        const bytes = Buffer.concat(pieces)
        const text = (response.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString()
        const isJson =
          /json$/.test(response.headers['content-type'] ?? '') &&
          !/ndjson/.test(response.headers['content-type'] ?? '')
        const json = isJson && text !== '' ? JSON.parse(text) : undefined
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, bytes, json })
      })
    })
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
  checkContract({ method, path, ...told })
  return told
}
