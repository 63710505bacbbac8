import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startPostgres } from '../packages/service/test/store/postgres-server.ts'
import { quantile } from './measure.ts'
import { type Load, type ServerProcess, startLoad, startServer } from './processes.ts'
import { required, type Sample, SITE, several } from './sample.ts'
import { post, toIssuer } from './service-http.ts'
import { atLeast, atMost, type Verdict } from './verdict.ts'

export interface DurableRow {
  readonly name: string
  readonly connections: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface BenchDurableOptions {
  readonly directory: string
  readonly onProgress: (what: string, done: number, all: number) => void
  readonly sustainMs?: number
}

const CONNECTIONS = 64
/** Each may have twenty live tokens, so this is enough for 80,000. */
const CREDENTIALS = 4000
const USERS = 200_000
const SYNCS = 500
/** Half of what one revocation took in November 2026. */
const ONE_MS_MAX = { SQLite: 0.9, PostgreSQL: 2.3 }

/**
 * Exchanges and revocations a second, sustained, each answered only when it is on disk; and what a
 * bare append with a sync takes there.
 */
export async function benchDurable(
  sample: Sample,
  options: BenchDurableOptions,
): Promise<{ rows: DurableRow[]; verdicts: Verdict[] }> {
  const { directory, onProgress } = options
  const load = await startLoad()
  const postgres = await startPostgres()
  try {
    const bodies = await several(CREDENTIALS, async (n) =>
      JSON.stringify({ credential: await sample.credential(n), ttl_seconds: 3600 }),
    )
    const issuer = toIssuer(sample)
    const rows: DurableRow[] = [await benchAppend(directory)]
    for (const [i, store] of (['SQLite', 'PostgreSQL'] as const).entries()) {
      onProgress(`exchanges and revocations, ${store}`, i, 2)
      const database = store === 'SQLite' ? {} : { databaseUrl: await postgres.createDatabase() }
      const ours = await startServer('ours', {
        dataDir: join(directory, `durable-${i}`),
        issuer,
        ...database,
      })
      try {
        rows.push(...(await sustain(store, ours, load, bodies, options)))
      } finally {
        await ours.stop()
      }
    }
    return { rows, verdicts: verdictsOn(rows) }
  } finally {
    await load.stop()
    await postgres.stop()
  }
}

async function sustain(
  store: string,
  ours: ServerProcess<'ours'>,
  load: Load,
  bodies: readonly string[],
  { sustainMs = 4000 }: BenchDurableOptions,
): Promise<DurableRow[]> {
  const exchanges = bodies.map((body) => post(ours, '/api/auth/exchange-proof', '', body))
  const key = `X-API-Key: ${ours.ready.apiKey}\r\n`
  const revocations = Array.from({ length: USERS }, (_, n) =>
    post(
      ours,
      '/api/wallet/revoke-user',
      key,
      JSON.stringify({ ppid: `did:service:ppid_bench${String(n).padStart(46, '0')}`, site_id: SITE }),
    ),
  )
  const rows: DurableRow[] = []
  const middle = revocations.length / 2
  for (const [name, connections, requests, once] of [
    [`exchange, ${store}`, CONNECTIONS, exchanges, false],
    [`exchange, ${store}`, 1, exchanges, false],
    [`revoke user, ${store}`, CONNECTIONS, revocations.slice(0, middle), true],
    [`revoke user, ${store}`, 1, revocations.slice(middle), true],
  ] as const) {
    const target = await load.target({ port: ours.ready.port, connections, requests, once })
    await target.sustain(sustainMs / 4)
    const { count, ms, p50Ms, p99Ms } = await target.sustain(sustainMs)
    rows.push({ name, connections, perSecond: (count * 1000) / ms, p50Ms, p99Ms })
  }
  return rows
}

/**
 * What the disk can do: the milliseconds of one small append after the other, each synced. After
 * pauses they take longer, because the processor and the disk have to wake up.
 */
export async function syncedAppends(directory: string, count: number, pauseMs = 0): Promise<number[]> {
  const file = openSync(join(directory, 'append'), 'w')
  const bytes = Buffer.alloc(512, 1)
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    if (pauseMs > 0) await sleep(pauseMs)
    const start = performance.now()
    writeSync(file, bytes)
    fdatasyncSync(file)
    times.push(performance.now() - start)
  }
  closeSync(file)
  return times
}

async function benchAppend(directory: string): Promise<DurableRow> {
  const times = await syncedAppends(directory, SYNCS)
  const all = times.reduce((sum, ms) => sum + ms, 0)
  return {
    name: 'append and fdatasync, bare',
    connections: 1,
    perSecond: (SYNCS * 1000) / all,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  }
}

function verdictsOn(rows: readonly DurableRow[]): Verdict[] {
  const rate = (name: string) =>
    required(rows.find((row) => row.name === name && row.connections === CONNECTIONS)).perSecond
  return (['SQLite', 'PostgreSQL'] as const).flatMap((store) => [
    atLeast(`exchange ≥ 300/s on ${store}, every commit synced`, 300, rate(`exchange, ${store}`)),
    atLeast(`revoke ≥ 200/s on ${store}, every commit synced`, 200, rate(`revoke user, ${store}`)),
    atMost(
      `revoke on ${store}, one connection, p50 ≤ ${ONE_MS_MAX[store]} ms beyond the sync`,
      ONE_MS_MAX[store],
      required(rows.find((row) => row.name === `revoke user, ${store}` && row.connections === 1)).p50Ms -
        required(rows[0]).p50Ms,
    ),
  ])
}
