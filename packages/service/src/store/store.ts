import type { CommittedPart } from './committed-part.ts'
import type { PortOperations } from './operations/all.ts'

/**
 * `position`: up to where something was appended, if that is known. `part`: the entries themselves,
 * if this process has committed them.
 */
export type AppendListener = (position?: number, part?: CommittedPart) => void

/**
 * Durable storage. Every implementation must pass the store test suite.
 *
 * - Each operation is one transaction: all of it or nothing. When its promise is fulfilled, the
 *   change is durable: it survives the loss of power. When it is rejected, the caller must assume
 *   nothing and acknowledge nothing.
 * - Log entries of one site are numbered 1, 2, 3… without gaps, and so are those of all sites
 *   together by `position`. A reader that sees a number sees every lower one. A number is assigned
 *   only when nothing can fail any more, and never twice.
 * - An operation that repeats an earlier one finds that out before it gets a number: it changes
 *   nothing and says so.
 * - An operation that appends an entry also writes the rows that it changes and its audit row in
 *   the same transaction.
 * - Throws a `StoreUnavailable` when the store cannot be reached, is full or takes too long;
 *   whether the change happened is then unknown.
 */
export interface Store extends PortOperations {
  readonly kind: 'sqlite' | 'postgres'
  /** Whether other nodes may be using it at the same time. */
  readonly isShared: boolean
  /**
   * The epoch of the log. A new one begins when the log is created, and after a restore or a
   * fail-over, which may have lost entries. It can change while the store is open; the log then
   * begins again at position 1, and what was read of it before is invalid.
   */
  readonly epoch: string
  /**
   * Asks the database whether the log is in another epoch, and begins one if the database is not
   * the one that wrote the log. Afterwards `epoch` is right. Throws a `LogCorrupted` when the log
   * fails its audit.
   */
  followEpoch(): Promise<void>
  /**
   * Calls back when something may have been appended, here or elsewhere. A hint: it may come late,
   * twice or never. A part has been committed, in the epoch of its entries.
   */
  onAppend(listener: AppendListener): () => void
  /**
   * Why the store cannot be written, though it may still be read; undefined while writes succeed.
   */
  writeFault(): string | undefined
  /** Rejects when the store does not answer. */
  ping(): Promise<void>
  close(): Promise<void>
}
