import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DevFile } from '../packages/service/src/development/demo.ts'

/** The development service as a process of its own, on a free port. */
export interface DevProcess {
  readonly dev: DevFile
  /** What it has printed so far. */
  output(): string
  /** As Ctrl-C does. Resolves to the exit code; null when a signal ended it. */
  stop(): Promise<number | null>
}

export interface DevStart {
  /** Kept when it is given. Otherwise a new one, removed with the process. */
  readonly dataDir?: string
  /** Undefined: the embedded store. */
  readonly databaseUrl?: string
  /** Default: this very Node with the source of the development start, without npm between. */
  readonly command?: readonly [string, ...string[]]
}

const ROOT = join(import.meta.dirname, '..')
const START: readonly [string, ...string[]] = [
  process.execPath,
  '--conditions=countersign-source',
  // Vitest names a bundle of it, which starts faster.
  process.env.TEST_MAIN ?? 'packages/cli/src/main.ts',
  'dev',
]
const READY = 'Stop with Ctrl-C.'
const STOP_MS_MAX = 60_000

/** A machine that has much else to do is not an overloaded service. */
const UNHURRIED = {
  COUNTERSIGN_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '60000',
  COUNTERSIGN_OVERLOAD_ACCEPT_DELAY_MS_MAX: '60000',
}

/**
 * Starts it and waits until it serves. Rejects with what it printed when it ends before that. It
 * ends with its caller at the latest.
 */
export async function startDevProcess({
  dataDir,
  databaseUrl,
  command = START,
}: DevStart = {}): Promise<DevProcess> {
  const scratch = dataDir === undefined ? mkdtempSync(join(tmpdir(), 'countersign-dev-')) : undefined
  const data = dataDir ?? join(String(scratch), 'data')
  const [program, ...flags] = command
  // What another command starts is reached as a group, as Ctrl-C does it at a terminal.
  const isGroup = command !== START
  const child = spawn(program, [...flags, '--port', '0', '--data-dir', data], {
    cwd: ROOT,
    env: {
      ...ordinaryEnvironment(),
      ...UNHURRIED,
      ...(databaseUrl === undefined ? {} : { COUNTERSIGN_DATABASE_URL: databaseUrl }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isGroup,
  })
  const signal = (name: NodeJS.Signals) => (isGroup ? signalGroup(child, name) : void child.kill(name))
  const tidy = () => {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
  }
  const abandon = () => {
    signal('SIGKILL')
    tidy()
  }
  process.once('exit', abandon)
  let text = ''
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  }).finally(() => {
    process.off('exit', abandon)
    tidy()
  })
  const ready = new Promise<void>((resolve) => {
    const hear = (piece: Buffer) => {
      text += piece
      if (text.includes(READY)) resolve()
    }
    child.stdout.on('data', hear)
    child.stderr.on('data', hear)
  })
  await Promise.race([
    ready,
    ended.then((code) => {
      throw new Error(`the service ended with ${code} before it was ready: ${text}`)
    }),
  ])
  return {
    dev: JSON.parse(readFileSync(join(data, 'dev.json'), 'utf8')),
    output: () => text,
    stop: () => {
      signal('SIGINT')
      const late = setTimeout(() => signal('SIGKILL'), STOP_MS_MAX)
      return ended.finally(() => clearTimeout(late))
    },
  }
}

/**
 * The environment of this process without what it was told about itself: settings of a service,
 * npm's own variables, colours.
 */
export function ordinaryEnvironment(): NodeJS.ProcessEnv {
  const told = /^(?:COUNTERSIGN_|npm_|VITEST|NODE_OPTIONS$|PORT$|FORCE_COLOR$)/
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !told.test(name))),
    NO_COLOR: '1',
  }
}

/** Signals a process that was started as a group, and all that it started. */
export function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // All of it has gone already.
  }
}
