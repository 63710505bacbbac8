import type { LogPosition } from '@countersign/core'
import type { GuardClock } from './clock.ts'

/**
 * Reports to the service which head this verifier has proven, so that receipts can list the
 * verifiers that have applied a revocation.
 */
export interface Acknowledger {
  /**
   * Reports a proven head, perhaps the same as before. It is sent at once if nothing was sent
   * lately, and otherwise soon; only the latest is sent. The same head is sent again every few
   * seconds, because the service treats a verifier that sends nothing as silent.
   */
  report(head: LogPosition): void
  /**
   * The next report is sent even if the head is the same, because the service may have forgotten
   * it.
   */
  renew(): void
  /**
   * There is something to report with an acknowledgement of this entry. If it was acknowledged
   * already, the same head is sent again soon; otherwise it travels with the next one.
   */
  addNews(seq: number): void
  /**
   * Asks the service to fetch the keys of an OAuth issuer, because a token names a key that this
   * verifier does not know. The hint travels with the next acknowledgement. At most one is sent in
   * ten seconds; others are dropped.
   */
  requestIssuerRefresh(issuer: string): void
  /**
   * Ends the acknowledgements. If a head was reported, it reports to the service that this verifier
   * denies everything from now on, and waits at most a second for that.
   */
  close(): Promise<void>
}

const INTERVAL_MS = 250
/** A little less than the time between two heartbeats, so that each of them is acknowledged. */
const REPEAT_MS = 4_000
const AFTER_FAILURE_MS = 2_000
const CLOSE_MS_MAX = 1_000
const HINT_PAUSE_MS = 10_000

/** A failed call is repeated with the next report. Only receipts depend on it. */
export function createAcknowledger(
  send: (head: LogPosition, isClosing: boolean, refreshIssuer?: string) => Promise<void>,
  clock: GuardClock,
): Acknowledger {
  let wanted: LogPosition | undefined
  let sent: LogPosition | undefined
  let sentAtMs = -Infinity
  /** During a call and the pause after it. */
  let busy = false
  let hasNews = false
  let hint: string | undefined
  let hintedAtMs = -Infinity
  let cancel = () => {}
  let closed = false

  const pause = (ms: number, then: () => void) => {
    if (closed) return
    cancel = clock.after(ms, () => {
      busy = false
      then()
    })
  }

  const isDue = (head: LogPosition) =>
    hint !== undefined ||
    hasNews ||
    head.seq !== sent?.seq ||
    head.epoch !== sent.epoch ||
    clock.read().monotonicMs - sentAtMs >= REPEAT_MS

  const go = () => {
    const head = wanted
    if (busy || closed || head === undefined || !isDue(head)) return
    busy = true
    sentAtMs = clock.read().monotonicMs
    const refreshIssuer = hint
    hint = undefined
    hasNews = false
    send(head, false, ...(refreshIssuer === undefined ? [] : [refreshIssuer])).then(
      () => {
        sent = head
        pause(INTERVAL_MS, go)
      },
      // No retry: while the feed works, a head is reported every few seconds.
      () => pause(AFTER_FAILURE_MS, () => undefined),
    )
  }

  return {
    report(head) {
      wanted = head
      go()
    },
    renew() {
      sent = undefined
    },
    addNews(seq) {
      if (wanted === undefined || seq > wanted.seq) return
      hasNews = true
      go()
    },
    requestIssuerRefresh(issuer) {
      const nowMs = clock.read().monotonicMs
      if (nowMs - hintedAtMs < HINT_PAUSE_MS) return
      hintedAtMs = nowMs
      hint = issuer
      go()
    },
    async close() {
      if (closed) return
      closed = true
      cancel()
      if (wanted === undefined) return
      let timer: ReturnType<typeof setTimeout> | undefined
      // A real timer: a process that ends must not wait for an unreachable service.
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, CLOSE_MS_MAX)
      })
      await Promise.race([send(wanted, true).catch(() => undefined), late])
      clearTimeout(timer)
    },
  }
}
