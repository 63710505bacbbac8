import {
  checkEntry,
  checkHeartbeat,
  findHeadKey,
  GENESIS_HASH,
  parseEntry,
  parseHeartbeat,
} from '@countersign/core'
import type { LogEntry, LogPage } from '@countersign/core/contract'
import { say } from '../say.ts'

/** Where the log comes from. A test can put anything between it and the service. */
export interface LogSource {
  readonly siteId: string
  /** The signed head, as received. */
  head(): Promise<unknown>
  /** The chain of feed keys, as received. */
  chain(): Promise<unknown>
  /** A page of entries, newest first. */
  page(cursor: string | undefined): Promise<LogPage & { readonly next_cursor: string | null }>
}

interface SignedHead {
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  readonly asOf: string
  readonly kid: string
}

/** The first entry that is wrong, counted from the head. */
interface LogFault {
  readonly seq: number
  readonly why: string
}

/** What this browser has verified by itself. */
export interface VerifiedLog {
  /** Newest first, without a gap from the head on. If one is wrong, it is the last. */
  readonly entries: readonly LogEntry[]
  readonly head: SignedHead | undefined
  /** Entries up to this one are no longer kept. */
  readonly base: number
  /** The place where the next older page begins. Null when everything is verified. */
  readonly cursor: string | null
  readonly fault: LogFault | undefined
}

interface VerifyOptions {
  /** What was verified before. The log must contain it unchanged, and is read down to it. */
  readonly before?: VerifiedLog | undefined
  /** The newest entry that this page has received in another way. */
  readonly seenSeq?: number | undefined
  /** Stops after this many entries; `continueLog` goes on. */
  readonly limit?: number
  readonly onProgress?: (log: VerifiedLog) => void
  readonly signal?: AbortSignal
}

/** Entries that are hashed before the page gets its turn. */
const SLICE = 40
/** A node may be a moment behind the store, and an entry may be appended between two requests. */
const TRIES = 5
const TRY_MS = 400

/** Reads the log from its signed head down, and recomputes every hash. */
export async function verifyLog(source: LogSource, options: VerifyOptions = {}): Promise<VerifiedLog> {
  const { before, seenSeq = 0 } = options
  const least = Math.max(seenSeq, before?.head?.seq ?? 0)
  let result: VerifiedLog | undefined
  for (let tries = 1; ; tries++) {
    const page = await source.page(undefined)
    const head = await verifyHead(source)
    const first = page.items[0]?.seq ?? page.base.seq
    const start = { entries: [], head, base: page.base.seq, cursor: page.next_cursor, fault: undefined }
    const fault = findHeadFault(head, first, Math.max(least, first), source.siteId)
    if (fault === undefined && head !== undefined) {
      result = await readPages(source, start, page, head, options)
      // Entries that arrived in the meantime are covered by the next head.
      break
    }
    if (tries === TRIES || head === undefined) return { ...start, fault }
    await sleep(TRY_MS)
  }
  return result
}

/** Reads older pages of a log whose newer entries are verified. */
export async function continueLog(
  source: LogSource,
  before: VerifiedLog,
  options: VerifyOptions = {},
): Promise<VerifiedLog> {
  if (before.cursor === null || before.head === undefined || before.fault !== undefined) return before
  const page = await source.page(before.cursor)
  return readPages(source, before, page, before.head, options)
}

function findHeadFault(
  head: SignedHead | undefined,
  firstSeq: number,
  leastSeq: number,
  siteId: string,
): LogFault | undefined {
  if (head === undefined)
    return { seq: firstSeq, why: say('is not covered by a valid signature for {siteId}', { siteId }) }
  if (head.seq < leastSeq)
    return { seq: head.seq + 1, why: say('exists, but the service sent an older signed head without it') }
  return firstSeq < head.seq ? { seq: head.seq, why: say('is missing') } : undefined
}

async function verifyHead(source: LogSource): Promise<SignedHead | undefined> {
  const head = parseHeartbeat(await source.head())
  if (head === undefined || head.site_id !== source.siteId) return undefined
  const key = await findHeadKey(await source.chain(), head.kid)
  if (typeof key === 'string' || (await checkHeartbeat(head, key)) === undefined) return undefined
  return { epoch: head.epoch, seq: head.seq, hash: head.hash, asOf: head.as_of, kid: head.kid }
}

async function readPages(
  source: LogSource,
  start: VerifiedLog,
  first: LogPage & { readonly next_cursor: string | null },
  head: SignedHead,
  { before, limit = Number.POSITIVE_INFINITY, onProgress, signal }: VerifyOptions,
): Promise<VerifiedLog> {
  const entries = [...start.entries]
  const stopAt = entries.length + limit
  const wrong = (seq: number, why: string): VerifiedLog => ({
    ...start,
    entries,
    cursor: null,
    fault: { seq, why },
  })
  const oldest = entries.at(-1)
  let expected = {
    seq: oldest === undefined ? head.seq : oldest.seq - 1,
    hash: oldest?.prev_hash ?? head.hash,
  }
  const known = before?.fault === undefined ? before?.entries[0] : undefined
  for (let page = first; ; ) {
    for (let i = 0; i < page.items.length; i += SLICE) {
      const slice = page.items.slice(i, i + SLICE)
      const checked = await Promise.all(slice.map((given) => checkOne(given)))
      for (const [n, given] of slice.entries()) {
        if (given.seq !== expected.seq) return wrong(expected.seq, say('is missing or not in its place'))
        entries.push(given)
        const why = checked[n] ?? findLinkFault(given, expected.hash, head, source.siteId)
        if (why !== undefined) return wrong(given.seq, why)
        if (given.seq === known?.seq && before !== undefined) {
          if (given.hash !== known.hash)
            return wrong(given.seq, say('is not the one that this page verified before'))
          return { ...before, head, entries: [...entries, ...before.entries.slice(1)] }
        }
        expected = { seq: given.seq - 1, hash: given.prev_hash }
      }
      onProgress?.({ ...start, entries: [...entries], cursor: page.next_cursor })
      await takeTurn()
      if (signal?.aborted === true) throw new DOMException(say('The page was left.'), 'AbortError')
    }
    if (page.next_cursor === null) break
    if (entries.length >= stopAt) return { ...start, entries, cursor: page.next_cursor, fault: undefined }
    page = await source.page(page.next_cursor)
  }
  const isWhole = expected.seq === start.base && (start.base > 0 || expected.hash === GENESIS_HASH)
  return isWhole || entries.length === 0
    ? { ...start, entries, cursor: null, fault: undefined }
    : wrong(expected.seq, say('is missing'))
}

/** What is wrong with an entry by itself. */
async function checkOne(given: LogEntry): Promise<string | undefined> {
  const entry = parseEntry(given)
  if (entry === undefined) return say('does not have the form of an entry')
  return (await checkEntry(entry)) === undefined ? say('does not match its hash') : undefined
}

function findLinkFault(
  { hash, epoch, site_id }: LogEntry,
  expectedHash: string,
  head: SignedHead,
  siteId: string,
): string | undefined {
  if (hash !== expectedHash) return say('is not the one that the next entry names')
  return epoch === head.epoch && site_id === siteId ? undefined : say('belongs to another log')
}

/** Lets the browser paint and react. */
async function takeTurn(): Promise<void> {
  const { scheduler } = globalThis as { scheduler?: { yield?: () => Promise<void> } }
  if (scheduler?.yield !== undefined) await scheduler.yield()
  else await sleep(0)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
