import type { Heartbeat, LogEntry, Verifier } from '@countersign/core/contract'
import { CallProblem, call, send, sessionEnded } from '../api/call.ts'

/** What one tab reports to the others. `sentAtMs` is the clock of this machine. */
type Message = { readonly sentAtMs: number } & (
  | { readonly type: 'entries'; readonly entries: readonly LogEntry[] }
  | { readonly type: 'head'; readonly head: Heartbeat }
  | { readonly type: 'verifiers'; readonly verifiers: readonly Verifier[] }
  | { readonly type: 'lost' }
)
type News = Message extends infer Each ? (Each extends Message ? Omit<Each, 'sentAtMs'> : never) : never

export interface FeedListener {
  /** Entries in order, without gaps. `skipped` were too many to load one by one. */
  onEntries(entries: readonly LogEntry[], skipped: number): void
  /** A signed head, and how long ago it arrived in this browser. */
  onHead(head: Heartbeat, ageMs: number): void
  onVerifiers(verifiers: readonly Verifier[]): void
  /** The log has a new epoch, or this tab has just begun: earlier entries do not count. */
  onBeginning(): void
}

const RETRY_MS = 1000
const HEAD_MS = 2000
const VERIFIERS_MS = 4000
const PROBE_TIMEOUT_MS = 2500
/** A heartbeat comes every five seconds. A stream without one for so long is dead. */
const SILENCE_MS_MAX = 12_000
/** Browsers open six connections to one server over HTTP/1.1. Streams use three of them at most. */
const STREAMS_MAX = 3
const LOG_PAGE = 200
const GAP_MAX = 2000

/**
 * Follows the log of a site in all tabs of this browser with one stream. The tab that has the lock
 * reads the stream and broadcasts it; when that tab closes, the next one continues where it was
 * itself, so that no entry is lost or applied twice. Heads and verifiers are loaded by whichever
 * visible tab notices first that they are old.
 */
export async function shareFeed(siteId: string, stop: AbortSignal, listener: FeedListener): Promise<void> {
  const channel = new BroadcastChannel(`countersign ${siteId}`)
  let position: { readonly epoch: string; readonly seq: number } | undefined
  let head: Heartbeat | undefined
  let headAtMs = -Infinity
  let verifiersAtMs = -Infinity
  let isCatchingUp = false

  const publish = (news: News) => {
    const message = { ...news, sentAtMs: Date.now() } as Message
    channel.postMessage(message)
    receive(message)
  }
  const receive = (message: Message) => {
    if (stop.aborted) return
    const ageMs = Math.max(0, Date.now() - message.sentAtMs)
    switch (message.type) {
      case 'entries':
        return applyEntries(message.entries)
      case 'head':
        return applyHead(message.head, ageMs)
      case 'verifiers':
        verifiersAtMs = performance.now() - ageMs
        return listener.onVerifiers(message.verifiers)
      case 'lost':
        void loadHead()
    }
  }

  const begin = (at: { readonly epoch: string; readonly seq: number }) => {
    position = { epoch: at.epoch, seq: at.seq }
    listener.onBeginning()
  }
  const applyHead = (next: Heartbeat, ageMs: number) => {
    if (position === undefined || position.epoch !== next.epoch) begin(next)
    head = next
    headAtMs = Math.max(headAtMs, performance.now() - ageMs)
    listener.onHead(next, performance.now() - headAtMs)
    // The entries of this head are usually on their way.
    if (position !== undefined && next.seq > position.seq) setTimeout(catchUp, RETRY_MS)
  }
  const applyEntries = (entries: readonly LogEntry[], skipped = 0) => {
    if (position === undefined) return
    const { epoch, seq } = position
    const fresh = entries.filter((entry) => entry.epoch === epoch && entry.seq > seq)
    const [first] = fresh
    if (first === undefined) return
    if (first.seq !== seq + 1 + skipped) return void catchUp()
    position = { epoch, seq: seq + skipped + fresh.length }
    listener.onEntries(fresh, skipped)
  }

  /** Loads what this tab has missed. */
  const catchUp = async () => {
    if (isCatchingUp || stop.aborted) return
    isCatchingUp = true
    try {
      while (position !== undefined && head?.epoch === position.epoch && position.seq < head.seq) {
        const { epoch, seq } = position
        const skipped = Math.max(0, head.seq - seq - GAP_MAX)
        const page = await call<{ items: readonly LogEntry[] }>(`/api/sites/${siteId}/log`, {
          site: siteId,
          query: { after: `${epoch}.${seq + skipped}`, limit: LOG_PAGE },
          signal: stop,
        })
        if (page.items.length === 0) return
        if (position.seq === seq) applyEntries(page.items, skipped)
      }
    } catch (fault) {
      if (isLostPosition(fault)) position = undefined
    } finally {
      isCatchingUp = false
    }
  }

  const loadHead = async () => {
    try {
      const found = await call<Heartbeat>(`/api/sites/${siteId}/head`, {
        site: siteId,
        query: { observe: 1 },
        signal: stop,
        timeoutMs: PROBE_TIMEOUT_MS,
      })
      publish({ type: 'head', head: found })
    } catch {
      // The age of the last head shows that the service is away.
    }
  }
  const loadVerifiers = async () => {
    try {
      const found = await call<{ items: readonly Verifier[] }>(`/api/sites/${siteId}/verifiers`, {
        site: siteId,
        query: { limit: 200 },
        signal: stop,
        timeoutMs: VERIFIERS_MS,
      })
      publish({ type: 'verifiers', verifiers: found.items })
    } catch {
      // As above.
    }
  }
  const refresh = () => {
    if (document.visibilityState === 'hidden' || sessionEnded.value) return
    const nowMs = performance.now()
    if (nowMs - headAtMs >= HEAD_MS) void loadHead()
    if (nowMs - verifiersAtMs >= VERIFIERS_MS) void loadVerifiers()
  }

  const readStream = async () => {
    const dead = new AbortController()
    let timer = setTimeout(() => dead.abort(), SILENCE_MS_MAX)
    try {
      const answer = await send(`/console/api/sites/${siteId}/feed`, {
        site: siteId,
        query: { observe: 1, after: position && `${position.epoch}.${position.seq}` },
        signal: AbortSignal.any([stop, dead.signal]),
        timeoutMs: 2 ** 30,
      })
      const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
      for (let rest = ''; reader !== undefined; ) {
        const { done, value } = await reader.read()
        if (done) return
        clearTimeout(timer)
        timer = setTimeout(() => dead.abort(), SILENCE_MS_MAX)
        const blocks = (rest + value).split('\n\n')
        rest = blocks.pop() ?? ''
        const events = blocks.flatMap(parseEvent)
        const entries = events.filter((event) => 'kind' in event)
        if (entries.length > 0) publish({ type: 'entries', entries })
        const last = events.findLast((event) => 'signature' in event)
        if (last !== undefined) publish({ type: 'head', head: last })
      }
    } catch (fault) {
      if (isLostPosition(fault)) position = undefined
    } finally {
      clearTimeout(timer)
    }
  }
  const lead = async () => {
    while (!stop.aborted) {
      if (position === undefined) await loadHead()
      if (position !== undefined && !sessionEnded.value) {
        await withConnection(readStream)
        if (!stop.aborted) publish({ type: 'lost' })
      }
      if (!stop.aborted) await sleep(RETRY_MS, stop)
    }
  }

  channel.addEventListener('message', ({ data }) => receive(data as Message))
  // Tabs do not ask at the same moment.
  const timer = setInterval(refresh, 450 + Math.random() * 100)
  const onVisible = () => refresh()
  document.addEventListener('visibilitychange', onVisible)
  refresh()
  try {
    // Browsers have locks on https and on loopback, which is where the console is served.
    if (navigator.locks === undefined) await lead()
    else await navigator.locks.request(`countersign feed ${siteId}`, { signal: stop }, lead)
  } catch (fault) {
    if (!stop.aborted) throw fault
  } finally {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', onVisible)
    channel.close()
  }
}

/** Runs it with one of the connections for streams. Without a free one, heads are asked for. */
async function withConnection(read: () => Promise<void>): Promise<void> {
  if (navigator.locks === undefined) return read()
  for (let n = 1; n <= STREAMS_MAX; n++) {
    const isDone = await navigator.locks.request(
      `countersign stream ${n}`,
      { ifAvailable: true },
      async (lock) => {
        if (lock !== null) await read()
        return lock !== null
      },
    )
    if (isDone) return
  }
}

function parseEvent(block: string): readonly (LogEntry | Heartbeat)[] {
  const data = block
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim())
    .join('\n')
  return data === '' ? [] : [JSON.parse(data) as LogEntry | Heartbeat]
}

/** The log was restored or cut: what this tab has is not continued by it. */
function isLostPosition(fault: unknown): boolean {
  return fault instanceof CallProblem && ['cursor_ahead', 'cursor_expired'].includes(fault.code)
}

function sleep(ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    stop.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
