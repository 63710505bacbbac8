import type { Heartbeat, LogEntry, Verifier } from '@countersign/core/contract'
import { CallProblem, call, send, sessionEnded } from '../api/call.ts'

interface Position {
  readonly epoch: string
  readonly seq: number
}

/** What one tab reports to the others. `sentAtMs` is the clock of this machine. */
type Message = { readonly sentAtMs: number } & (
  | ({ readonly type: 'entry' } & Position)
  | { readonly type: 'head'; readonly head: Heartbeat }
  | { readonly type: 'verifiers'; readonly verifiers: readonly Verifier[] }
  | { readonly type: 'lost' }
)
type News = Message extends infer Each ? (Each extends Message ? Omit<Each, 'sentAtMs'> : never) : never

export interface FeedListener {
  /** The log has grown up to this entry, by so many: each entry is counted once in each tab. */
  onEntries(seq: number, count: number): void
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

/**
 * Follows the log of a site in all tabs of this browser with one stream. The tab that has the lock
 * reads the stream and broadcasts it; when that tab closes, the next one continues where it was
 * itself, so that no entry is lost or applied twice. Heads and verifiers are loaded by whichever
 * visible tab notices first that they are old.
 */
export async function shareFeed(siteId: string, stop: AbortSignal, listener: FeedListener): Promise<void> {
  const channel = new BroadcastChannel(`countersign ${siteId}`)
  let position: Position | undefined
  let headAtMs = -Infinity
  let verifiersAtMs = -Infinity

  const publish = (news: News) => {
    const message = { ...news, sentAtMs: Date.now() } as Message
    channel.postMessage(message)
    receive(message)
  }
  const receive = (message: Message) => {
    if (stop.aborted) return
    const ageMs = Math.max(0, Date.now() - message.sentAtMs)
    switch (message.type) {
      case 'entry':
        return applyEntry(message)
      case 'head':
        return applyHead(message.head, ageMs)
      case 'verifiers':
        verifiersAtMs = performance.now() - ageMs
        return listener.onVerifiers(message.verifiers)
      case 'lost':
        void loadHead()
    }
  }

  const applyHead = (head: Heartbeat, ageMs: number) => {
    if (position === undefined || position.epoch !== head.epoch) {
      position = { epoch: head.epoch, seq: head.seq }
      listener.onBeginning()
    }
    headAtMs = Math.max(headAtMs, performance.now() - ageMs)
    listener.onHead(head, performance.now() - headAtMs)
    // A head covers all entries before it, also those that this tab has not received one by one.
    applyEntry(head)
  }
  const applyEntry = ({ epoch, seq }: Position) => {
    if (position === undefined || position.epoch !== epoch || seq <= position.seq) return
    const count = seq - position.seq
    position = { epoch, seq }
    listener.onEntries(seq, count)
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
  const loadHeadOnce = once(loadHead)
  const loadVerifiersOnce = once(loadVerifiers)
  const refresh = () => {
    if (document.visibilityState === 'hidden' || sessionEnded.value) return
    const nowMs = performance.now()
    if (nowMs - headAtMs >= HEAD_MS) loadHeadOnce()
    if (nowMs - verifiersAtMs >= VERIFIERS_MS) loadVerifiersOnce()
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
        const entry = events.findLast((event) => 'kind' in event)
        if (entry !== undefined) publish({ type: 'entry', epoch: entry.epoch, seq: entry.seq })
        const head = events.findLast((event) => 'signature' in event)
        if (head !== undefined) publish({ type: 'head', head })
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

/** Runs it with one of the connections for streams. Without a free one, heads are loaded alone. */
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

/** Starts it unless it is running, or was started a moment ago. */
function once(load: () => Promise<void>): () => void {
  let isRunning = false
  let startedAtMs = -Infinity
  return () => {
    if (isRunning || performance.now() - startedAtMs < RETRY_MS) return
    isRunning = true
    startedAtMs = performance.now()
    void load().finally(() => {
      isRunning = false
    })
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
