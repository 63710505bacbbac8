import { type Clocks, createTimeMark } from '@countersign/core'
import type { Logger } from 'pino'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/** Time as this node may use it: never running back, and refusing to leap (see the core's time mark). Injected, so that tests have their own. */
export interface Clock {
  /** Throws a `Problem('store_unavailable')`-like fault when the wall clock has leapt and no store has confirmed it. */
  nowMs(): number
  readonly clocks: () => { readonly wallMs: number; readonly monotonicMs: number }
}

const CONFIRM_MS = 5000

/**
 * A clock whose highest time the store keeps, so that what was expired stays expired after a restart and on other nodes. Asks the store at
 * once, and rejects when it cannot be asked; then every five seconds. A wall clock that has leapt is believed only when the store has heard
 * of that time from another node, or after a restart; until then `nowMs` throws.
 */
export async function openClock(
  store: Pick<Store, 'confirmTime'>,
  log: Pick<Logger, 'error' | 'warn'>,
  clocks: () => Clocks = systemClocks,
  confirmMs = CONFIRM_MS,
): Promise<Clock & { close(): Promise<void> }> {
  // Asking with the beginning of time moves nothing.
  const mark = createTimeMark({ confirmedMs: await store.confirmTime(0) })
  mark.now(clocks())

  const confirm = async () => {
    const now = mark.now(clocks())
    // A time that leapt must not become the store's, or every node would follow; but the store may know better by now.
    const confirmedMs = await store.confirmTime(now.jumped === true ? 0 : now.ms)
    mark.confirm(confirmedMs, clocks().monotonicMs)
    if (now.jumped === true && mark.now(clocks()).jumped === true) {
      log.error(
        { aheadMs: now.aheadMs },
        'the clock of this machine has leapt ahead; refusing until another node confirms the time, or a restart',
      )
    }
  }
  await confirm()

  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= confirm()
      .catch((err: unknown) => log.warn({ err }, 'the store could not confirm the time'))
      .finally(() => {
        running = undefined
      })
  }, confirmMs)
  timer.unref()

  return {
    nowMs() {
      const now = mark.now(clocks())
      if (now.jumped === true) {
        throw new Problem('store_unavailable', 'this node does not know what time it is; try again in a moment, or another node', {
          retryAfterSeconds: 5,
        })
      }
      return now.ms
    },
    clocks,
    async close() {
      clearInterval(timer)
      await running
    },
  }
}

function systemClocks(): Clocks {
  return { wallMs: Date.now(), monotonicMs: performance.now() }
}
