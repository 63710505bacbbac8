import { existsSync, mkdirSync, statSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readMasterKey } from '../../packages/service/src/keys/master-key.ts'
import { openForReading } from '../../packages/service/src/store/sqlite/connection.ts'
import { createSample, required } from '../sample.ts'
import type { OursOptions } from '../servers/server.ts'
import { toIssuer } from '../service-http.ts'
import { atMost, type Verdict } from '../verdict.ts'
import { type Cost, runCommand } from './commands.ts'
import { generateStore } from './generate.ts'
import { benchPostgres, type PostgresRow, type Stage } from './measure-postgres.ts'
import {
  measureService,
  measureStart,
  measureStartAndSnapshot,
  type ServiceCost,
  type StartCost,
} from './measure-service.ts'
import type { SnapshotCost } from './snapshots.ts'

/** A store with so many revocations. Sizes are bytes. */
export interface GrowthRow extends ServiceCost {
  readonly revocations: number
  readonly bytes: number
  /** After the service has written its checkpoint. */
  readonly bytesWithCheckpoint: number
  /** Without a checkpoint. */
  readonly firstStart: StartCost
  /** Undefined for stores that are larger than a million. */
  readonly commands: CommandCosts | undefined
  /** Bytes of memory for each revocation more than in the smallest store. */
  readonly viewBytesEach: number | undefined
  readonly guardBytesEach: number | undefined
}

interface CommandCosts {
  readonly auditLog: Cost
  readonly backup: Cost
  readonly newEpoch: Cost
  readonly restore: Cost
  readonly bytesAfterNewEpoch: number
  /** Undefined before there was such a command. */
  readonly cut: CutCost | undefined
}

/** The same store after entries older than 396 days were removed. */
interface CutCost extends Cost {
  /** Of the file without its free pages, which later rows fill. */
  readonly bytes: number
  readonly start: StartCost
  readonly snapshot: SnapshotCost
  readonly guard: Cost
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
  /** A directory with data directories that were generated before, each named by its size. */
  readonly prepared?: string | undefined
  readonly onProgress?: (what: string, done: number, all: number) => void
  /** Called with each row when it is complete: the next one may take long. */
  readonly onRow?: (row: GrowthRow | PostgresRow) => void
}

/** What a store costs that has 10³, 10⁴, … revocations of ten years. */
export async function benchGrowth({
  sizes = [1000, 10_000, 100_000, 1_000_000],
  postgresSizes = [],
  verifiers = 200,
  years = 10,
  prepared,
  onProgress = () => {},
  onRow = () => {},
}: BenchGrowthOptions = {}): Promise<GrowthResult> {
  const sample = await createSample(Date.now())
  const directory = await mkdtemp(join(tmpdir(), 'countersign-growth-'))
  const stage = { directory, sample, years, verifiers, prepared, onProgress }
  try {
    const rows: GrowthRow[] = []
    for (const size of sizes) {
      const row = await measureSqlite(stage, size, rows[0])
      rows.push(row)
      onRow(row)
    }
    const postgres = postgresSizes.length === 0 ? [] : await benchPostgres(stage, postgresSizes, onRow)
    return { rows, postgres, verdicts: growthVerdicts(rows) }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** With fewer, the memory of everything else differs more than that of the revocations. */
const COUNTED_MIN = 100_000

/** With more, each command would take minutes. */
const COMMANDS_MAX = 1_000_000

/** Each verifier may have 32 snapshots under way with one key. */
const VERIFIERS_PER_KEY = 25

async function measureSqlite(
  stage: Stage,
  revocations: number,
  smallest: GrowthRow | undefined,
): Promise<GrowthRow> {
  const { directory, sample, verifiers, onProgress } = stage
  const dataDir = join(directory, String(revocations))
  const file = join(dataDir, 'countersign.db')
  const issuer = toIssuer(sample)
  await prepareStore(stage, dataDir, revocations)
  const bytes = statSync(file).size
  onProgress('starting with revocations', 0, revocations)
  const options = { dataDir, issuer, keys: Math.ceil(verifiers / VERIFIERS_PER_KEY) }
  const firstStart = await measureStart(options)
  const bytesWithCheckpoint = statSync(file).size
  onProgress('serving revocations', 0, revocations)
  const service = await measureService(options, { verifiers, label: String(revocations) })
  onProgress('commands with revocations', 0, revocations)
  const commands = revocations > COMMANDS_MAX ? undefined : await measureCommands(options)
  await rm(dataDir, { recursive: true })
  const each = (held: number, least: number | undefined) =>
    smallest && least && revocations >= COUNTED_MIN
      ? (held - least) / (revocations - smallest.revocations)
      : undefined
  return {
    ...{ revocations, bytes, bytesWithCheckpoint, firstStart, ...service, commands },
    viewBytesEach: each(service.heldBytes, smallest?.heldBytes),
    guardBytesEach: each(service.guard.heldBytes, smallest?.guard.heldBytes),
  }
}

/** Each command on the whole log, and then a cut of it. */
async function measureCommands(options: OursOptions): Promise<CommandCosts> {
  const { dataDir } = options
  const uncut = `${dataDir}-cut`
  await cp(dataDir, uncut, { recursive: true })
  const run = (...words: string[]) => runCommand([...words, '--data-dir', dataDir])
  const auditLog = await run('audit-log')
  const copy = `${dataDir}.backup`
  const backup = await run('backup', copy)
  const newEpoch = await run('new-epoch', '--no-input')
  const bytesAfterNewEpoch = statSync(join(dataDir, 'countersign.db')).size
  const restore = await run('restore', copy, '--yes')
  await rm(copy)
  const cut = await measureCut({ ...options, dataDir: uncut })
  await rm(uncut, { recursive: true })
  return { auditLog, backup, newEpoch, restore, bytesAfterNewEpoch, cut }
}

/** Copies a store that was prepared, or generates one. */
async function prepareStore(
  { sample, years, prepared, onProgress }: Stage,
  dataDir: string,
  revocations: number,
): Promise<void> {
  const found = prepared === undefined ? undefined : join(prepared, String(revocations))
  if (found !== undefined && existsSync(found)) return cp(found, dataDir, { recursive: true })
  mkdirSync(dataDir, { mode: 0o700 })
  await generateStore({
    place: { kind: 'sqlite', file: join(dataDir, 'countersign.db') },
    masterKey: readMasterKey({ text: undefined, file: undefined, dataDir, mode: 'development' }),
    ...{ revocations, years, issuer: toIssuer(sample) },
    onProgress: (done, all) => onProgress('writing revocations', done, all),
  })
}

async function measureCut(options: OursOptions): Promise<CutCost | undefined> {
  const cost = await runCommand(['cut-log', '--data-dir', options.dataDir]).catch(skipUnknown)
  if (cost === undefined) return undefined
  const bytes = countUsedBytes(join(options.dataDir, 'countersign.db'))
  return { ...cost, bytes, ...(await measureStartAndSnapshot(options)) }
}

/** For a comparison with an earlier version. */
function skipUnknown(fault: unknown): undefined {
  if (!(fault instanceof Error) || !fault.message.includes('ended with 2:')) throw fault
}

function countUsedBytes(file: string): number {
  const db = openForReading(file)
  const [pages, free, size] = ['page_count', 'freelist_count', 'page_size'].map((name) =>
    Number(db.pragma(name, { simple: true })),
  )
  db.close()
  return (required(pages) - required(free)) * required(size)
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
