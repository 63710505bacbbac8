import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

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
/** Vitest names a bundle of it, which starts faster. */
const FLAGS = ['--conditions=countersign-source', process.env.TEST_MAIN ?? main]

/** Starts the command as a process of its own, with nothing of this one's environment. */
export function start(
  argv: readonly string[],
  { cwd = import.meta.dirname, env = {}, input }: RunOptions = {},
): Running {
  const child: ChildProcessByStdio<Writable, Readable, Readable> = spawn(
    process.execPath,
    [...FLAGS, ...argv],
    {
      cwd,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: process.env.HOME ?? '',
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
        ...env,
      },
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

/** Runs the command to its end. */
export function countersign(argv: readonly string[], options?: RunOptions): Promise<Ended> {
  return start(argv, options).ended
}
