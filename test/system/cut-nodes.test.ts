import type { SiteId } from '@countersign/core'
import { permissions } from '@countersign/core/contract'
import { createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApiKey } from '../../packages/service/src/actions/api-keys.ts'
import { ensureOwnIssuer } from '../../packages/service/src/actions/own-issuer.ts'
import { readConfig } from '../../packages/service/src/config.ts'
import { createPairwiseSecret } from '../../packages/service/src/keys/ids.ts'
import { createLogger } from '../../packages/service/src/logger.ts'
import { pairwisePurpose } from '../../packages/service/src/sealing/purposes.ts'
import { createSealer } from '../../packages/service/src/sealing/sealer.ts'
import { openService, type Service } from '../../packages/service/src/service.ts'
import type { Store } from '../../packages/service/src/store/store.ts'
import { issued, type Made, newParty, type Party } from '../../packages/service/test/party.ts'
import {
  context,
  DAY,
  MASTER_KEY,
  MASTER_KEY_HEX,
  newSite,
  ppid,
} from '../../packages/service/test/store/fixtures.ts'
import {
  freePort,
  type PostgresServer,
  startPostgres,
} from '../../packages/service/test/store/postgres-server.ts'
import { openPlace } from '../../packages/service/test/store/store-writer.ts'
import { openProxy, type TcpProxy } from '../../packages/service/test/store/tcp-proxy.ts'
import { type Client, createClient } from '../process/client.ts'
import { findScript } from '../process/scripts.ts'
import {
  cleanUp,
  createHome,
  runCommand,
  type ServiceHome,
  type ServiceProcess,
  startService,
} from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000
const SOON = { interval: 50, timeout: 60_000 }
const OLD = Date.now() - 800 * DAY
const SITE = 'demo.localhost' as SiteId
const CUTTING = findScript(new URL('../process/cutting-service.ts', import.meta.url))

let server: PostgresServer
let home: ServiceHome
let issuer: Party
let apiKey: string
let proxy: TcpProxy
/** Cuts its log on SIGUSR2. */
let first: ServiceProcess
let second: ServiceProcess
let two: Client
const guards: Guard[] = []

/** For entries that are two years old; the nodes read them like their own. */
async function withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openPlace({ kind: 'postgres', url: home.databaseUrl ?? '' })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/** A service of this process, before the nodes are started. */
async function withService<T>(work: (deps: Service['deps']) => Promise<T>): Promise<T> {
  const env = {
    COUNTERSIGN_BASE_URL: home.baseUrl,
    COUNTERSIGN_DATABASE_URL: home.databaseUrl ?? '',
    COUNTERSIGN_MASTER_KEY: home.masterKey,
    COUNTERSIGN_PORT: '0',
  }
  const config = { ...readConfig('production', { env }), metricsPort: undefined, headFile: undefined }
  const service = await openService(config, { log: createLogger('error'), onFatal: () => process.exit(70) })
  try {
    return await work(service.deps)
  } finally {
    await service.close()
  }
}

const revokeOld = (store: Store, user: string, atMs: number) =>
  store.revokeUser({ siteId: SITE, ppid: user as never, reason: undefined }, context(atMs))

beforeAll(async () => {
  server = await startPostgres()
  home = { ...(await createHome({ databaseUrl: await server.createTables() })), masterKey: MASTER_KEY_HEX }
  issuer = await newParty()
  apiKey = await withService(async (deps) => {
    const { store } = deps
    const pairwiseSecretSealed = createSealer(MASTER_KEY).seal(pairwisePurpose(SITE), createPairwiseSecret())
    await store.createSite(newSite({ siteId: SITE, pairwiseSecretSealed }), context(OLD))
    const keys = [{ id: issuer.keyId, key: issuer.keyId, status: 'active' }] as const
    const trusted = { siteId: SITE, issuer: issuer.did, keys, fetched: false }
    const rest = { scope: undefined, credentialTtlSecondsMax: undefined, label: undefined }
    await store.addIssuer({ ...trusted, ...rest }, context(OLD))
    // Otherwise the nodes would add it when they start.
    await ensureOwnIssuer(deps, SITE, context(OLD))
    for (let i = 0; i < 20; i++) await revokeOld(store, ppid(), OLD)
    const order = { siteId: SITE, permissions, label: undefined, expiresInSeconds: undefined }
    return (await createApiKey({ store }, order, context(Date.now()))).secret
  })
  ;[first, second] = await Promise.all([
    startService(home, { entry: CUTTING }),
    startService(home, { port: await freePort() }),
  ])
  two = createClient(second.url, { site_id: SITE, site_key: apiKey })
  proxy = await openProxy(Number(new URL(first.url).port))
}, SETUP_MS_MAX)
afterAll(async () => {
  for (const guard of guards) await guard.close()
  await proxy?.close()
  await cleanUp()
  await server?.stop()
}, SETUP_MS_MAX)

/** A guard, and how often it has loaded a snapshot. */
async function connect(baseUrl: string): Promise<{ readonly guard: Guard; snapshots(): number }> {
  let loaded = 0
  const guard = createGuard({
    baseUrl,
    siteId: SITE,
    apiKey,
    maxStalenessSeconds: 30,
    onStateChange: () => undefined,
    fetch: (url, init) => {
      if (new URL(url).pathname.endsWith('/snapshot')) loaded++
      return fetch(url, init)
    },
  })
  guards.push(guard)
  await guard.ready()
  return { guard, snapshots: () => loaded }
}

async function show(guard: Guard, { header }: Made): Promise<string> {
  const request = testRequest('GET', 'http://demo.localhost/api/orders', { 'x-service-credential': header })
  const verdict = await guard.verify(request, { scope: 'orders:read' })
  return verdict.ok ? 'allowed' : verdict.code
}

const issue = (count: number) =>
  Promise.all(Array.from({ length: count }, () => issued(issuer, { siteId: SITE, nowMs: Date.now() })))

test('guards follow both nodes while one of them cuts the log and the other revokes (A192, I-8)', {
  tags: 'long',
  timeout: TEST_MS_MAX,
}, async () => {
  const [living, ...revoked] = (await issue(61)) as [Made, ...Made[]]
  const [long, recent] = [revoked.slice(0, 20), revoked.slice(20)]
  const near = await connect(first.url)
  const far = await connect(second.url)
  const absent = await connect(`http://127.0.0.1:${proxy.port}`)
  for (const { guard } of [near, far, absent])
    for (const each of [living, ...revoked]) expect(await show(guard, each)).toBe('allowed')

  // One guard misses entries that the cut is about to remove.
  proxy.hold()
  proxy.cut()
  const provenSeq = absent.guard.state().seq
  const oldSeq = await withStore(async (store) => {
    for (const each of long) await revokeOld(store, each.ppid, OLD + DAY)
    for (let i = 0; i < 40; i++) await revokeOld(store, ppid(), OLD + DAY)
    return (await revokeOld(store, ppid(), OLD + DAY)).seq
  })
  for (const { guard } of [near, far]) await expect.poll(() => guard.state().seq, SOON).toBe(oldSeq)

  // A cut needs an entry that stays. It takes many steps, and entries come in between.
  const [begin, ...rest] = recent as [Made, ...Made[]]
  await two.revokeUser(begin.ppid)
  process.kill(first.pid, 'SIGUSR2')
  let lastSeq = 0
  let whileCutting = 0
  for (const each of rest) {
    const isCutting = !/^cut /m.test(first.output())
    const { status, body } = await two.revokeUser(each.ppid)
    expect(status).toBe(200)
    lastSeq = body.seq
    if (isCutting) whileCutting++
    for (const { guard } of [near, far]) {
      await expect.poll(() => guard.state().seq, SOON).toBeGreaterThanOrEqual(lastSeq)
      expect(await show(guard, each)).toBe('credential_revoked')
    }
  }
  await expect.poll(() => first.output(), SOON).toMatch(/^cut /m)
  expect(whileCutting).toBeGreaterThan(1)
  expect(JSON.parse(/^cut (.*)$/m.exec(first.output())?.[1] ?? '')).toMatchObject({
    basePosition: oldSeq,
    entries: oldSeq,
  })
  for (const { guard, snapshots } of [near, far]) {
    for (const each of revoked) expect(await show(guard, each)).toBe('credential_revoked')
    expect(await show(guard, living)).toBe('allowed')
    expect(guard.state()).toMatchObject({ ready: true, connection: 'following', seq: lastSeq })
    expect(guard.state()).not.toHaveProperty('problem')
    expect(guard.state()).not.toHaveProperty('carriedRevocations')
    expect(snapshots()).toBe(1)
  }

  // The guard that was away has proof of an entry that is no longer there.
  expect(absent.guard.state().seq).toBe(provenSeq)
  expect(provenSeq).toBeLessThan(oldSeq)
  proxy.release()
  await expect.poll(() => absent.guard.state().seq, SOON).toBe(lastSeq)
  expect(absent.guard.state()).toMatchObject({
    ready: true,
    problem: { code: 'older_than_base', detail: expect.stringContaining('kept the 0 revocations') },
  })
  expect(absent.snapshots()).toBe(2)
  for (const each of revoked) expect(await show(absent.guard, each)).toBe('credential_revoked')
  expect(await show(absent.guard, living)).toBe('allowed')

  // All three go on from here, and so does a guard that has never seen the removed entries.
  const late = await connect(second.url)
  for (const each of revoked) expect(await show(late.guard, each)).toBe('credential_revoked')
  const { body } = await two.revokeUser(living.ppid, { prefer: 'wait=20' })
  expect(body.propagation).toMatchObject({ connected: 4, acknowledged: 4, laggards: [] })
  for (const { guard } of [near, far, absent, late])
    expect(await show(guard, living)).toBe('credential_revoked')
  expect(await runCommand(home, ['audit-log'])).toMatchObject({
    code: 0,
    said: expect.stringContaining('before the base of the log'),
  })
})
