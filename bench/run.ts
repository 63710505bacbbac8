/**
 * `npm run bench [-- --only verify,jwt,view,service,sdk,growth] [--json file]`: our figures beside
 * those of our peers, all from one run.
 *
 * How to read the tables
 * - The machine does not matter much; ratios do. "× raw" is how many bare Ed25519 verifications
 *   (`crypto.verify`, 64 bytes, key ready) one time costs. In each round everyone gets a slice of a
 *   few milliseconds, in a shuffled order, and between any two slices the bare verification runs:
 *   each is compared with the bare one just before and just after it. The figure is the median of
 *   these ratios.
 * - "spread" is how far apart the middle half of the ratios lies. That of the raw verification
 *   against itself shows how quiet the machine was: above 10 %, run again before you believe a
 *   small difference, and do not compare µs with another run.
 * - "quiet" is what the quickest tenth of the slices stayed below: nearly what the work takes when
 *   nothing disturbs it. Code that touches much memory suffers more from a busy neighbour than bare
 *   arithmetic does, so on a busy machine the quiet ratios are often the lower ones.
 * - "cold" starts from the text of the header and ends with a decision, every check included,
 *   against a real view of a log with 1,000 revocations. "warm" is the same for a header seen
 *   before: only the signature is not checked again. Both read the clocks on every call.
 * - Peers verify a token or credential of the same content and, as far as their format lets them,
 *   length. Each was shown a spoiled one first and had to refuse it. The cache of a peer remembers
 *   a verdict and looks at its times only; ours asks trust, site, scope and revocation again.
 * - "cold, step by step" is the difference between ever longer beginnings of the same way;
 *   "signature" should come to one raw verification.
 * - "service" is the whole thing over HTTP on loopback: each server in several processes of its
 *   own, one sender for all of them, 64 connections kept open. Slices of all processes alternate,
 *   with a slice of bare fastify between any two. "× bare" is the CPU time of bare fastify,
 *   answering the same body to the same request, to that of the server just before or after it: the
 *   median of each process, and of these medians; "between" are their lowest and highest. The
 *   settings are in `stage.ts`. "Cold" costs a signature for every server; how that compares with
 *   bare fastify says more about the machine than about the guard, so one raw verification behind
 *   fastify stands beside it. It includes what is recorded after the answers. The answers under
 *   "durable" were given when they were on disk, and "append and fdatasync" says what that disk can
 *   do.
 * - "revoke → clients" is from the request that revokes to the bytes at each of so many clients,
 *   the commit on disk included, after some thousand others. Plain sockets are the floor: the same
 *   bytes, written in one loop, without HTTP, store or anything to check. What one client waits for
 *   beyond the sync is without "append and fdatasync", one small append with the same pauses. "KB
 *   each" is what the server's process has grown by, without the young generation of V8, which has
 *   a fixed size.
 * - "guarded routes" are routes of a framework with the SDK's guard in front, for a credential that
 *   was seen before; "× bare" is against the same route without it.
 * - "growth" fills a store for each of `--sizes`, as ten years of revocations would, and shows what
 *   it costs: disk, start, snapshots, memory and commands. "first" is the start without a
 *   checkpoint, "later" what the service did after it was ready, until it had nothing left to do.
 *   `--postgres-sizes` does the same on PostgreSQL. `--verifiers` says how many verifiers fetch a
 *   snapshot at once. `--prepared` names a directory with stores that `bench/growth/generate.ts`
 *   has made before, each in a directory named by its size.
 * - "of the promises" says which of our goals held in this run. Nothing here fails: times are
 *   measured, never asserted.
 */
import { spawnSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { arch, cpus, loadavg } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Measured } from './measure.ts'
import { formatNumber, formatPercent, formatTable } from './table.ts'
import { formatVerdict, type Verdict } from './verdict.ts'

const SECTIONS = ['verify', 'jwt', 'view', 'service', 'sdk', 'growth'] as const
type Section = (typeof SECTIONS)[number]

interface Report {
  readonly text: string
  readonly verdicts: readonly Verdict[]
  readonly json: unknown
}

const reports: Readonly<Record<Section, (options: Options) => Promise<Report>>> = {
  verify: reportVerify,
  jwt: reportJwt,
  view: reportView,
  service: reportService,
  sdk: reportSdk,
  growth: reportGrowth,
}

async function reportVerify(): Promise<Report> {
  const { benchVerify } = await import('./verify.ts')
  const result = await benchVerify({ onProgress: showProgress })
  const rows = formatMeasured('verify', result.rows)
  const steps = formatTable(result.steps, [
    { title: 'cold, step by step', text: ({ name }) => name },
    { title: 'quiet µs', align: 'right', text: ({ quietUs }) => formatNumber(quietUs) },
    { title: '× raw', align: 'right', text: ({ quietRatio }) => formatNumber(quietRatio) },
  ])
  const bytes =
    result.bytesPerEntry === undefined
      ? 'remembered signatures: memory was not measured, which needs node --expose-gc'
      : `remembered signatures: ${formatNumber(result.bytesPerEntry)} bytes per entry at 50,000, the table included`
  return {
    text: [rows, steps, bytes].join('\n\n'),
    verdicts: result.verdicts,
    json: result,
  }
}

async function reportJwt(): Promise<Report> {
  const { benchJwt } = await import('./jwt.ts')
  const result = await benchJwt({ onProgress: showProgress })
  return { text: formatMeasured('access tokens', result.rows), verdicts: result.verdicts, json: result }
}

function formatMeasured(title: string, rows: readonly Measured[]): string {
  return formatTable(rows, [
    { title, text: ({ name }) => name },
    { title: 'µs', align: 'right', text: ({ us }) => formatNumber(us) },
    { title: '× raw', align: 'right', text: ({ ratio }) => formatNumber(ratio) },
    { title: 'spread', align: 'right', text: ({ spread }) => formatPercent(spread) },
    { title: 'quiet µs', align: 'right', text: ({ quietUs }) => formatNumber(quietUs) },
    { title: '× raw', align: 'right', text: ({ quietRatio }) => formatNumber(quietRatio) },
    { title: 'notes', text: ({ note }) => note },
  ])
}

async function reportView(): Promise<Report> {
  const { benchView } = await import('./view.ts')
  const { viewVerdicts } = await import('./view-verdicts.ts')
  showProgress('revocations', 0, 1)
  const rows = await benchView()
  const text = formatTable(rows, [
    { title: 'view', text: ({ name }) => name },
    { title: 'value', align: 'right', text: ({ value }) => formatNumber(value) },
    { title: 'unit', text: ({ unit }) => unit },
  ])
  return { text, verdicts: viewVerdicts(rows), json: rows }
}

async function reportService(): Promise<Report> {
  const { benchService } = await import('./service.ts')
  const { formatService } = await import('./service-tables.ts')
  const result = await benchService({ onProgress: showProgress })
  return { text: formatService(result), verdicts: result.verdicts, json: result }
}

async function reportSdk(): Promise<Report> {
  const { benchSdk, formatSdk } = await import('./sdk.ts')
  const result = await benchSdk({ onProgress: showProgress })
  return { text: formatSdk(result), verdicts: result.verdicts, json: result }
}

async function reportGrowth({ sizes, postgresSizes, verifiers, prepared }: Options): Promise<Report> {
  const { benchGrowth } = await import('./growth/growth.ts')
  const { formatGrowth } = await import('./growth/tables.ts')
  const result = await benchGrowth({
    ...(sizes && { sizes }),
    ...(postgresSizes && { postgresSizes }),
    ...(verifiers && { verifiers }),
    prepared,
    onProgress: showProgress,
    onRow: (row) => console.error(JSON.stringify(row)),
  })
  return { text: formatGrowth(result), verdicts: result.verdicts, json: result }
}

/** On a terminal only, and never where the tables go. */
function showProgress(what: string, done: number, all: number): void {
  if (process.stderr.isTTY)
    process.stderr.write(`\r\u001b[K${what}: ${done.toLocaleString('en')} of ${all.toLocaleString('en')}`)
}

function clearProgress(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
}

function readSections(only: string | undefined): readonly Section[] {
  if (only === undefined) return SECTIONS
  const names = only.split(',').map((name) => name.trim())
  const unknown = names.filter((name) => !SECTIONS.includes(name as Section))
  if (unknown.length > 0)
    throw new TypeError(`--only knows ${SECTIONS.join(', ')}; not ${unknown.join(', ')}`)
  return names as Section[]
}

interface Options {
  readonly sections: readonly Section[]
  readonly json: string | undefined
  /** Revocations of each store of `growth`. */
  readonly sizes: readonly number[] | undefined
  readonly postgresSizes: readonly number[] | undefined
  readonly verifiers: number | undefined
  readonly prepared: string | undefined
}

const HELP = `Usage: npm run bench -- [options]

Measures Countersign beside other projects, and prints tables. bench/README.md
explains them.

Options
  --only <sections>           some of ${SECTIONS.join(',')}
  --json <file>               where the figures go; default: bench/results/
  --sizes <numbers>           growth: revocations of each SQLite store
  --postgres-sizes <numbers>  growth: the same on PostgreSQL
  --verifiers <number>        growth: verifiers that load a snapshot at once
  --prepared <directory>      growth: stores that bench/growth/generate.ts made
  -h, --help                  print this help`

/** Undefined: only the help is wanted. Throws for options that are unknown or invalid. */
function readOptions(): Options | undefined {
  const string = { type: 'string' } as const
  const { values } = parseArgs({
    options: {
      ...{ only: string, json: string, sizes: string, 'postgres-sizes': string, verifiers: string },
      prepared: string,
      help: { type: 'boolean', short: 'h' },
    },
  })
  if (values.help) return undefined
  const toNumbers = (name: 'sizes' | 'postgres-sizes' | 'verifiers') => {
    const numbers = values[name]?.split(',').map(Number)
    if (numbers?.some((each) => !Number.isInteger(each) || each < 1))
      throw new TypeError(`--${name} needs whole numbers from 1 on, separated by commas`)
    return numbers
  }
  return {
    sections: readSections(values.only),
    json: values.json,
    sizes: toNumbers('sizes'),
    postgresSizes: toNumbers('postgres-sizes'),
    verifiers: toNumbers('verifiers')?.[0],
    prepared: values.prepared,
  }
}

/** The peers are not part of `npm ci`. */
function installPeers(): void {
  const script = join(import.meta.dirname, '../scripts/install-tools.ts')
  const { status } = spawnSync(process.execPath, [script, 'bench'], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

async function main(options: Options): Promise<void> {
  const { sections, json } = options
  const startedAt = new Date().toISOString()
  const cores = cpus()
  const machine = {
    node: process.version,
    arch: arch(),
    cpu: cores[0]?.model,
    cores: cores.length,
    loadAtStart: loadavg()[0],
  }
  console.log(
    `Node ${machine.node}, ${machine.arch}, ${machine.cores} cores, load ${formatNumber(machine.loadAtStart ?? 0)}\n`,
  )
  const results: Partial<Record<Section, unknown>> = {}
  const verdicts: Verdict[] = []
  for (const section of sections) {
    const report = await reports[section](options)
    clearProgress()
    console.log(`${report.text}\n`)
    results[section] = report.json
    verdicts.push(...report.verdicts)
  }
  console.log(['of the promises', ...verdicts.map((verdict) => `  ${formatVerdict(verdict)}`)].join('\n'))

  const file = json ?? new URL(`results/${startedAt.replaceAll(':', '-')}.json`, import.meta.url).pathname
  await mkdir(dirname(file), { recursive: true })
  await writeFile(
    file,
    `${JSON.stringify({ startedAt, machine: { ...machine, loadAtEnd: loadavg()[0] }, results, verdicts }, null, 2)}\n`,
  )
}

let options: Options | undefined
try {
  options = readOptions()
  if (options === undefined) console.log(HELP)
} catch (error) {
  console.error(`${error instanceof Error ? error.message : error}\nMore: npm run bench -- --help`)
  process.exitCode = 2
}
if (options !== undefined) {
  installPeers()
  await main(options)
}
