import type { Clocks } from '@countersign/core'
import { type LogPart, newEntries } from '../store/checkpoints/log-part.ts'
import { LogCut, RowForged } from '../store/errors.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import type { LoggedEntry, LogPage } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'
import type { Wake } from './wake.ts'

/** A part of the log that was read now. */
export interface TailPage extends LogPart {
  /** The clocks before the store was asked: the log had these entries at this time or later. */
  readonly askedAt: Clocks
}

export interface TailOptions {
  readonly store: Pick<Store, 'entriesAfter'>
  readonly wake: Wake
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
 */
export async function* tail(options: TailOptions): AsyncGenerator<TailPage, void, void> {
  const { store, wake, clocks, signal, onFailure, pageSize = PAGE_SIZE, from = 0 } = options
  let last: LoggedEntry | undefined
  while (!signal.aborted) {
    const { count } = wake // Before the read: an entry appended between the two must still wake us.
    const askedAt = clocks()
    let page: LogPage | undefined
    try {
      page = await store.entriesAfter(last === undefined ? from : last.position - 1, pageSize)
    } catch (fault) {
      if (fault instanceof LogCorrupted) throw fault
      if (fault instanceof RowForged) throw new LogCorrupted('forged', fault.message, { cause: fault })
      onFailure(fault)
    }
    const isEnd = page !== undefined && page.entries.length < pageSize
    if (page !== undefined) {
      const at = last?.position ?? from
      if (page.basePosition > at)
        throw new LogCut(`entries up to ${page.basePosition} were removed, and ${at} was the last one read`)
      // The last entry is not read again once it is before the base.
      const entries = newEntries(page.entries, at > page.basePosition ? last : undefined, at)
      last = entries.at(-1) ?? last
      yield { entries, askedAt, isEnd, end: page.end }
    }
    if (page === undefined || isEnd) await wake.sleep(count, POLL_MS, signal, last?.position ?? from)
  }
}
