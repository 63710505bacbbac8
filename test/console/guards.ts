import { pathToFileURL } from 'node:url'
import type { JsonObject } from '@countersign/core'
import { credentialHeader } from '@countersign/core'
import type { GuardState } from '@countersign/sdk'
import { openProxy } from '../../packages/service/test/store/tcp-proxy.ts'
import { startForked } from '../process/forked.ts'
import type { GuardAnswer, GuardProcessOptions, GuardQuestion } from './guard-process.ts'

/** Guards in a process of their own, on a wire that can be cut. */
export interface GuardProcess {
  readonly names: readonly string[]
  /** What each guard decides about the credential: `allowed`, or the code of the denial. */
  decide(credential: object): Promise<Readonly<Record<string, string>>>
  state(): Promise<Readonly<Record<string, GuardState>>>
  /** Moves its clocks ahead; of a process that is frozen, when it is resumed. */
  passTime(ms: number): void
  /** SIGSTOP: the process stays connected and does nothing. */
  freeze(): void
  /** SIGCONT */
  resume(): void
  /** SIGKILL: the service gets no word of it. */
  kill(): Promise<void>
  /** Closes the guards and ends the process, as an application that stops does. */
  close(): Promise<void>
  /** Resets the connections of the process. New ones get no answer until `reconnect`. */
  cutOff(): void
  reconnect(): void
}

export type GuardOptions = Partial<Pick<GuardProcessOptions, 'maxStalenessSeconds' | 'failsOpen'>>

type Connection = Pick<GuardProcessOptions, 'baseUrl' | 'siteId' | 'apiKey' | 'names' | 'passedMs'>

/** Vitest names a bundle of it, which starts faster. */
const SCRIPT = process.env.TEST_GUARDS
  ? pathToFileURL(process.env.TEST_GUARDS)
  : new URL('./guard-process.ts', import.meta.url)

/** Starts one process with a guard for each name, and waits until all of them are ready. */
export async function startGuards(
  { baseUrl, ...connection }: Connection,
  { maxStalenessSeconds = 30, failsOpen = false }: GuardOptions = {},
): Promise<GuardProcess> {
  const proxy = await openProxy(Number(new URL(baseUrl).port))
  const options: GuardProcessOptions = {
    ...connection,
    baseUrl: `http://127.0.0.1:${proxy.port}`,
    maxStalenessSeconds,
    failsOpen,
  }
  const { child, ended, stop } = await startForked(SCRIPT, options)
  const waiting = new Map<number, (answers: GuardAnswer['answers']) => void>()
  let asked = 0
  child.on('message', ({ id, answers }: GuardAnswer) => waiting.get(id)?.(answers))
  const ask = async (question: Omit<GuardQuestion, 'id'>): Promise<GuardAnswer['answers']> => {
    // Otherwise the message would fail outside of the test.
    if (!child.connected) return ended
    const id = ++asked
    const answer = new Promise<GuardAnswer['answers']>((resolve) => waiting.set(id, resolve))
    child.send({ id, ...question } satisfies GuardQuestion)
    return Promise.race([answer, ended]).finally(() => waiting.delete(id))
  }
  const kill = async () => {
    await stop()
    await proxy.close()
  }
  return {
    names: connection.names,
    decide: async (credential) =>
      (await ask({ ask: 'decide', credential: credentialHeader(credential as JsonObject) })) as Record<
        string,
        string
      >,
    passTime: (ms) => void ask({ ask: 'pass', ms }).catch(() => {}),
    state: async () => (await ask({ ask: 'state' })) as Record<string, GuardState>,
    freeze: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill,
    async close() {
      child.kill('SIGCONT')
      await ask({ ask: 'close' })
      await kill()
    },
    cutOff() {
      proxy.hold()
      proxy.cut()
    },
    reconnect() {
      proxy.cut()
      proxy.release()
    },
  }
}
