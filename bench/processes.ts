import { type ChildProcess, fork } from 'node:child_process'
import type { ListenOrder, ListenReply } from './listeners.ts'
import type { LoadOrder, LoadOutcome, LoadReply, LoadTarget } from './load.ts'
import type { Ready, ServerName, ServerOptions, ServerReply, Usage } from './servers/server.ts'

/** A server in a process of its own. */
export interface ServerProcess<Name extends ServerName = ServerName> {
  readonly ready: Ready<Name>
  /** From the start of the process to its readiness. */
  readonly startMs: number
  usage(garbage?: 'collected'): Promise<Usage>
  stop(): Promise<void>
}

/** Requests sent from a process of its own. */
export interface Load {
  target(target: LoadTarget): Promise<Target>
  stop(): Promise<void>
}

export interface Target {
  /** So many requests over all connections. */
  run(times: number): Promise<LoadOutcome>
  /** As many as it can for so long. */
  sustain(ms: number): Promise<LoadOutcome>
}

/** Starts one server. Rejects when it ends before it is ready. */
export async function startServer<Name extends ServerName>(
  name: Name,
  options: ServerOptions[Name],
): Promise<ServerProcess<Name>> {
  const startedMs = performance.now()
  const child = start('./serve.ts', [name, JSON.stringify(options)])
  const first = (await reply(child)) as ServerReply<Name>
  if (!('ready' in first)) throw new Error(`${name} could not be started`)
  return {
    ready: first.ready,
    startMs: performance.now() - startedMs,
    async usage(garbage) {
      child.send(garbage === undefined ? 'usage' : 'usage, collected')
      return (await reply(child)) as Usage
    },
    stop: () => stop(child),
  }
}

/** Starts the process that sends. Only one of its targets may be busy at a time. */
export async function startLoad(): Promise<Load> {
  const child = start('./load.ts', [])
  const ask = async (order: LoadOrder): Promise<LoadOutcome | undefined> => {
    child.send(order)
    const answer = (await reply(child)) as LoadReply
    if ('fault' in answer) throw new Error(answer.fault)
    return answer.outcome
  }
  let ids = 0
  return {
    async target(target) {
      const id = ids++
      await ask({ kind: 'target', id, target })
      return {
        run: async (times) => (await ask({ kind: 'run', id, times })) as LoadOutcome,
        sustain: async (ms) => (await ask({ kind: 'sustain', id, ms })) as LoadOutcome,
      }
    },
    stop: () => stop(child),
  }
}

/** Many who listen, and one who tells, in a process of their own. */
export interface Listeners {
  listen(
    group: string,
    target: { readonly port: number; readonly openings: readonly string[]; readonly greeting: string },
  ): Promise<void>
  /** Tells it once, and says how long each of the group took to hear of it, in milliseconds. */
  tell(
    group: string,
    telling: { readonly port: number; readonly text: string; readonly mark: string },
  ): Promise<readonly number[]>
  leave(group: string): Promise<void>
  stop(): Promise<void>
}

export async function startListeners(): Promise<Listeners> {
  const child = start('./listeners.ts', [])
  const ask = async (order: ListenOrder): Promise<readonly number[]> => {
    child.send(order)
    const answer = (await reply(child)) as ListenReply
    if ('fault' in answer) throw new Error(answer.fault)
    return answer.heardMs
  }
  return {
    listen: async (group, target) => void (await ask({ kind: 'listen', group, ...target })),
    tell: (group, telling) => ask({ kind: 'tell', group, ...telling }),
    leave: async (group) => void (await ask({ kind: 'leave', group })),
    stop: () => stop(child),
  }
}

/**
 * What these processes write matters only when they fail: their output goes nowhere, their
 * complaints to ours.
 */
function start(file: string, args: readonly string[]): ChildProcess {
  return fork(new URL(file, import.meta.url), args, {
    execArgv: ['--conditions=countersign-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  })
}

function reply(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const done = () => child.off('message', onMessage).off('exit', onExit)
    const onMessage = (message: unknown) => {
      done()
      resolve(message)
    }
    const onExit = (code: number | null) => {
      done()
      reject(new Error(`a process of the benchmark ended with ${code}`))
    }
    child.on('message', onMessage).on('exit', onExit)
  })
}

/** A process that loses its parent ends by itself. */
function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.disconnect()
  })
}
