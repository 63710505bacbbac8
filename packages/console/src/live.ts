import type { Verifier } from '@countersign/core/contract'
import { signal } from '@preact/signals'
import { call, send } from './api/call.ts'

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
/** Moves once a second, so that ages on the page move too. */
export const tick = signal(performance.now())

setInterval(() => {
  tick.value = performance.now()
}, 1000)

const RETRY_MS = 2000
const VERIFIERS_MS = 4000

/** Follows the log of a site as an observer until the signal is aborted. */
export async function followSite(siteId: string, stop: AbortSignal): Promise<void> {
  liveLog.value = undefined
  verifiers.value = undefined
  const timer = setInterval(() => void loadVerifiers(siteId, stop), VERIFIERS_MS)
  stop.addEventListener('abort', () => clearInterval(timer))
  while (!stop.aborted) {
    await loadVerifiers(siteId, stop)
    await readFeed(siteId, stop).catch(() => {})
    if (!stop.aborted) await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

async function loadVerifiers(siteId: string, stop: AbortSignal): Promise<void> {
  if (isPaused.value || document.visibilityState === 'hidden') return
  try {
    const found = await call<{ items: readonly Verifier[] }>(`/api/sites/${siteId}/verifiers`, {
      site: siteId,
      query: { limit: 200 },
      signal: stop,
    })
    verifiers.value = found.items
  } catch {
    // The age of the last head shows that the service is away.
  }
}

async function readFeed(siteId: string, stop: AbortSignal): Promise<void> {
  const path = `/console/api/sites/${siteId}/feed`
  const answer = await send(path, { site: siteId, query: { observe: 1 }, signal: stop, timeoutMs: 2 ** 30 })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) applyEvent(siteId, block)
  }
}

function applyEvent(siteId: string, block: string): void {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim())
    .join('\n')
  if (data === '') return
  const { seq } = JSON.parse(data) as { seq?: number }
  if (typeof seq !== 'number') return
  const known = liveLog.value
  if (known !== undefined && known.siteId === siteId && seq > known.seq) entriesSeen.value++
  if (!isPaused.value)
    liveLog.value = { siteId, seq: Math.max(seq, known?.seq ?? 0), provenAtMs: performance.now() }
}
