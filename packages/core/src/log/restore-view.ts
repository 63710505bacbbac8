import type { SiteId } from '../credential/ids.ts'
import type { LogHead } from './position.ts'
import { createTableSeed, type TableSeed } from './revoked-table.ts'
import { SiteState } from './site-state.ts'
import type { SnapshotLine } from './snapshot.ts'
import { SiteView } from './view.ts'

export interface RestoreOptions {
  readonly siteId: SiteId
  /** The last entry that the lines include. */
  readonly head: LogHead
  /** When the lines were written. */
  readonly at: string
  /** For tests. Random by default. */
  readonly seed?: TableSeed
}

/** A view that is being restored. */
export interface ViewRestore {
  /** Accepts the lines of `toStateLines` and of pages, the pages in their order. */
  add(line: SnapshotLine): void
  /** The view at `head`, as if every entry up to there had been applied. */
  finish(): SiteView
}

/**
 * Restores a view from lines instead of entries. Only for a node that reads its own store and has
 * checked that the lines are the ones it wrote. The view treats every further entry as proven.
 */
export function beginRestore({ siteId, head, at, seed = createTableSeed() }: RestoreOptions): ViewRestore {
  const state = new SiteState(seed, head)
  return {
    add: (line) => state.add(line, at),
    finish: () => new SiteView({ siteId, seed, entriesAreProven: true, state }),
  }
}
