import { type Clocks, createMonotonicClock } from '@countersign/core'
import type { Logger } from 'pino'
import { everyMs } from '../every-ms.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/**
 * Time as this node may use it: never running back, and refusing to leap (see the core's time
 * mark). Injected, so that tests have their own.
 */
export interface Clock {
  /**
   * Throws a `Problem('store_unavailable')`-like fault when the wall clock has leapt and no store
   * has confirmed it.
   */
  nowMs(): number
  /** Why the time of this node is not to be relied on, for the operator; undefined while it is. */
  problem(): string | undefined
  readonly clocks: () => { readonly wallMs: number; readonly monotonicMs: number }
}

const CONFIRM_MS = 5000
/** As far as a clock may leap ahead; and no holder proof is believed that is older. */
const BEHIND_MS_MAX = 60_000

/**
 * A clock whose highest time the store keeps, so that what was expired stays expired after a
 * restart and on other nodes. Asks the store at once, and rejects when it cannot be asked; then
 * every five seconds. A wall clock that has leapt is believed only when the store has heard of that
 * time from another node, or after a restart; until then `nowMs` throws. A wall clock far behind
 * the time on record is in doubt: time stands still, and nothing that was expired comes back. A
 * reset by an operator counts for more than any time that was known before it.
 */
export async function openClock(
  store: Pick<Store, 'confirmedTime' | 'confirmTime'>,
  log: Pick<Logger, 'error' | 'warn'>,
  clocks: () => Clocks = systemClocks,
  confirmMs = CONFIRM_MS,
): Promise<Clock & { close(): Promise<void> }> {
  let { atMs: confirmedMs, resets } = await store.confirmedTime()
  const mark = createMonotonicClock({ confirmedMs })
  mark.now(clocks())

  const confirm = async () => {
    const now = mark.now(clocks())
    // A time that leapt must not become the store's, or every node would follow; but the store may
    // know better by now.
    const told = await (now.jumped === true ? store.confirmedTime() : store.confirmTime(now.ms, resets))
    const { monotonicMs } = clocks()
    if (told.resets > resets) {
      // Not the wall clock of this machine: should that be the one that was wrong, it must be seen
      // to leap, and not move the time once more.
      mark.reset({ wallMs: told.atMs, monotonicMs })
      log.warn({ from: rfc3339(confirmedMs), to: rfc3339(told.atMs) }, 'an operator has reset the time')
    } else mark.confirm(told.atMs, monotonicMs)
    ;({ atMs: confirmedMs, resets } = told)
    const why = problem()
    if (why !== undefined) log.error({ why }, 'the time is in doubt; this node is not ready')
  }

  const problem = (): string | undefined => {
    const { wallMs, monotonicMs } = clocks()
    const now = mark.now({ wallMs, monotonicMs })
    if (now.jumped === true)
      return `the clock of this machine has leapt ${seconds(now.aheadMs)} ahead; set it right, restart the node, or reset the time: countersign reset-time`
    const behindMs = now.ms - wallMs
    if (behindMs > BEHIND_MS_MAX)
      return `the clock of this machine is ${seconds(behindMs)} behind the time on record, ${rfc3339(now.ms)}; set it right, or if the record is wrong: countersign reset-time`
    return undefined
  }
  await confirm()

  const confirming = everyMs(confirmMs, confirm, (err) =>
    log.warn({ err }, 'the store could not confirm the time'),
  )

  return {
    nowMs() {
      const now = mark.now(clocks())
      if (now.jumped === true) {
        throw new Problem(
          'store_unavailable',
          'this node does not know what time it is; try again in a moment, or another node',
          {
            retryAfterSeconds: 5,
          },
        )
      }
      return now.ms
    },
    problem,
    clocks,
    close: () => confirming.close(),
  }
}

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
const rfc3339 = (ms: number) => new Date(ms).toISOString()

function systemClocks(): Clocks {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}
