import type { LogPosition, SiteId } from '@countersign/core'

/**
 * A result, and up to which position the log must be read to know it; 0 when no entry is needed.
 * For a repeated revocation it is the position of the first one: a node must not confirm the
 * revocation before it has applied that entry.
 */
export type Logged<T> = T & { readonly position: number }

/** The position of an entry, and when it was written. */
export interface EntryPosition extends LogPosition {
  readonly atMs: number
}

export interface SiteEntryPosition extends EntryPosition {
  readonly siteId: SiteId
}
