import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ppid, SiteId, SiteView } from '@countersign/core'
import { BLOCK, toPpid } from '../bench/growth/changes.ts'
import { createClaims } from '../bench/growth/claims.ts'
import { runCommand } from '../bench/growth/commands.ts'
import { generateStore, toSites } from '../bench/growth/generate.ts'
import { createRandom } from '../bench/measure.ts'
import { createSample } from '../bench/sample.ts'
import { toIssuer } from '../bench/service-http.ts'
import { loadSite } from '../packages/cli/src/feed/load-site.ts'
import { createApiKey } from '../packages/service/src/actions/api-keys.ts'
import { eraseUser } from '../packages/service/src/actions/erase-user.ts'
import { type Config, readConfig } from '../packages/service/src/config.ts'
import { readMasterKey } from '../packages/service/src/keys/master-key.ts'
import { createLogger } from '../packages/service/src/logger.ts'
import { openService, type Service } from '../packages/service/src/service.ts'
import { countVerdicts, judgeAll } from '../packages/service/test/log/verdicts.ts'
import { startPostgres } from '../packages/service/test/store/postgres-server.ts'

export interface VerdictsOrder {
  readonly kind: Config['store']['kind']
  readonly directory: string
  readonly revocations: number
  readonly claims: number
  readonly say: (text: string) => void
}

const DAY_MS = 86_400_000
const SITES = 3
const YEARS = 10

/** A store, and how commands and services reach it. */
interface Place {
  readonly dataDir: string
  readonly env: Readonly<Record<string, string>>
}

/**
 * Generates a store and asks for the verdicts of the service and of a new verifier: with the whole
 * log, with a checkpoint, after a cut with its compaction, after a new epoch, after revoked users
 * were erased, and after a second cut. Throws when a verdict differs.
 */
export async function compareVerdicts(order: VerdictsOrder): Promise<void> {
  const { kind, directory, say } = order
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const postgres = kind === 'postgres' ? await startPostgres() : undefined
  try {
    const url = await postgres?.createDatabase()
    const env = url === undefined ? {} : { COUNTERSIGN_DATABASE_URL: url }
    await compareAt(order, { dataDir: directory, env }, url)
    say(`${kind}: all verdicts are the same`)
  } finally {
    await postgres?.stop()
  }
}

async function compareAt(order: VerdictsOrder, place: Place, url: string | undefined): Promise<void> {
  const { revocations, say, kind } = order
  const { dataDir } = place
  const nowMs = Date.now()
  const sites = toSites(SITES)
  const issuer = toIssuer(await createSample(nowMs))
  const changes = { count: revocations, years: YEARS, nowMs }
  await generateStore({
    place:
      url === undefined
        ? { kind: 'sqlite', file: join(dataDir, 'countersign.db') }
        : { kind: 'postgres', url },
    masterKey: readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'development' }),
    ...{ revocations, years: YEARS, nowMs, sites, issuer },
  })
  const claims = createClaims({ ...changes, sites, claims: order.claims, pick: createRandom(1) })
  // A verdict must also be the same later.
  const times = [0, 10, 200, 400].map((days) => nowMs + days * DAY_MS)
  let expected: readonly string[] | undefined
  const compare = async (step: string, work?: (service: Service) => Promise<void>) => {
    await withService(place, async (service, apiKeys, port) => {
      await work?.(service)
      const verifiers = new Map<SiteId, SiteView>()
      for (const siteId of sites)
        verifiers.set(
          siteId,
          await loadSite({
            baseUrl: `http://127.0.0.1:${port}`,
            siteId,
            apiKey: apiKeys.get(siteId),
            dev: undefined,
          }),
        )
      for (const [whose, find] of [
        ['service', (siteId: SiteId) => service.deps.views.view(siteId)],
        ['verifier', (siteId: SiteId) => verifiers.get(siteId)],
      ] as const) {
        const found = judgeAll(find, claims, times)
        if (expected !== undefined) requireSame(`${kind}, ${step}, ${whose}`, expected, found)
        expected ??= found
        say(`${kind}, ${step}, ${whose}: ${found.length.toLocaleString('en')} verdicts, ${describe(found)}`)
      }
    })
  }
  const run = (...words: string[]) => runCommand([...words, '--data-dir', dataDir], place.env)
  await compare('whole log', waitForCheckpoint)
  await compare('checkpoint')
  await run('cut-log')
  await compare('cut')
  await run('audit-log')
  await run('new-epoch', '--no-input')
  await compare('new epoch')
  await compare('erasure', (service) => eraseUsers(service, sites))
  await run('cut-log')
  await run('audit-log')
  await compare('second cut')
}

/** Runs a service on the store, with an API key for each site. */
async function withService(
  { dataDir, env }: Place,
  work: (service: Service, apiKeys: ReadonlyMap<SiteId, string>, port: number) => Promise<void>,
): Promise<void> {
  const settings = { COUNTERSIGN_DATA_DIR: dataDir, COUNTERSIGN_PORT: '0', COUNTERSIGN_LOG_LEVEL: 'error' }
  const service = await openService(readConfig('development', { env: { ...settings, ...env } }), {
    log: createLogger('error'),
    onFatal: (fault) => {
      throw fault
    },
  })
  try {
    const { port } = await service.listen()
    const context = { actor: 'system', atMs: service.deps.clock.nowMs() }
    const apiKeys = new Map<SiteId, string>()
    for (const siteId of toSites(SITES)) {
      const key = { siteId, permissions: ['feed:read'] as const, label: undefined, expiresInSeconds: 3600 }
      apiKeys.set(siteId, (await createApiKey(service.deps, key, context)).secret)
    }
    await work(service, apiKeys, port)
  } finally {
    await service.close()
  }
}

/** The service writes it by itself, when it has read enough entries. */
async function waitForCheckpoint({ deps }: Service): Promise<void> {
  while ((await deps.store.checkpoint()) === undefined) await sleep(200)
}

/** Users that are revoked, so that the sign-out before an erasure changes nothing. */
const ERASED_PLACES = [1, 5, 9, 11]

async function eraseUsers({ deps }: Service, sites: readonly SiteId[]): Promise<void> {
  const context = { actor: 'system', atMs: deps.clock.nowMs() }
  for (const [i, siteId] of sites.entries())
    for (const place of ERASED_PLACES)
      await eraseUser(deps, { siteId, ppids: [toPpid(i * BLOCK + place) as Ppid] }, context, async () => {})
}

function requireSame(step: string, expected: readonly string[], found: readonly string[]): void {
  const at = expected.findIndex((verdict, i) => verdict !== found[i])
  if (at === -1 && expected.length === found.length) return
  throw new Error(`${step}: verdict ${at} is ${found[at]} instead of ${expected[at]}`)
}

function describe(verdicts: readonly string[]): string {
  return [...countVerdicts(verdicts)].map(([verdict, count]) => `${verdict} ${count}`).join(', ')
}
