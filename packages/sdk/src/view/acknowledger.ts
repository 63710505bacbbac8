import type { GuardClock } from './clock.ts'

interface Head {
  readonly epoch: string
  readonly seq: number
}

/** Tells the service how far the log has been applied, so that it can say who knows of a revocation. */
export interface Acknowledger {
  /** What has been applied. Sent at once when nothing was sent lately, otherwise soon, and only the latest. */
  note(head: Head): void
  /** The service may have forgotten: the next note is sent even if it says nothing new. */
  renew(): void
  close(): void
}

const INTERVAL_MS = 250
const AFTER_FAILURE_MS = 2_000

/** A call that fails is made again with the next note. Nothing depends on it but the service's knowledge of us. */
export function createAcknowledger(send: (head: Head) => Promise<void>, clock: GuardClock): Acknowledger {
  let wanted: Head | undefined
  let sent: Head | undefined
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

  const go = () => {
    const head = wanted
    if (busy || closed || head === undefined || (head.seq === sent?.seq && head.epoch === sent.epoch)) return
    busy = true
    send(head).then(
      () => {
        sent = head
        pause(INTERVAL_MS, go)
      },
      // Not by itself: as long as the feed comes, something is noted every few seconds, and otherwise there is nobody to tell.
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
    close() {
      closed = true
      cancel()
    },
  }
}
