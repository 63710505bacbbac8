import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A script of a test in a process of its own, which ends with this one at the latest. */
export interface Forked {
  readonly child: ChildProcess
  /** Its first message, with which it says that it is ready. */
  readonly first: unknown
  /** Rejects when the process ends. */
  readonly ended: Promise<never>
  stop(): Promise<void>
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Starts the script with these options, and waits for its first message. */
export async function startForked(script: URL, options: object): Promise<Forked> {
  const child = fork(script, {
    execArgv: ['--conditions=countersign-source', '--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      TEST_OPTIONS: JSON.stringify(options),
    },
  })
  running.add(child)
  const gone = once(child, 'exit')
  const ended = gone.then(([code]) => {
    throw new Error(`${script.pathname} ended with ${code}`)
  })
  // A process that a test stops has ended without fault.
  ended.catch(() => {})
  const [first] = await Promise.race([once(child, 'message'), ended])
  return {
    child,
    first,
    ended,
    async stop() {
      running.delete(child)
      child.kill('SIGKILL')
      await gone
    },
  }
}

/** The options that a forked script was started with. */
export function readForkOptions<Options>(): Options {
  process.once('disconnect', () => process.exit(0))
  return JSON.parse(process.env.TEST_OPTIONS ?? '{}')
}
