import { parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import type { JsonValue } from '../encoding/json.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { type EntryKind, isEntryKind, isEpoch, isSeq, isSha256Hex } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import { isTime, parseFields } from './members.ts'
import { isKid, isSignature } from './signed-fields.ts'

/**
 * The state of a verifier in a stored receipt. `gone`: it has closed, or its lease has ended, so it
 * rejects everything; or it had no lease, has disconnected, and `denied_at_latest` has passed.
 */
export const receiptVerifierStates = ['acknowledged', 'waiting', 'silent', 'not_connected', 'gone'] as const
export type ReceiptVerifierState = (typeof receiptVerifierStates)[number]

/** `complete`: every verifier has acknowledged the entry or is gone. */
export const receiptStates = ['complete', 'waiting'] as const
export type ReceiptState = (typeof receiptStates)[number]

/** A receipt lists at most this many verifiers, those that have not acknowledged first. */
export const RECEIPT_VERIFIERS_MAX = 100

export interface ReceiptVerifier {
  readonly verifier_id: string
  /** Null for a reader that declares no instance. */
  readonly instance_id: string | null
  /** The node that it was connected to, if it was connected. */
  readonly node_id: string | null
  readonly state: ReceiptVerifierState
  /** From `at` of the entry until the acknowledgement arrived. Null when unknown. */
  readonly after_ms: number | null
  /**
   * Until it applied the entry, by its own report; never more than `after_ms`. Null when it has not
   * reported that. Receipts of earlier releases have neither this member nor the next one.
   */
  readonly applied_ms?: number | null | undefined
  /** Until it first denied what the entry revoked, by its own report. Null when it has not. */
  readonly first_denied_ms?: number | null | undefined
  /** If it has not acknowledged: from when on it rejects everything. Null when unknown. */
  readonly rejects_from: string | null
  readonly fails_open: boolean
}

/** Which verifiers had applied an entry of the log by `as_of`. It names no user. */
export interface ReceiptFields {
  readonly site_id: SiteId
  readonly epoch: string
  readonly seq: number
  readonly kind: EntryKind
  /** The hash of the entry, which binds the receipt to the log. */
  readonly entry_hash: string
  readonly at: string
  /** A time read after the entry was committed. */
  readonly committed_at: string
  readonly as_of: string
  readonly state: ReceiptState
  /** True: the service does not update this receipt again. */
  readonly final: boolean
  /** The drill that appended the entry. */
  readonly drill_id: string | null
  /** All verifiers that had to apply the entry. */
  readonly expected: number
  readonly acknowledged: number
  readonly gone: number
  /** Until the last of them acknowledged. Null while some have not. */
  readonly elapsed_ms: number | null
  readonly denied_everywhere_at: string | null
  readonly denied_at_latest: string
  readonly verifiers: readonly ReceiptVerifier[]
  /** The feed key of the service that signs. */
  readonly kid: string
}

export interface SignedReceipt extends ReceiptFields {
  readonly signature: string
}

const NAME_CHARS_MAX = 256
const ID = /^[A-Za-z0-9_-]{1,64}$/

/**
 * Undefined unless the value has exactly the members of a receipt, each well-formed, and its counts
 * agree with its state. Does not check the signature.
 */
export function parseReceipt(value: unknown): SignedReceipt | undefined {
  const fields = parseFields(value, 20)
  if (fields === undefined) return undefined
  const { site_id, epoch, seq, kind, entry_hash, at, committed_at, as_of, state, drill_id } = fields
  const { final, expected, acknowledged, gone, elapsed_ms, denied_everywhere_at, denied_at_latest } = fields
  const { kid, signature } = fields
  const siteId = parseSiteId(site_id)
  const verifiers = parseVerifiers(fields.verifiers)
  if (siteId === undefined || !isEpoch(epoch) || !isSeq(seq) || seq === 0 || !isEntryKind(kind))
    return undefined
  if (!isSha256Hex(entry_hash) || !isTime(at) || !isTime(committed_at) || !isTime(as_of)) return undefined
  if ((state !== 'complete' && state !== 'waiting') || typeof final !== 'boolean') return undefined
  if (!isSeq(expected) || !isSeq(acknowledged) || !isSeq(gone) || !isNullOr(isSeq, elapsed_ms))
    return undefined
  if (!isNullOr(isTime, denied_everywhere_at) || !isTime(denied_at_latest) || !isNullOr(isMadeId, drill_id))
    return undefined
  if (verifiers === undefined || verifiers.length > expected || !isKid(kid) || !isSignature(signature))
    return undefined
  if ((state === 'complete') !== (acknowledged + gone === expected) || acknowledged + gone > expected)
    return undefined
  return {
    site_id: siteId,
    epoch,
    seq,
    kind,
    entry_hash,
    at,
    committed_at,
    as_of,
    state,
    final,
    drill_id,
    expected,
    acknowledged,
    gone,
    elapsed_ms,
    denied_everywhere_at,
    denied_at_latest,
    verifiers,
    kid,
    signature,
  }
}

function parseVerifiers(value: unknown): readonly ReceiptVerifier[] | undefined {
  if (!Array.isArray(value) || value.length > RECEIPT_VERIFIERS_MAX) return undefined
  const verifiers = value.map(parseVerifier)
  return verifiers.every((each) => each !== undefined) ? verifiers : undefined
}

function parseVerifier(value: unknown): ReceiptVerifier | undefined {
  const known = parseFields(value, 9)
  const { verifier_id, instance_id, node_id, state, after_ms, rejects_from, fails_open } =
    known ?? parseFields(value, 7) ?? {}
  if (!isName(verifier_id) || !isNullOr(isName, instance_id) || !isNullOr(isName, node_id)) return undefined
  if (!isVerifierState(state) || !isNullOr(isSeq, after_ms) || !isNullOr(isTime, rejects_from))
    return undefined
  if (typeof fails_open !== 'boolean') return undefined
  const verifier = { verifier_id, instance_id, node_id, state, after_ms, rejects_from, fails_open }
  if (known === undefined) return verifier
  const { applied_ms, first_denied_ms } = known
  if (!isNullOr(isSeq, applied_ms) || !isNullOr(isSeq, first_denied_ms)) return undefined
  return { ...verifier, applied_ms, first_denied_ms }
}

function isNullOr<T>(is: (value: unknown) => value is T, value: unknown): value is T | null {
  return value === null || is(value)
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value.length <= NAME_CHARS_MAX && value.isWellFormed()
}

/** The form of the ids that the service creates. */
export function isMadeId(value: unknown): value is string {
  return typeof value === 'string' && ID.test(value)
}

function isVerifierState(value: unknown): value is ReceiptVerifierState {
  return receiptVerifierStates.some((state) => state === value)
}

/** The signed text. Its first line separates it from all other texts that a feed key signs. */
function receiptText(receipt: ReceiptFields): string {
  return `countersign-receipt\n${canonicalJson(receipt as unknown as JsonValue, 'signature')}`
}

export async function signReceipt(fields: ReceiptFields, key: PrivateKey): Promise<SignedReceipt> {
  return { ...fields, signature: await signFeedText(receiptText(fields), key) }
}

/**
 * Whether this key signed exactly this receipt. The caller has parsed it, and finds the key by
 * `kid`.
 */
export function checkReceipt(receipt: SignedReceipt, key: PublicKey): Promise<boolean> {
  return isFeedSignature(receiptText(receipt), receipt.signature, key)
}
