import { hash } from 'node:crypto'
import { GENESIS_HASH } from '@countersign/core'

/** The digest of a log without entries. */
export const EMPTY_DIGEST = GENESIS_HASH

/**
 * The digest of the log of all sites after one more entry. The log row has the digest of all
 * entries in their order, and a MAC over it: so one row authenticates every entry.
 */
export function nextDigest(digest: string, entryHash: string): string {
  return hash('sha256', digest + entryHash)
}
