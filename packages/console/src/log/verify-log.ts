import {
  checkEntry,
  checkHeartbeat,
  checkReceipt,
  parseEntry,
  parseHeartbeat,
  parseMultikey,
  parseReceipt,
} from '@countersign/core'
import type { LogEntry } from '@countersign/core/contract'

/** What this browser has found out by itself. */
export type Proof =
  | { readonly ok: true; readonly hashes: number }
  | { readonly ok: false; readonly seq: number; readonly why: string }

/** Entries that are hashed before the page gets its turn. */
const SLICE = 50

/**
 * Recomputes the hash of each entry, newest first, and follows the chain from one to the next.
 * `expected` is the hash that the first of them must have.
 */
export async function verifyEntries(
  entries: readonly LogEntry[],
  expected: string | undefined,
  onProgress: (done: number) => void = () => {},
): Promise<Proof> {
  let next = expected
  let seqBefore: number | undefined
  for (const [i, given] of entries.entries()) {
    const entry = parseEntry(given)
    const { seq } = given
    if (entry === undefined) return { ok: false, seq, why: 'does not have the form of an entry' }
    if (seqBefore !== undefined && seq !== seqBefore - 1)
      return { ok: false, seq: seqBefore - 1, why: 'is missing' }
    if (next !== undefined && entry.hash !== next)
      return { ok: false, seq, why: 'is not the one that the next entry names' }
    if ((await checkEntry(entry)) === undefined) return { ok: false, seq, why: 'does not match its hash' }
    next = entry.prev_hash
    seqBefore = seq
    if (i % SLICE === SLICE - 1) {
      onProgress(i + 1)
      await new Promise((resolve) => setTimeout(resolve))
    }
  }
  return { ok: true, hashes: entries.length }
}

export interface FeedKey {
  readonly kid: string
  readonly public_key_multibase: string
}

/** The hash of a head that one of these keys has signed; otherwise undefined. */
export async function verifyHead(
  value: unknown,
  keys: readonly FeedKey[],
): Promise<
  { readonly seq: number; readonly hash: string; readonly asOf: string; readonly kid: string } | undefined
> {
  const head = parseHeartbeat(value)
  const found = keys.find(({ kid }) => kid === head?.kid)
  const key = found && parseMultikey(found.public_key_multibase)
  if (head === undefined || key === undefined || (await checkHeartbeat(head, key)) === undefined)
    return undefined
  return { seq: head.seq, hash: head.hash, asOf: head.as_of, kid: head.kid }
}

/** Whether one of these keys has signed the receipt exactly as it is. */
export async function verifyReceipt(value: unknown, keys: readonly FeedKey[]): Promise<boolean> {
  const receipt = parseReceipt(value)
  const found = keys.find(({ kid }) => kid === receipt?.kid)
  const key = found && parseMultikey(found.public_key_multibase)
  return receipt !== undefined && key !== undefined && (await checkReceipt(receipt, key))
}
