import {
  checkDrillReport,
  checkEntry,
  checkReceipt,
  type FeedKeyFault,
  findReceiptKey,
  parseDrillReport,
  parseEntry,
  parseJson,
  parseReceipt,
  type SignedReceipt,
} from '@countersign/core'
import { say } from '../say.ts'
import { loadFeedChain } from './feed-keys.ts'

/** What this browser has found out about a receipt or the report of a drill. */
export type DocumentCheck =
  | { readonly ok: true; readonly type: 'receipt' | 'drill'; readonly receipt: SignedReceipt }
  | { readonly ok: false; readonly why: string }

const FAULTS: Readonly<Record<FeedKeyFault, string>> = {
  unknown: say(
    'This service does not publish the key that signed it: it is of another service, or an old key.',
  ),
  compromised: say('The key that signed it was marked as compromised later. It proves nothing.'),
  unreadable: say('The feed keys of the service cannot be read.'),
}
const NOT_SIGNED = say('The signature does not match the text.')
const CHARS_MAX = 1 << 20

/** Checks the text of a file. One changed character makes it invalid. */
export async function checkDocumentText(text: string): Promise<DocumentCheck> {
  if (text.length > CHARS_MAX) return { ok: false, why: say('A receipt has at most 1 MiB.') }
  const parsed = parseJson(text, { depthMax: 8 })
  return checkDocument('value' in parsed ? parsed.value : undefined)
}

/** Checks a receipt or a report with the feed keys of this service. */
export async function checkDocument(value: unknown): Promise<DocumentCheck> {
  const receipt = parseReceipt(value)
  const report = receipt === undefined ? parseDrillReport(value) : undefined
  if (receipt === undefined && report === undefined)
    return {
      ok: false,
      why: say(
        'This is neither a receipt nor the report of a drill, it was changed, or a newer release wrote it.',
      ),
    }
  const chain = await loadFeedChain()
  if (report !== undefined) {
    const key = await findReceiptKey(chain, report.kid)
    if (typeof key === 'string') return { ok: false, why: FAULTS[key] }
    if (!(await checkDrillReport(report, key))) return { ok: false, why: NOT_SIGNED }
  }
  const own = receipt ?? report?.receipt
  if (own === undefined) return { ok: false, why: NOT_SIGNED }
  const key = await findReceiptKey(chain, own.kid)
  if (typeof key === 'string') return { ok: false, why: FAULTS[key] }
  if (!(await checkReceipt(own, key))) return { ok: false, why: NOT_SIGNED }
  return { ok: true, type: report === undefined ? 'receipt' : 'drill', receipt: own }
}

/** Whether this is the entry that a receipt is about: its hash, computed here, is the same. */
export async function matchesEntry(
  value: unknown,
  { entry_hash }: Pick<SignedReceipt, 'entry_hash'>,
): Promise<boolean> {
  const entry = parseEntry(value)
  return entry !== undefined && entry.hash === entry_hash && (await checkEntry(entry)) !== undefined
}
