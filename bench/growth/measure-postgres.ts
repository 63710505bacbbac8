import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { readMasterKey } from '../../packages/service/src/keys/master-key.ts'
import { connect, queryWith } from '../../packages/service/src/store/postgres/connect.ts'
import { startOwnPostgres } from '../../packages/service/test/store/postgres-server.ts'
import type { Sample } from '../sample.ts'
import { toIssuer } from '../service-http.ts'
import { type Cost, runCommand } from './commands.ts'
import { generateStore } from './generate.ts'
import { measureStart, type StartCost } from './measure-service.ts'

/** The same on PostgreSQL, as far as it differs. */
export interface PostgresRow {
  readonly revocations: number
  readonly firstStart: StartCost
  readonly start: StartCost
  readonly auditLog: Cost
  readonly newEpoch: Cost
  /** The start after the database was promoted or restored, with its new epoch. */
  readonly failOver: StartCost
}

export interface Stage {
  readonly directory: string
  readonly sample: Sample
  readonly years: number
  readonly verifiers: number
  readonly prepared: string | undefined
  readonly onProgress: (what: string, done: number, all: number) => void
}

/** Starts a server with ordinary settings and measures a database for each size. */
export async function benchPostgres(
  stage: Stage,
  sizes: readonly number[],
  onRow: (row: PostgresRow) => void,
): Promise<PostgresRow[]> {
  const postgres = await startOwnPostgres(['-c', 'shared_buffers=256MB', '-c', 'max_wal_size=4GB'])
  try {
    const rows: PostgresRow[] = []
    for (const size of sizes) {
      const row = await measurePostgres(stage, postgres, size)
      rows.push(row)
      onRow(row)
    }
    return rows
  } finally {
    await postgres.stop()
  }
}

async function measurePostgres(
  { directory, sample, years, onProgress }: Stage,
  postgres: Awaited<ReturnType<typeof startOwnPostgres>>,
  revocations: number,
): Promise<PostgresRow> {
  const dataDir = join(directory, `postgres-${revocations}`)
  mkdirSync(dataDir, { mode: 0o700 })
  const issuer = toIssuer(sample)
  const masterKey = readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'development' })
  const url = await postgres.createDatabase()
  await generateStore({
    place: { kind: 'postgres', url },
    ...{ masterKey, revocations, years, issuer },
    onProgress: (done, all) => onProgress('writing revocations to PostgreSQL', done, all),
  })
  onProgress('starting on PostgreSQL with revocations', 0, revocations)
  const options = { dataDir, databaseUrl: url, issuer }
  const firstStart = await measureStart(options)
  const start = await measureStart(options)
  const run = (...words: string[]) =>
    runCommand([...words, '--data-dir', dataDir], { COUNTERSIGN_DATABASE_URL: url })
  const auditLog = await run('audit-log')
  const newEpoch = await run('new-epoch', '--no-input')
  // The database of a promoted standby has another lineage than the log says.
  await postgres.restartAsStandby()
  await promote(url)
  const failOver = await measureStart(options)
  return { revocations, firstStart, start, auditLog, newEpoch, failOver }
}

/** Promotes a standby, and waits until it accepts writes. */
async function promote(url: string): Promise<void> {
  const sql = connect({ url, max: 1 })
  const query = queryWith(sql)
  try {
    await query('SELECT pg_promote()')
    const isStandby = async () => (await query('SELECT pg_is_in_recovery() AS waiting'))[0]?.waiting
    while (await isStandby()) await sleep(100)
  } finally {
    await sql.end()
  }
}
