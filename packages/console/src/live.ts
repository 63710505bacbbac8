import type { Verifier } from '@countersign/core/contract'
import { batch, signal } from '@preact/signals'
import { isAway } from './api/call.ts'
import { shareFeed } from './live/shared-feed.ts'

/** What this page knows of the log, and since when. */
export interface LiveLog {
  readonly siteId: string
  readonly seq: number
  /** `performance.now()` when the last signed head arrived. */
  readonly provenAtMs: number
}

export const liveLog = signal<LiveLog | undefined>(undefined)
/** Undefined until the first answer of this site. */
export const verifiers = signal<readonly Verifier[] | undefined>(undefined)
export const isPaused = signal(false)
/** Increases with every entry of the log: lists of revocations load again. */
export const entriesSeen = signal(0)
/** How many entries have arrived since updates were paused. */
export const entriesHeld = signal(0)
/** Moves once a second, so that ages on the page move too. */
export const tick = signal(performance.now())

setInterval(() => {
  tick.value = performance.now()
}, 1000)

/** A head is proven every few seconds. After so long without one, nothing on the page is green. */
const LATE_MS = 6000
const REFRESH_MS = 100

/** Whether what the page shows was proven just now. While it is paused, it soon is not. */
export function isLive(): boolean {
  const known = liveLog.value
  return known !== undefined && !isAway.value && tick.value - known.provenAtMs < LATE_MS
}

let clock: { readonly asOfMs: number; readonly atMs: number } | undefined

/** The clock of the service, so that a wrong clock of this machine changes nothing. */
export function serviceNowMs(): number {
  return clock === undefined ? Date.now() : clock.asOfMs + performance.now() - clock.atMs
}

/** Follows the log of a site as an observer until the signal is aborted. */
export async function followSite(siteId: string, stop: AbortSignal): Promise<void> {
  let log: LiveLog | undefined
  let roster: readonly Verifier[] | undefined
  let count = 0
  let isPlanned = false
  let shownAtMs = -Infinity

  const show = () => {
    isPlanned = false
    if (stop.aborted) return
    if (isPaused.peek()) {
      entriesHeld.value = count
      return
    }
    shownAtMs = performance.now()
    batch(() => {
      if (log !== liveLog.peek()) liveLog.value = log
      if (roster !== verifiers.peek()) verifiers.value = roster
      if (count > 0) entriesSeen.value += count
      entriesHeld.value = 0
      tick.value = performance.now()
    })
    count = 0
  }
  /** Many entries in a moment are shown together, so that the page stays responsive. */
  const plan = () => {
    if (isPlanned) return
    isPlanned = true
    setTimeout(show, Math.max(0, REFRESH_MS - (performance.now() - shownAtMs)))
  }

  batch(() => {
    liveLog.value = undefined
    verifiers.value = undefined
    entriesHeld.value = 0
  })
  const forget = isPaused.subscribe((paused) => {
    if (!paused) plan()
  })
  stop.addEventListener('abort', forget)
  await shareFeed(siteId, stop, {
    onBeginning() {
      // What lists show is of another epoch.
      if (log !== undefined) count++
      log = undefined
      plan()
    },
    onEntries(seq, added) {
      count += added
      if (log !== undefined && seq > log.seq) log = { ...log, seq }
      plan()
    },
    onHead({ seq, as_of }, ageMs) {
      const provenAtMs = performance.now() - ageMs
      log = { siteId, seq: Math.max(seq, log?.seq ?? 0), provenAtMs }
      // A head can be a second old when it is sent: the latest time that any of them shows counts.
      const asOfMs = Date.parse(as_of)
      if (clock === undefined || asOfMs > serviceNowMs()) clock = { asOfMs, atMs: performance.now() }
      plan()
    },
    onVerifiers(items) {
      roster = items
      plan()
    },
  })
}
