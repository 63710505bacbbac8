import { parseTime, type SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import type { Receipt } from '../feed/receipt.ts'
import type { ReceiptWait } from '../feed/receipts.ts'
import { Problem } from '../problem.ts'
import { StoreUnavailable } from '../store/errors.ts'
import type { EntryPosition } from '../store/logged.ts'

/**
 * Which verifiers have applied the entry with this number. Throws `not_found` when there is no
 * such entry.
 */
export async function loadPropagation(
  { store, verifiers }: Pick<Deps, 'store' | 'verifiers'>,
  siteId: SiteId,
  seq: number,
): Promise<{ readonly entry: EntryPosition; readonly receipt: Receipt }> {
  const [found] = await store.siteEntriesAfter(siteId, seq - 1, 1)
  const base = found?.seq === seq ? undefined : await store.siteBase(siteId)
  if (base !== undefined && seq <= base.seq)
    throw new Problem(
      'not_found',
      'The log of this site no longer has this entry: it is older than the time for which entries are kept.',
    )
  if (found?.seq !== seq)
    throw new Problem(
      'not_found',
      'The log of this site has no entry with this number yet. Check the number, or try again in a moment.',
    )
  const entry = { epoch: found.epoch, seq, atMs: parseTime(found.at) ?? 0 }
  return { entry, receipt: await verifiers.receipt(siteId, entry) }
}

/**
 * Waits for the acknowledgements of an entry, or until every verifier denies, for at most `ms`.
 * Undefined when the store fails meanwhile; the entry is committed in any case.
 */
export async function waitForVerifiers(
  { verifiers, log }: Pick<Deps, 'verifiers' | 'log'>,
  siteId: SiteId,
  entry: EntryPosition,
  wait: ReceiptWait,
): Promise<Receipt | undefined> {
  try {
    return await verifiers.receipt(siteId, entry, wait)
  } catch (fault) {
    if (!(fault instanceof StoreUnavailable || fault instanceof Problem)) throw fault
    log.warn({ err: fault }, 'could not load the receipt of a revocation')
    return undefined
  }
}
