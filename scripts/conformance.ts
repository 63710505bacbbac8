import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../packages/service/test/store/postgres-server.ts'
import { type CaseResult, judge, readExcluded } from './conformance-list.ts'
import { startDevProcess } from './dev-process.ts'

/**
 * Runs a conformance client against the development start: `npm run conformance -- <its run.mjs>`.
 * Without a path it is looked for beside the checkout. Every case is run, also the excluded ones,
 * so that those which pass can be named. `--store postgres` does it on a PostgreSQL that is started
 * for it, `--store all` once on each store.
 */
const STORES = ['sqlite', 'postgres'] as const
const ROOT = join(import.meta.dirname, '..')
const BESIDE = resolve(ROOT, '../shared/conformance/run.mjs')

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    excluded: { type: 'string', default: join(ROOT, 'test/conformance-excluded.txt') },
    store: { type: 'string', default: 'sqlite' },
  },
})
const client = positionals[0] === undefined ? BESIDE : resolve(positionals[0])
const stores = STORES.filter((name) => values.store === name || values.store === 'all')
// Said by itself: what the embedded PostgreSQL leaves behind would end the process with 0.
process.exit(await main())

async function main(): Promise<number> {
  if (stores.length === 0) {
    console.error(`--store must be ${STORES.join(', ')} or all`)
    return 2
  }
  if (existsSync(client)) return runAll()
  if (positionals.length > 0) {
    console.error(`There is no ${positionals[0]}.`)
    return 2
  }
  console.log(
    'conformance: not run, for there is no client beside this checkout. Name one: npm run conformance -- <run.mjs>',
  )
  return 0
}

async function runAll(): Promise<number> {
  let worst = 0
  for (const store of stores) {
    if (stores.length > 1) console.log(`on ${store === 'sqlite' ? 'SQLite' : 'PostgreSQL'}:`)
    worst = Math.max(worst, await (store === 'sqlite' ? run() : runOnPostgres()))
  }
  return worst
}

async function runOnPostgres(): Promise<number> {
  const server = await startPostgres()
  try {
    return await run(await server.createDatabase())
  } finally {
    await server.stop()
  }
}

async function run(databaseUrl?: string): Promise<number> {
  const excluded = readExcluded(readFileSync(values.excluded, 'utf8'))
  const scratch = mkdtempSync(join(tmpdir(), 'countersign-conformance-'))
  try {
    const service = await startDevProcess({
      dataDir: join(scratch, 'data'),
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    })
    const verdict = await examine(scratch, excluded).finally(() => service.stop())
    const code = await service.stop()
    if (code !== 0) console.error(`The service ended with ${code}:\n${service.output()}`)
    return code === 0 ? verdict : 1
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

async function examine(scratch: string, excluded: ReadonlyMap<string, string>): Promise<number> {
  const file = join(scratch, 'results.json')
  const { code, printed } = await runClient(join(scratch, 'data/dev.json'), file)
  const { results = [] } = existsSync(file)
    ? (JSON.parse(readFileSync(file, 'utf8')) as { results?: CaseResult[] })
    : {}
  if (results.length > 0) return report(results, excluded, printed)
  console.error(`The client ended with ${code} and no results:\n${printed}`)
  return 1
}

/** Its exit code counts for nothing here: it fails for excluded cases too. */
async function runClient(dev: string, results: string): Promise<{ code: number | null; printed: string }> {
  const child = spawn(process.execPath, [client, '--dev', dev, '--json', results], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (piece: Buffer) => (printed += piece))
  const code = await new Promise<number | null>((done, fail) => child.once('error', fail).once('close', done))
  return { code, printed }
}

function report(
  results: readonly CaseResult[],
  excluded: ReadonlyMap<string, string>,
  printed: string,
): number {
  const { passed, failed, skipped, excused, stale, unknown } = judge(results, excluded)
  for (const { id, title, message } of failed) console.log(`FAIL ${id} ${title}\n       ${message ?? ''}`)
  for (const { id, title, message } of skipped) console.log(`skip ${id} ${title}: ${message ?? ''}`)
  if (stale.length > 0) console.log(`Passing, so no longer to be excluded: ${stale.join(' ')}`)
  if (unknown.length > 0) console.log(`Excluded, but the client has no such case: ${unknown.join(' ')}`)
  console.log(printed.trimEnd().split('\n').at(-1))
  console.log(
    `of what is built so far: ${passed} of ${passed + failed.length} passed; ${excused} excluded cases did not pass`,
  )
  return failed.length === 0 && passed > 0 ? 0 : 1
}
