/**
 * Guards of the SDK, alone in their process. It sends a message when they are ready, answers what
 * they decide and what state they are in, and ends with its parent.
 */
import { createGuard, FAIL_OPEN, type GuardClock, type GuardState } from '@countersign/sdk'
import { readForkOptions } from '../process/forked.ts'

export interface GuardProcessOptions {
  readonly baseUrl: string
  readonly siteId: string
  readonly apiKey: string
  /** One guard for each name. */
  readonly names: readonly string[]
  readonly maxStalenessSeconds: number
  readonly failsOpen: boolean
  /** How far its clocks are ahead of those of this machine. */
  readonly passedMs: number
}

/** What the parent asks. `credential` is the value of the header. */
export interface GuardQuestion {
  readonly id: number
  readonly ask: 'decide' | 'state' | 'close' | 'pass'
  readonly credential?: string
  /** So far the clocks are moved. */
  readonly ms?: number
}

/** By the names of the guards. A decision is `allowed`, or the code of the denial. */
export interface GuardAnswer {
  readonly id: number
  readonly answers: Readonly<Record<string, string | GuardState>>
}

const { names, failsOpen, passedMs: passedMsAtStart, ...options } = readForkOptions<GuardProcessOptions>()
let passedMs = passedMsAtStart
const clock: GuardClock = {
  read: () => ({ wallMs: Date.now() + passedMs, monotonicMs: performance.now() + passedMs }),
  after(ms, callback) {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
}
const guards = names.map((name) => {
  const guard = createGuard({
    ...options,
    clock,
    verifierId: name,
    onStateChange: () => {},
    ...(failsOpen ? { [FAIL_OPEN]: true as const } : {}),
  })
  return [name, guard] as const
})

async function answer({ ask, credential = '', ms = 0 }: GuardQuestion): Promise<GuardAnswer['answers']> {
  passedMs += ms
  const request = {
    method: 'GET',
    url: `http://${options.siteId}/orders`,
    header: (name: string) => (name === 'x-service-credential' ? [credential] : []),
  }
  const answers = guards.map(async ([name, guard]) => {
    if (ask === 'state' || ask === 'pass') return [name, guard.state()] as const
    if (ask === 'close') return [name, (await guard.close(), 'closed')] as const
    const verdict = await guard.verify(request, { scope: 'orders:read' })
    return [name, verdict.ok ? 'allowed' : verdict.code] as const
  })
  return Object.fromEntries(await Promise.all(answers))
}

process.on('message', async (question: GuardQuestion) => {
  const { id } = question
  process.send?.({ id, answers: await answer(question) } satisfies GuardAnswer)
})
await Promise.all(guards.map(([, guard]) => guard.ready()))
process.send?.('ready')
