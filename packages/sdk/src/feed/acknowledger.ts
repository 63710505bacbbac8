import type { GuardClock } from './clock.ts'

interface Head {
  readonly epoch: string
  readonly seq: number
}

/**
 * Tells the service which head this verifier has proven, so that receipts can say who knows of a
 * revocation.
 */
export interface Acknowledger {
  /**
   * A head has been proven, perhaps the same as before. Sent at once when nothing was sent lately,
   * otherwise soon, and only the latest. The same head is sent again every few seconds: a verifier
   * that is not heard of counts as silent.
   */
  note(head: Head): void
  /** The service may have forgotten: the next note is sent even if it says nothing new. */
  renew(): void
  /**
   * Ends the acknowledgements. If a head was proven, it tells the service that this verifier
   * rejects everything from now on, and waits a moment for that.
   */
  close(): Promise<void>
}

const INTERVAL_MS = 250
/** A little less than the time between two heartbeats, so that each of them is acknowledged. */
const REPEAT_MS = 4_000
const AFTER_FAILURE_MS = 2_000
const CLOSE_MS_MAX = 1_000

/** A call that fails is made again with the next note. Only receipts depend on it. */
export function createAcknowledger(
  send: (head: Head, isClosing: boolean) => Promise<void>,
  clock: GuardClock,
): Acknowledger {
  let wanted: Head | undefined
  let sent: Head | undefined
  let sentAtMs = -Infinity
  /** Until it is over nothing is sent: a call under way, or the pause after one. */
  let busy = false
  let cancel = () => {}
  let closed = false

  const pause = (ms: number, then: () => void) => {
    if (closed) return
    cancel = clock.after(ms, () => {
      busy = false
      then()
    })
  }

  const isDue = (head: Head) =>
    head.seq !== sent?.seq || head.epoch !== sent.epoch || clock.read().monotonicMs - sentAtMs >= REPEAT_MS

  const go = () => {
    const head = wanted
    if (busy || closed || head === undefined || !isDue(head)) return
    busy = true
    sentAtMs = clock.read().monotonicMs
    send(head, false).then(
      () => {
        sent = head
        pause(INTERVAL_MS, go)
      },
      // Not by itself: while the feed works, a head is noted every few seconds.
      () => pause(AFTER_FAILURE_MS, () => undefined),
    )
  }

  return {
    note(head) {
      wanted = head
      go()
    },
    renew() {
      sent = undefined
    },
    async close() {
      if (closed) return
      closed = true
      cancel()
      if (wanted === undefined) return
      let timer: ReturnType<typeof setTimeout> | undefined
      // By the clock of the runtime: a process that ends must not wait for a service that is gone.
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS_MAX)
      })
      await Promise.race([send(wanted, true).catch(() => undefined), late])
      clearTimeout(timer)
    },
  }
}
