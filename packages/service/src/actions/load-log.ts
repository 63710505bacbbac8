import type { EntryKind, LogPosition, SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { SiteBase } from '../store/operations/cut-log.ts'
import type { SiteLogPage } from '../store/operations/log-pages.ts'

/** Which entries to list, between two positions of which neither is included. */
export interface LogQuery {
  readonly after: LogPosition | undefined
  readonly before: LogPosition | undefined
  readonly kind: EntryKind | undefined
  readonly order: 'newest' | 'oldest'
  readonly limit: number
}

/** Before the first removal of entries. */
const NO_BASE: SiteBase = { seq: 0, hash: '0'.repeat(64) }

/**
 * Loads a page of the log of a site, and its base. Works with the store alone, so the log can be
 * looked at while the view of this node is stale. Throws `cursor_ahead` for a position that is not
 * in this log, and `cursor_expired` for one whose neighbours were removed.
 */
export async function loadLog(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  { after, before, kind, order, limit }: LogQuery,
): Promise<Required<SiteLogPage>> {
  const { epoch } = store
  if ([after, before].some((position) => position !== undefined && position.epoch !== epoch))
    throw new Problem('cursor_ahead', OTHER_EPOCH)
  const known = (await store.siteBase(siteId)) ?? NO_BASE
  requireKept(known, after, before)
  const page = await store.siteLogPage(siteId, {
    afterSeq: Math.max(after?.seq ?? 0, known.seq),
    beforeSeq: before?.seq ?? Number.MAX_SAFE_INTEGER,
    kind,
    order,
    limit,
  })
  const base = page.base ?? NO_BASE
  // Entries may have been removed in between: a page with a gap must not look complete.
  if (base.seq !== known.seq) requireKept(base, after, before)
  if (after !== undefined && page.entries.length === 0) await requireEntry(store, siteId, after.seq)
  return { entries: page.entries, base }
}

function requireKept({ seq }: SiteBase, after?: LogPosition, before?: LogPosition): void {
  const isGone = (after !== undefined && after.seq < seq) || (before !== undefined && before.seq <= seq + 1)
  if (seq > 0 && isGone)
    throw new Problem(
      'cursor_expired',
      `The service has removed the entries up to ${seq}. Ask for later ones, or load a snapshot.`,
    )
}

/** An empty page after an entry that does not exist would look like the end of the log. */
async function requireEntry(store: Deps['store'], siteId: SiteId, seq: number): Promise<void> {
  if (seq === 0) return
  const [found] = await store.siteEntriesAfter(siteId, seq - 1, 1)
  // The last entry always stays in the store.
  if (found?.seq !== seq) throw new Problem('cursor_ahead', AFTER_HEAD)
}

const OTHER_EPOCH = 'The position is in another epoch of the log. List the log again from its end.'
const AFTER_HEAD =
  'The log of this site does not reach this position. If it did before, it has lost entries: run countersign doctor.'
