import { mkdirSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readMasterKey } from '../../packages/service/src/keys/master-key.ts'
import { createSample } from '../sample.ts'
import { toIssuer } from '../service-http.ts'
import { atMost, type Verdict } from '../verdict.ts'
import { type Cost, runCommand } from './commands.ts'
import { generateStore } from './generate.ts'
import { benchPostgres, type PostgresRow, type Stage } from './measure-postgres.ts'
import { measureService, measureStart, type ServiceCost, type StartCost } from './measure-service.ts'

/** A store with so many revocations. Sizes are bytes. */
export interface GrowthRow extends ServiceCost {
  readonly revocations: number
  readonly bytes: number
  /** After the service has written its checkpoint. */
  readonly bytesWithCheckpoint: number
  /** Without a checkpoint. */
  readonly firstStart: StartCost
  readonly auditLog: Cost
  readonly backup: Cost
  readonly newEpoch: Cost
  readonly restore: Cost
  readonly bytesAfterNewEpoch: number
  /** Bytes of memory for each revocation more than in the smallest store. */
  readonly viewBytesEach: number | undefined
  readonly guardBytesEach: number | undefined
}

export interface GrowthResult {
  readonly rows: readonly GrowthRow[]
  readonly postgres: readonly PostgresRow[]
  readonly verdicts: readonly Verdict[]
}

export interface BenchGrowthOptions {
  readonly sizes?: readonly number[]
  readonly postgresSizes?: readonly number[]
  readonly verifiers?: number
  readonly years?: number
  readonly onProgress?: (what: string, done: number, all: number) => void
}

/** What a store costs that has 10³, 10⁴, … revocations of ten years. */
export async function benchGrowth({
  sizes = [1000, 10_000, 100_000, 1_000_000],
  postgresSizes = [],
  verifiers = 200,
  years = 10,
  onProgress = () => {},
}: BenchGrowthOptions = {}): Promise<GrowthResult> {
  const sample = await createSample(Date.now())
  const directory = await mkdtemp(join(tmpdir(), 'countersign-growth-'))
  const stage = { directory, sample, years, verifiers, onProgress }
  try {
    const rows: GrowthRow[] = []
    for (const size of sizes) rows.push(await measureSqlite(stage, size, rows[0]))
    const postgres = postgresSizes.length === 0 ? [] : await benchPostgres(stage, postgresSizes)
    return { rows, postgres, verdicts: growthVerdicts(rows) }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** With fewer, the memory of everything else differs more than that of the revocations. */
const COUNTED_MIN = 100_000

/** Each verifier may have 32 snapshots under way with one key. */
const VERIFIERS_PER_KEY = 25

async function measureSqlite(
  stage: Stage,
  revocations: number,
  smallest: GrowthRow | undefined,
): Promise<GrowthRow> {
  const { directory, sample, years, verifiers, onProgress } = stage
  const dataDir = join(directory, String(revocations))
  mkdirSync(dataDir, { mode: 0o700 })
  const file = join(dataDir, 'countersign.db')
  const issuer = toIssuer(sample)
  const masterKey = readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'development' })
  await generateStore({
    place: { kind: 'sqlite', file },
    ...{ masterKey, revocations, years, issuer },
    onProgress: (done, all) => onProgress('writing revocations', done, all),
  })
  const bytes = statSync(file).size
  onProgress('starting with revocations', 0, revocations)
  const options = { dataDir, issuer, keys: Math.ceil(verifiers / VERIFIERS_PER_KEY) }
  const firstStart = await measureStart(options)
  const bytesWithCheckpoint = statSync(file).size
  onProgress('serving revocations', 0, revocations)
  const service = await measureService(options, { verifiers, label: String(revocations) })
  onProgress('commands with revocations', 0, revocations)
  const run = (...words: string[]) => runCommand([...words, '--data-dir', dataDir])
  const auditLog = await run('audit-log')
  const copy = join(directory, `${revocations}.backup`)
  const backup = await run('backup', copy)
  const newEpoch = await run('new-epoch', '--no-input')
  const bytesAfterNewEpoch = statSync(file).size
  const restore = await run('restore', copy, '--yes')
  await rm(copy)
  await rm(dataDir, { recursive: true })
  const each = (held: number, least: number | undefined) =>
    smallest && least && revocations >= COUNTED_MIN
      ? (held - least) / (revocations - smallest.revocations)
      : undefined
  return {
    ...{ revocations, bytes, bytesWithCheckpoint, firstStart, ...service },
    ...{ auditLog, backup, newEpoch, restore, bytesAfterNewEpoch },
    viewBytesEach: each(service.heldBytes, smallest?.heldBytes),
    guardBytesEach: each(service.guard.heldBytes, smallest?.guard.heldBytes),
  }
}

function growthVerdicts(rows: readonly GrowthRow[]): Verdict[] {
  const million = rows.find(({ revocations }) => revocations === 1_000_000)
  if (million === undefined) return []
  const { start, guard, snapshot, crowd, viewBytesEach = 0, guardBytesEach = 0 } = million
  return [
    atMost('a million revocations: service ready ≤ 4 s', 4, start.seconds),
    atMost('a million revocations: guard ready ≤ 5 s', 5, guard.seconds),
    atMost(
      `${crowd.verifiers} snapshots at once ≤ 2 times the CPU time of one`,
      2,
      crowd.cpuSeconds / snapshot.cpuSeconds,
    ),
    atMost('memory of a revocation in the service ≤ 30 bytes', 30, viewBytesEach),
    atMost('memory of a revocation in a guard ≤ 30 bytes', 30, guardBytesEach),
  ]
}
