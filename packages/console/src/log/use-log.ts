import type { LogPage } from '@countersign/core/contract'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api/call.ts'
import { entriesSeen, isPaused, liveLog } from '../live.ts'
import type { LogSource, VerifiedLog } from '../log/verify-log.ts'
import { describe } from '../revoke/state.ts'

/** Entries that are verified without being asked to. */
const AT_ONCE = 20_000

/** The page is drawn at most this often while it verifies. */
const DRAW_MS = 120

const PAGE_ENTRIES = 200

/** What the page shows of the log, which grows while it is verified. */
export interface Shown {
  readonly log: VerifiedLog | undefined
  readonly isRunning: boolean
  readonly tookMs: number
  readonly fault: string | undefined
}

const NOTHING: Shown = { log: undefined, isRunning: true, tookMs: 0, fault: undefined }

/** What this browser has verified since the console was opened, by site. */
export const verified = new Map<string, { readonly log: VerifiedLog; readonly since: string }>()

function createSource(siteId: string, signal: AbortSignal): LogSource {
  const options = { site: siteId, signal }
  return {
    siteId,
    head: () => call(`/api/sites/${siteId}/head`, { ...options, query: { observe: 1 } }),
    chain: async () => (await import('../log/feed-keys.ts')).loadFeedChain(signal),
    page: (cursor) =>
      call<LogPage & { next_cursor: string | null }>(`/api/sites/${siteId}/log`, {
        ...options,
        query: { limit: PAGE_ENTRIES, cursor },
      }),
  }
}

/** Verifies the log of the site, and again whenever it has grown. */
export function useLog(siteId: string): Shown & { readonly readOlder: () => void } {
  const [shown, setShown] = useState<Shown>(NOTHING)
  const isBusy = useRef(false)
  const wantsMore = useRef(false)
  const stop = useRef(new AbortController())
  const run = async (isOlder: boolean) => {
    if (isBusy.current) {
      wantsMore.current = true
      return
    }
    isBusy.current = true
    const { signal } = stop.current
    const before = verified.get(siteId)?.log
    const startedMs = performance.now()
    let drawnMs = startedMs
    try {
      const { continueLog, verifyLog } = await import('../log/verify-log.ts')
      const source = createSource(siteId, signal)
      const onProgress = (log: VerifiedLog) => {
        if (before !== undefined && !isOlder) return
        if (performance.now() - drawnMs < DRAW_MS) return
        drawnMs = performance.now()
        setShown((last) => ({ ...last, log, isRunning: true }))
      }
      const options = { before, seenSeq: toSeen(siteId), limit: AT_ONCE, onProgress, signal }
      const log =
        isOlder && before !== undefined
          ? await continueLog(source, before, { limit: AT_ONCE, onProgress, signal })
          : await verifyLog(source, options)
      // A reading that began before the pause may have found entries that came after it.
      const isHeld = isPaused.peek() && before !== undefined && !isOlder && hasMore(log, siteId)
      if (isHeld) wantsMore.current = true
      else if (log.fault === undefined)
        verified.set(siteId, { log, since: verified.get(siteId)?.since ?? new Date().toISOString() })
      if (!isHeld)
        setShown({ log, isRunning: false, tookMs: performance.now() - startedMs, fault: undefined })
    } catch (thrown) {
      if (!signal.aborted) setShown((last) => ({ ...last, isRunning: false, fault: describe(thrown) }))
    }
    isBusy.current = false
    if (wantsMore.current && !signal.aborted && !isPaused.peek()) {
      wantsMore.current = false
      void run(false)
    }
  }
  useEffect(() => {
    stop.current = new AbortController()
    isBusy.current = false
    const known = verified.get(siteId)
    setShown(known === undefined ? NOTHING : { ...NOTHING, log: known.log })
    void run(false)
    return () => stop.current.abort()
  }, [siteId])
  const seen = entriesSeen.value
  // A head that does not cover what the feed has brought is not the newest.
  const isBehind = shown.log?.head !== undefined && toSeen(siteId) > shown.log.head.seq
  useEffect(() => {
    if (seen > 0 || isBehind) void run(false)
  }, [seen, isBehind])
  const paused = isPaused.value
  useEffect(() => {
    if (paused || !wantsMore.current) return
    wantsMore.current = false
    void run(false)
  }, [paused])
  return { ...shown, readOlder: () => void run(true) }
}

/** Whether the log has entries that the page does not know yet. A fault is never held back. */
function hasMore({ entries, fault }: VerifiedLog, siteId: string): boolean {
  return fault === undefined && (entries[0]?.seq ?? 0) > toSeen(siteId)
}

function toSeen(siteId: string): number {
  return liveLog.value?.siteId === siteId ? liveLog.value.seq : 0
}
