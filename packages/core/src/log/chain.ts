import type { SiteId } from '../credential/ids.ts'
import { crypto } from '../proof/crypto.ts'
import { type Entry, type EntryBodies, type EntryKind, parseEntry } from './entry.ts'
import type { LogHead } from './position.ts'

/** What the first entry of a log has for `prev_hash`. */
export const GENESIS_HASH = '0'.repeat(64)

declare const checked: unique symbol
/** An entry whose hash was recomputed and held. Only such an entry can be applied to a view. */
export type CheckedEntry = Entry & { readonly [checked]: true }

/**
 * SHA-256 of the canonical JSON of an entry without its `hash`, in lower-case hex; at once where
 * the crypto backend answers at once. The entry comes from `parseEntry`; the hash of one with its
 * members in another order will not be the right one.
 */
export function entryHash({
  at,
  body,
  epoch,
  kind,
  prev_hash,
  seq,
  site_id,
}: Entry): string | Promise<string> {
  // The same text as canonical JSON, five times as fast: `parseEntry` has put the members of the
  // body in order, and lets no string pass that the two would write differently (a lone surrogate).
  return crypto.sha256Hex(JSON.stringify({ at, body, epoch, kind, prev_hash, seq, site_id }))
}

/** Undefined when the hash of the entry is not the hash of what it says. */
export function checkEntry(entry: Entry): CheckedEntry | undefined | Promise<CheckedEntry | undefined> {
  const hash = entryHash(entry)
  return typeof hash === 'string' ? ifEqual(entry, hash) : hash.then((h) => ifEqual(entry, h))
}

function ifEqual(entry: Entry, hash: string): CheckedEntry | undefined {
  return hash === entry.hash ? (entry as CheckedEntry) : undefined
}

export interface NewEntry<Kind extends EntryKind = EntryKind> {
  readonly siteId: SiteId
  readonly kind: Kind
  readonly body: EntryBodies[Kind]
  readonly at: string
}

/**
 * The next entry of a log. Throws a TypeError for fields that `parseEntry` would refuse: an entry
 * that no reader can take must never get into a log, because no reader would get past it.
 */
export function createEntry<Kind extends EntryKind>(
  fields: NewEntry<Kind>,
  prev: LogHead,
): Entry<Kind> | Promise<Entry<Kind>> {
  const { siteId, kind, body, at } = fields
  const draft = {
    epoch: prev.epoch,
    seq: prev.seq + 1,
    site_id: siteId,
    kind,
    body,
    at,
    prev_hash: prev.hash,
    hash: GENESIS_HASH,
  }
  const entry = parseEntry(draft)
  if (entry === undefined)
    throw new TypeError(`a log entry of kind ${String(kind)} does not follow its grammar`)
  const hash = entryHash(entry)
  const seal = (h: string) => ({ ...entry, hash: h }) as Entry<Kind>
  return typeof hash === 'string' ? seal(hash) : hash.then(seal)
}

/** Why an entry does not continue a log. */
export type ChainFault = 'other_site' | 'other_epoch' | 'hole' | 'wrong_prev' | 'wrong_hash'

export type ChainAudit =
  | { readonly ok: true; readonly head: LogHead }
  /** `seq` is where an entry was expected, `found` what the entry there called itself. */
  | { readonly ok: false; readonly fault: ChainFault; readonly seq: number; readonly found: number }

/**
 * Where an audit begins: after `head`, which is believed, or before the first entry. What is not
 * given is believed of the first entry.
 */
export interface AuditStart {
  readonly siteId?: SiteId
  readonly head?: LogHead
}

/**
 * Reads a log from one end to the other and says where it first fails, or what its head is. An
 * entry that is missing at the end cannot be seen from here: compare the head with what is known of
 * it. Reads on without waiting wherever entries and hashes are there at once.
 */
export async function auditChain(
  entries: Iterable<Entry> | AsyncIterable<Entry>,
  from: AuditStart = {},
): Promise<ChainAudit> {
  let { siteId, head } = from
  const step = (entry: Entry, hash: string): ChainAudit | undefined => {
    const fault = findChainFault(entry, hash, siteId, head)
    if (fault !== undefined) return { ok: false, fault, seq: (head?.seq ?? 0) + 1, found: entry.seq }
    siteId = entry.site_id
    head = { epoch: entry.epoch, seq: entry.seq, hash: entry.hash }
    return undefined
  }
  if (Symbol.asyncIterator in entries) {
    for await (const entry of entries) {
      const failed = step(entry, await entryHash(entry))
      if (failed !== undefined) return failed
    }
  } else {
    for (const entry of entries) {
      const hash = entryHash(entry)
      const failed = step(entry, typeof hash === 'string' ? hash : await hash)
      if (failed !== undefined) return failed
    }
  }
  return { ok: true, head: head ?? { epoch: '', seq: 0, hash: GENESIS_HASH } }
}

function findChainFault(
  entry: Entry,
  hash: string,
  siteId: SiteId | undefined,
  head: LogHead | undefined,
): ChainFault | undefined {
  if (siteId !== undefined && entry.site_id !== siteId) return 'other_site'
  if (head !== undefined && entry.epoch !== head.epoch) return 'other_epoch'
  if (entry.seq !== (head?.seq ?? 0) + 1) return 'hole'
  if (entry.prev_hash !== (head?.hash ?? GENESIS_HASH)) return 'wrong_prev'
  return hash === entry.hash ? undefined : 'wrong_hash'
}
