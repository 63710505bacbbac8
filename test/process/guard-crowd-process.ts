import { startForked } from './forked.ts'
import { findScript } from './scripts.ts'

export interface CrowdOptions {
  readonly baseUrl: string
  readonly siteId: string
  readonly apiKey: string
  /** The name of the process in the ids of its verifiers. */
  readonly name: string
  readonly count: number
}

export interface CrowdQuestion {
  readonly id: number
  readonly ask: 'show' | 'watch' | 'signals'
  readonly token: string
}

export interface CrowdAnswer {
  readonly id: number
  readonly outcomes: readonly string[]
}

/** How many guards gave each answer. */
export type Outcomes = Readonly<Record<string, number>>

/** Many guards in a process of their own. */
export interface GuardCrowd {
  /** `accepted`, or the code of the denial. */
  show(token: string): Promise<Outcomes>
  /** Keeps an accepted request open at every guard. */
  watch(token: string): Promise<Outcomes>
  /** Whether the guards have aborted these requests. */
  signals(): Promise<Outcomes>
  stop(): Promise<void>
}

/** Starts them, and waits until all of them are ready. */
export async function startGuardCrowd(options: CrowdOptions): Promise<GuardCrowd> {
  const { child, ended, stop } = await startForked(
    findScript(new URL('./guard-crowd.ts', import.meta.url)),
    options,
  )
  const waiting = new Map<number, (outcomes: readonly string[]) => void>()
  let asked = 0
  child.on('message', ({ id, outcomes }: CrowdAnswer) => waiting.get(id)?.(outcomes))
  const ask = async (question: CrowdQuestion['ask'], token: string): Promise<Outcomes> => {
    const id = ++asked
    const answer = new Promise<readonly string[]>((resolve) => waiting.set(id, resolve))
    child.send({ id, ask: question, token } satisfies CrowdQuestion)
    return tally(await Promise.race([answer, ended]))
  }
  return {
    show: (token) => ask('show', token),
    watch: (token) => ask('watch', token),
    signals: () => ask('signals', ''),
    stop,
  }
}

/** The answers of several processes together. */
export function addOutcomes(list: readonly Outcomes[]): Outcomes {
  const sums: Record<string, number> = {}
  for (const outcomes of list)
    for (const [outcome, times] of Object.entries(outcomes)) sums[outcome] = (sums[outcome] ?? 0) + times
  return sums
}

function tally(outcomes: readonly string[]): Outcomes {
  return addOutcomes(outcomes.map((outcome) => ({ [outcome]: 1 })))
}
