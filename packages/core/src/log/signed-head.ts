import { parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import { parseTime } from '../encoding/rfc3339.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { isEpoch, isSeq, isSha256Hex, isTime, parseFields } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import type { ConfirmedHead } from './freshness.ts'
import { isKid, isMaxAgeSeconds, isSignature } from './signed-fields.ts'
import type { SnapshotEnd, SnapshotHead } from './snapshot.ts'

/** What a heartbeat says: at `as_of`, or later, the log of the site ended here. */
export interface HeartbeatFields {
  readonly site_id: SiteId
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  /** A time before the store was asked. */
  readonly as_of: string
  /**
   * The oldest that a verifier's revocation data may become before it rejects everything, whatever
   * its own setting is.
   */
  readonly max_age_seconds: number
  /** Which of the service's feed keys signs. */
  readonly kid: string
}

export interface Heartbeat extends HeartbeatFields {
  readonly signature: string
}

/**
 * Undefined for anything but exactly these members, each in its grammar. Says nothing about the
 * signature.
 */
export function parseHeartbeat(value: unknown): Heartbeat | undefined {
  const { site_id, epoch, seq, hash, as_of, max_age_seconds, kid, signature } = parseFields(value, 8) ?? {}
  const siteId = parseSiteId(site_id)
  if (siteId === undefined || !isEpoch(epoch) || !isSeq(seq) || !isSha256Hex(hash)) return undefined
  if (!isTime(as_of) || !isMaxAgeSeconds(max_age_seconds) || !isKid(kid) || !isSignature(signature))
    return undefined
  return { site_id: siteId, epoch, seq, hash, as_of, max_age_seconds, kid, signature }
}

/**
 * The text that is signed. Its first line keeps a heartbeat from being taken for anything else that
 * the same key signs.
 */
export function heartbeatText({
  site_id,
  epoch,
  seq,
  hash,
  as_of,
  max_age_seconds,
  kid,
}: HeartbeatFields): string {
  return `countersign-heartbeat\n${canonicalJson({ site_id, epoch, seq, hash, as_of, max_age_seconds, kid })}`
}

/** The text that is signed: the head, and the digest of all the bytes before the last line. */
export function snapshotText(
  { site_id, epoch, seq, hash, as_of, max_age_seconds }: SnapshotHead,
  sha256: string,
): string {
  const head = { type: 'head', site_id, epoch, seq, hash, as_of, max_age_seconds }
  return `countersign-snapshot\n${canonicalJson({ head, sha256 })}`
}

export async function signHeartbeat(fields: HeartbeatFields, key: PrivateKey): Promise<Heartbeat> {
  return { ...fields, signature: await signFeedText(heartbeatText(fields), key) }
}

/**
 * The proof of the head when the signature holds under this key, otherwise undefined. Finding the
 * key of `kid` is the caller's part.
 */
export async function checkHeartbeat(
  heartbeat: Heartbeat,
  key: PublicKey,
): Promise<ConfirmedHead | undefined> {
  return (await isFeedSignature(heartbeatText(heartbeat), heartbeat.signature, key))
    ? toConfirmedHead(heartbeat)
    : undefined
}

/** The last line of a snapshot. */
export async function signSnapshot(
  head: SnapshotHead,
  digest: { lines: number; sha256: string },
  kid: string,
  key: PrivateKey,
): Promise<SnapshotEnd> {
  return {
    type: 'end',
    ...digest,
    kid,
    signature: await signFeedText(snapshotText(head, digest.sha256), key),
  }
}

/**
 * A snapshot proves its own head, if the signature holds and `received` is what the caller counted
 * and hashed itself. Otherwise undefined, and nothing of it may be used.
 */
export async function checkSnapshot(
  head: SnapshotHead,
  end: SnapshotEnd,
  received: { readonly lines: number; readonly sha256: string },
  key: PublicKey,
): Promise<ConfirmedHead | undefined> {
  if (end.lines !== received.lines || end.sha256 !== received.sha256) return undefined
  return (await isFeedSignature(snapshotText(head, end.sha256), end.signature, key))
    ? toConfirmedHead(head)
    : undefined
}

function toConfirmedHead({
  site_id,
  epoch,
  seq,
  hash,
  as_of,
  max_age_seconds,
}: Omit<HeartbeatFields, 'kid'>): ConfirmedHead | undefined {
  const asOfMs = parseTime(as_of)
  return asOfMs === undefined
    ? undefined
    : { siteId: site_id, epoch, seq, hash, asOfMs, maxAgeSeconds: max_age_seconds }
}
