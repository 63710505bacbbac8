import type { CheckedEntry } from './chain.ts'
import type { TableSeed } from './revoked-table.ts'
import { SiteState } from './site-state.ts'

/** A view follows at most this many entries beyond its last proven head. */
export const PENDING_ENTRIES_MAX = 10_000

/**
 * The entries received after the last proven head, and the state with them applied. No signed head
 * covers them yet.
 */
export class PendingEntries {
  readonly entries: CheckedEntry[] = []
  /**
   * `revocations` contains only those of the pending entries; issuers and settings are complete.
   */
  readonly latest: SiteState
  readonly #provenSeq: number

  constructor(seed: TableSeed, proven: SiteState) {
    this.latest = new SiteState(seed, proven.head, proven)
    this.#provenSeq = proven.head.seq
  }

  apply(entry: CheckedEntry): void {
    this.latest.apply(entry)
    this.entries.push(entry)
  }

  /** The hash of the pending entry at this seq; undefined for an entry that is not pending. */
  hashAt(seq: number): string | undefined {
    return this.entries[seq - this.#provenSeq - 1]?.hash
  }
}
