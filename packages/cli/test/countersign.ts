import { type ChildProcessByStdio, fork, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { expect } from 'vitest'
import type { HostedCommand, HostedResult } from './command-host.ts'

export interface Ended {
  readonly code: number | null
  /** What went to the standard output. */
  readonly out: string
  readonly err: string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the command printed.
  json(): any
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** What the standard input holds; nothing when absent. */
  readonly input?: string
}

export interface Running {
  readonly ended: Promise<Ended>
  /**
   * Resolves once this has been printed, on either stream. Rejects when the process ends before.
   */
  until(words: string): Promise<void>
  kill(signal: NodeJS.Signals): void
}

export const main = join(import.meta.dirname, '../src/main.ts')
/** What Node runs: Vitest names a bundle of the command line, which starts faster. */
export const program = ['--conditions=countersign-source', process.env.TEST_MAIN ?? main]

/** Starts the command as a process of its own, with nothing of this one's environment. */
export function start(
  argv: readonly string[],
  { cwd = import.meta.dirname, env = {}, input }: RunOptions = {},
): Running {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [...program, ...argv],
    {
      cwd,
      env: { ...ownEnvironment(), ...env },
    },
  )
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const seen = { out: '', err: '' }
  const listeners = new Set<() => void>()
  for (const [name, stream] of [
    ['out', child.stdout],
    ['err', child.stderr],
  ] as const) {
    stream.on('data', (bytes: Buffer) => {
      seen[name] += bytes
      for (const listener of listeners) listener()
    })
  }
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code) => {
      process.off('exit', abandon)
      resolve({ code, ...seen, json: () => JSON.parse(seen.out) })
    }),
  )
  const until = (words: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => (seen.out + seen.err).includes(words) && resolve()
      listeners.add(look)
      look()
      void ended.then(({ code, out, err }) =>
        reject(new Error(`ended with ${code} before it printed ${words}: ${out}${err}`)),
      )
    })
  return { ended, until, kill: (signal) => void child.kill(signal) }
}

/** Runs the command to its end, as a process of its own. */
export function runProcess(argv: readonly string[], options?: RunOptions): Promise<Ended> {
  return start(argv, options).ended
}

/**
 * Runs the command to its end. Commands share a process for each directory, which loads their
 * modules once; only one with input has a process of its own.
 */
export function countersign(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { cwd = import.meta.dirname, env = {}, input } = options
  return input === undefined ? findHost(cwd).run(argv, env) : runProcess(argv, options)
}

interface Host {
  run(argv: readonly string[], env: Readonly<Record<string, string>>): Promise<Ended>
  /** Fails if a command has left something open, or has printed past its terminal. */
  end(): Promise<void>
}

const HOST = process.env.TEST_COMMAND_HOST ?? join(import.meta.dirname, 'command-host.ts')
const hosts = new Map<string, Host>()

/** After each file of tests: `countersign.setup.ts` calls it. */
export async function endHosts(): Promise<void> {
  const ending = [...hosts.values()].map((host) => host.end())
  hosts.clear()
  await Promise.all(ending)
}

function findHost(cwd: string): Host {
  const host = hosts.get(cwd) ?? startHost(cwd)
  hosts.set(cwd, host)
  return host
}

function startHost(cwd: string): Host {
  const own = ownEnvironment()
  const child = fork(HOST, { cwd, env: own, silent: true, execArgv: ['--conditions=countersign-source'] })
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (bytes: Buffer) => {
      printed += bytes
    })
  const waiting = new Map<number, (result: HostedResult) => void>()
  child.on('message', (result: HostedResult) => {
    waiting.get(result.id)?.(result)
    waiting.delete(result.id)
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve)).finally(() =>
    process.off('exit', abandon),
  )
  let commands = 0
  return {
    run(argv, env) {
      const id = ++commands
      const result = new Promise<Ended>((resolve, reject) => {
        waiting.set(id, ({ code, out, err }) => resolve({ code, out, err, json: () => JSON.parse(out) }))
        void ended.then((code) => reject(new Error(`the process ended with ${code}: ${printed}`)))
      })
      child.send({ id, argv, env: { ...own, ...env } } satisfies HostedCommand)
      return result
    },
    async end() {
      if (child.connected) child.send('end')
      expect([await ended, printed], 'all commands together').toEqual([0, ''])
    },
  }
}

/** Nothing of this process but what Node itself needs. */
export function ownEnvironment(): Record<string, string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, HOME, NODE_COMPILE_CACHE }
}
