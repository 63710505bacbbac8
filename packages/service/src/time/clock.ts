import { type Clocks, createMonotonicClock } from '@countersign/core'
import type { Logger } from 'pino'
import { everyMs } from '../every-ms.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'
import { systemClocks } from '../system-clocks.ts'

/** The time of this node: it never runs backwards, and does not follow a wall clock that jumps. */
export interface Clock {
  /**
   * Throws a Problem `store_unavailable` when the wall clock has jumped ahead and the store has not
   * confirmed that time.
   */
  nowMs(): number
  /** Why the time of this node is unreliable, for the operator; undefined if it is reliable. */
  problem(): string | undefined
  readonly clocks: () => Clocks
  /**
   * Stops the time until `work` returns; of an async function, until its first wait. So the clocks
   * are read once for all checks of a request that need not wait.
   */
  whileFrozen<Result>(work: () => Result): Result
}

const CONFIRM_MS = 5000
/** Equal to the largest jump ahead that is accepted, and to the maximum age of a holder proof. */
const BEHIND_MS_MAX = 60_000

/**
 * A clock whose highest time the store keeps, so that what has expired stays expired after a
 * restart and on other nodes. Asks the store immediately, and then every five seconds; rejects when
 * the store is unavailable at the start. After the wall clock has jumped ahead, `nowMs` throws
 * until the store has received that time from another node, or until a restart. While the wall
 * clock is far behind the time of the store, the time stops. A reset by an operator replaces all
 * earlier times.
 */
export async function openClock(
  store: Pick<Store, 'confirmedTime' | 'confirmTime'>,
  log: Pick<Logger, 'error' | 'warn'>,
  readClocks: () => Clocks = systemClocks,
  confirmMs = CONFIRM_MS,
): Promise<Clock & { close(): Promise<void> }> {
  let frozen: Clocks | undefined
  const clocks = () => frozen ?? readClocks()
  let { atMs: confirmedMs, resets } = await store.confirmedTime()
  const monotonic = createMonotonicClock({ confirmedMs })
  monotonic.now(clocks())

  const confirm = async () => {
    const now = monotonic.now(clocks())
    // A time that jumped must not become the store's, or every node would follow. The store may
    // have another time by now.
    const confirmed = await (now.jumped === true ? store.confirmedTime() : store.confirmTime(now.ms, resets))
    const { monotonicMs } = clocks()
    if (confirmed.resets > resets) {
      // Not the wall clock of this machine: if that is the one that was wrong, it must be detected
      // as a jump, and not move the time again.
      monotonic.reset({ wallMs: confirmed.atMs, monotonicMs })
      log.warn({ from: rfc3339(confirmedMs), to: rfc3339(confirmed.atMs) }, 'an operator has reset the time')
    } else monotonic.confirm(confirmed.atMs, monotonicMs)
    ;({ atMs: confirmedMs, resets } = confirmed)
    const why = problem()
    if (why !== undefined) log.error({ why }, 'the clock is unreliable; this node is not ready')
  }

  const problem = (): string | undefined => {
    const { wallMs, monotonicMs } = clocks()
    const now = monotonic.now({ wallMs, monotonicMs })
    if (now.jumped === true)
      return `the clock of this machine has jumped ${seconds(now.aheadMs)} ahead; set it right, restart the node, or reset the time: countersign reset-time`
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
      const now = monotonic.now(clocks())
      if (now.jumped === true) {
        throw new Problem(
          'store_unavailable',
          'The clock of this node is unreliable. Try again in a moment, or use another node.',
          {
            retryAfterSeconds: 5,
          },
        )
      }
      return now.ms
    },
    problem,
    clocks,
    whileFrozen(work) {
      if (frozen !== undefined) return work()
      frozen = readClocks()
      try {
        return work()
      } finally {
        frozen = undefined
      }
    },
    close: () => confirming.close(),
  }
}

const seconds = (ms: number) => `${Math.round(ms / 1000)} s`
const rfc3339 = (ms: number) => new Date(ms).toISOString()
