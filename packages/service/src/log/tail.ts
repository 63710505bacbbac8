import type { Clocks } from '@countersign/core'
import { type LogPart, newEntries } from '../store/checkpoints/log-part.ts'
import { LogCut, RowForged } from '../store/errors.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import type { LoggedEntry, LogPage } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'
import { systemClocks } from '../system-clocks.ts'
import type { CommittedParts } from './committed-parts.ts'
import type { Wake } from './wake.ts'

/** A part of the log that was read now, or that this process has committed. */
export interface TailPage extends LogPart {
  /**
   * The clocks before the store was asked, or before the transaction began: up to then, nothing but
   * what was yielded had been appended. Of a page that is not the end, that is not known yet.
   */
  readonly askedAt: Clocks
}

export interface TailOptions {
  readonly store: Pick<Store, 'entriesAfter'>
  readonly wake: Wake
  /** Entries that this process has committed, which need not be read again. */
  readonly committed?: CommittedParts
  readonly clocks: () => Clocks
  readonly signal: AbortSignal
  /** Called with every failure to read. The tail tries again. */
  readonly onFailure: (fault: unknown) => void
  readonly pageSize?: number
  /** Begins after this position. */
  readonly from?: number
}

/** How often the store is read. A wake-up makes the next read earlier. */
export const POLL_MS = 250
const PAGE_SIZE = 2000

/**
 * Follows the log of all sites without end. Pages without new entries are yielded too: they confirm
 * that nothing was added. Each read includes the last entry again, to detect a log that was cut or
 * rewritten: that throws a `LogCorrupted`. Throws a `LogCut` when entries were removed before they
 * were read. A store that does not answer is asked again.
 *
 * What this process has committed is yielded without reading it, which saves 0.1 ms of each
 * revocation with SQLite and a round trip with PostgreSQL. The store is still read every `POLL_MS`,
 * and must have what was yielded.
 */
export async function* tail(options: TailOptions): AsyncGenerator<TailPage, void, void> {
  const { store, wake, committed, clocks, signal, onFailure, pageSize = PAGE_SIZE, from = 0 } = options
  /** The last entry that was read, and what was committed here since. */
  let known: LoggedEntry[] = []
  /** The last read that reached the end of the log, when what is committed may continue it. */
  let lastEnd: { readonly atMs: number; readonly askedAt: Clocks } | undefined
  let count = 0
  while (!signal.aborted) {
    const at = known.at(-1)?.position ?? from
    const nowMs = performance.now()
    const leftMs = lastEnd === undefined ? 0 : lastEnd.atMs + POLL_MS - nowMs
    const part = leftMs > 0 ? committed?.takeAfter(at, pageSize - known.length) : undefined
    if (lastEnd !== undefined && part !== undefined) {
      lastEnd = { ...lastEnd, askedAt: findLater(lastEnd.askedAt, toClocks(part.before, clocks())) }
      known.push(...part.entries)
      yield { ...part, askedAt: lastEnd.askedAt }
      await wake.sleep(count, leftMs, signal, part.end.position)
      continue
    }
    count = wake.beginRead() // An entry that is appended after this must still wake us.
    const askedAt = clocks()
    let page: LogPage | undefined
    try {
      page = await store.entriesAfter(known[0] === undefined ? from : known[0].position - 1, pageSize)
    } catch (fault) {
      if (fault instanceof LogCorrupted) throw fault
      if (fault instanceof RowForged) throw new LogCorrupted('forged', fault.message, { cause: fault })
      onFailure(fault)
    }
    if (page !== undefined) {
      const { basePosition, end } = page
      if (basePosition > at)
        throw new LogCut(`entries up to ${basePosition} were removed, and ${at} was the last one read`)
      // What is known is not read again once it is before the base.
      const again = known.filter(({ position }) => position > basePosition)
      const entries = newEntries(page.entries, again, at)
      known = [...known, ...entries].slice(-1)
      const isEnd = page.entries.length < pageSize
      lastEnd = isEnd ? { atMs: nowMs, askedAt } : undefined
      yield { entries, askedAt, isEnd, end }
      if (!isEnd) continue
    }
    await wake.sleep(count, POLL_MS, signal, known.at(-1)?.position ?? from)
  }
}

/**
 * What the clocks of a node said when those of the machine said `then`. By the clock of the machine
 * that has gone further: one stops while the machine is paused.
 */
function toClocks(then: Clocks, { wallMs, monotonicMs }: Clocks): Clocks {
  const now = systemClocks()
  const agoMs = Math.max(0, now.wallMs - then.wallMs, now.monotonicMs - then.monotonicMs)
  return { wallMs: wallMs - agoMs, monotonicMs: monotonicMs - agoMs }
}

/** The time of what is known never goes back. */
function findLater(one: Clocks, other: Clocks): Clocks {
  return one.monotonicMs > other.monotonicMs ? one : other
}
