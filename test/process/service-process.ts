import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { freePort } from '../../packages/service/test/store/postgres-server.ts'

/**
 * A place where a service lives: its data, its database and its keys. It outlives the processes
 * that run in it.
 */
export interface ServiceHome {
  readonly dataDir: string
  /** The file of the store, when it is SQLite. */
  readonly file: string
  readonly databaseUrl: string | undefined
  readonly masterKey: string
  /** The same for all nodes, whatever their ports: that of the first. */
  readonly baseUrl: string
  readonly port: number
}

export interface ServiceProcess {
  /** Where this very process listens. */
  readonly url: string
  readonly pid: number
  /** From the start of the process until it said that it was ready. */
  readonly readyMs: number
  /** All that it has printed. */
  readonly output: () => string
  /** Its exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>
  /** Resolves when the process has gone; of SIGSTOP and SIGCONT, at once. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** As an operator stops it; killed when that takes too long. Resolves to its exit code. */
  stop(): Promise<number | null>
}

/** A service that made its own site and keys. */
interface FurnishedService extends ServiceProcess {
  readonly dev: DevFile
  /** Moves both of its clocks ahead. Its timers, and other processes, notice nothing of it. */
  passTime(ms: number): Promise<void>
}

const READY_MS_MAX = 120_000
const STOP_MS_MAX = 30_000
const SOURCE = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url))
/** Vitest names a bundle of it, which starts faster. */
const MAIN = pathToFileURL(process.env.TEST_MAIN ?? SOURCE)
const FURNISHED_SOURCE = fileURLToPath(new URL('./furnished-service.ts', import.meta.url))
const FURNISHED = pathToFileURL(process.env.TEST_FURNISHED ?? FURNISHED_SOURCE)

const running = new Set<ChildProcess>()
const homes = new Set<string>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
  for (const home of homes) rmSync(home, { recursive: true, force: true })
})

/** A home of its own on SQLite, or on the database of that URL. */
export async function createHome({
  databaseUrl,
}: {
  readonly databaseUrl?: string
} = {}): Promise<ServiceHome> {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-system-'))
  homes.add(directory)
  const dataDir = join(directory, 'data')
  const port = await freePort()
  return {
    dataDir,
    file: join(dataDir, 'countersign.db'),
    databaseUrl,
    masterKey: randomBytes(32).toString('hex'),
    baseUrl: `http://127.0.0.1:${port}`,
    port,
  }
}

/**
 * Lets the development start make a site, an issuer and keys in an empty home, stops it, and gives
 * what it wrote down.
 */
export async function furnish(home: ServiceHome): Promise<DevFile> {
  const node = await startService(home, { entry: 'dev' })
  await node.stop()
  return readDevFile(home)
}

/**
 * Starts a service that furnishes the empty home by itself, in half the time of `furnish` and
 * `startService`. It has the settings of production, unless it is for development.
 */
export async function startFurnished(
  home: ServiceHome,
  { isDevelopment = false, env = {} }: FurnishedOptions = {},
): Promise<FurnishedService> {
  const mode = isDevelopment ? 'development' : 'production'
  const started = await startProcess(home, { entry: FURNISHED, env: { ...env, TEST_MODE: mode } })
  const { child, ...service } = started
  return {
    ...service,
    dev: readDevFile(home),
    async passTime(ms) {
      const moved = once(child, 'message')
      child.send(ms)
      await moved
    },
  }
}

interface FurnishedOptions {
  readonly isDevelopment?: boolean
  readonly env?: Readonly<Record<string, string>>
}

function readDevFile({ dataDir }: ServiceHome): DevFile {
  return JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8')) as DevFile
}

export interface StartOptions {
  /** Default: the port of the home. */
  readonly port?: number
  readonly databaseUrl?: string
  /** A command of `countersign`, or a script of a test that takes the same settings. */
  readonly entry?: 'serve' | 'dev' | URL
  /** Resolve as soon as it listens, ready or not. */
  readonly readyOrNot?: boolean
  /** Settings beside those of the home, or in their place. */
  readonly env?: Readonly<Record<string, string>>
}

/**
 * Starts a real process of the service and waits until it is ready. Rejects with all it has printed
 * when it ends before that. A home without an embedded store gets one first, as `serve` does not
 * create it.
 */
export async function startService(home: ServiceHome, options: StartOptions = {}): Promise<ServiceProcess> {
  const { child: _, ...service } = await startProcess(home, options)
  return service
}

async function startProcess(
  home: ServiceHome,
  options: StartOptions,
): Promise<ServiceProcess & { readonly child: ChildProcess }> {
  const {
    port = home.port,
    databaseUrl = home.databaseUrl,
    entry = 'serve',
    readyOrNot = false,
    env = {},
  } = options
  if (entry === 'serve' && databaseUrl === undefined && !existsSync(home.file))
    await runCommand(home, ['migrate'])
  const [script, words] = typeof entry === 'string' ? [MAIN, [entry]] : [entry, []]
  const startedMs = performance.now()
  const child = spawnNode(script, words, {
    ...toEnvironment({ ...home, databaseUrl }),
    COUNTERSIGN_PORT: String(port),
    COUNTERSIGN_ADMIN_PORT: 'off',
    COUNTERSIGN_PROTECTED_SITE: 'demo.localhost',
    COUNTERSIGN_PROTECTED_SCOPE: 'orders:read',
    COUNTERSIGN_LOG_LEVEL: 'warn',
    // All clients have one address here.
    COUNTERSIGN_RATE_LIMIT_KEYLESS: '1000000/1',
    COUNTERSIGN_RATE_LIMIT_WRONG_KEY: '1000000/1',
    COUNTERSIGN_RATE_LIMIT_FAILED_PRESENTATION: '1000000/1',
    COUNTERSIGN_RATE_LIMIT_KEY: '1000000/1',
    // A machine that has much else to do is not an overloaded service.
    COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
    COUNTERSIGN_OVERLOAD_ACCEPT_DELAY_MS_MAX: '60000',
    ...env,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (output += bytes))
  let isOver = false
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      isOver = true
      running.delete(child)
      resolve(code)
    })
  })
  const url = `http://127.0.0.1:${port}`
  const kill = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await ended
  }
  while (!(await answers(`${url}/readyz`, readyOrNot))) {
    if (isOver) throw new Error(`the service ended with ${await ended} before it was ready:\n${output}`)
    if (performance.now() - startedMs > READY_MS_MAX) {
      await kill('SIGKILL')
      throw new Error(`the service was not ready in time:\n${output}`)
    }
    await pause(15)
  }
  return {
    child,
    url,
    pid: child.pid ?? 0,
    readyMs: performance.now() - startedMs,
    output: () => output,
    ended,
    kill,
    async stop() {
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      child.kill('SIGCONT')
      child.kill('SIGTERM')
      const code = await ended
      clearTimeout(timer)
      return code
    },
  }
}

/** What a command of the operator did. */
export interface RanCommand {
  readonly code: number | null
  readonly said: string
  readonly noted: string
}

/**
 * Runs `countersign` with the settings of the home, as an operator would in a shell, and waits for
 * its end.
 */
export function runCommand(
  home: ServiceHome,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<RanCommand> {
  const child = spawnNode(MAIN, argv, { ...toEnvironment(home), ...env })
  let [said, noted] = ['', '']
  child.stdout.on('data', (bytes: Buffer) => (said += bytes))
  child.stderr.on('data', (bytes: Buffer) => (noted += bytes))
  return new Promise((resolve) => {
    child.once('close', (code) => {
      running.delete(child)
      resolve({ code, said, noted })
    })
  })
}

function toEnvironment({ baseUrl, dataDir, masterKey, databaseUrl }: ServiceHome): Record<string, string> {
  return {
    COUNTERSIGN_BASE_URL: baseUrl,
    COUNTERSIGN_DATA_DIR: dataDir,
    COUNTERSIGN_MASTER_KEY: masterKey,
    ...(databaseUrl === undefined ? {} : { COUNTERSIGN_DATABASE_URL: databaseUrl }),
  }
}

function spawnNode(
  script: URL,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
): ChildProcessByStdio<null, Readable, Readable> {
  const child = spawn(
    process.execPath,
    ['--conditions=countersign-source', '--no-warnings', script.pathname, ...argv],
    {
      // Only the last has messages.
      stdio: ['ignore', 'pipe', 'pipe', script === FURNISHED ? 'ipc' : 'ignore'],
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...env },
    },
  ) as ChildProcessByStdio<null, Readable, Readable>
  running.add(child)
  return child
}

/** Ends every process that is still running, and removes every home. */
export async function cleanUp(): Promise<void> {
  await Promise.all(
    [...running].map((child) => {
      const gone = new Promise((resolve) => child.once('close', resolve))
      child.kill('SIGKILL')
      return gone
    }),
  )
  for (const home of homes) rmSync(home, { recursive: true, force: true })
  homes.clear()
}

async function answers(url: string, whatever: boolean): Promise<boolean> {
  try {
    const { status, body } = await fetch(url, { signal: AbortSignal.timeout(5000) })
    await body?.cancel()
    return whatever || status === 200
  } catch {
    return false
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
