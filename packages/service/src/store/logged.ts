import type { LogPosition, SiteId } from '@countersign/core'

/**
 * A result, and how far the log must have been read to know it: 0 when there is nothing to read. Of
 * a revocation that was made before, the position of the first one: a caller that repeats it on
 * another node must not be told that it counts before that node has heard of it.
 */
export type Logged<T> = T & { readonly position: number }

/** The position of an entry, and when it was written. */
export interface EntryPosition extends LogPosition {
  readonly atMs: number
}

export interface SiteEntryPosition extends EntryPosition {
  readonly siteId: SiteId
}
