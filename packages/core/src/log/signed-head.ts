import { parseSiteId, type SiteId } from '../credential/ids.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import { parseTime } from '../encoding/rfc3339.ts'
import type { PrivateKey, PublicKey } from '../proof/keys.ts'
import { isEpoch, isSeq, isSha256Hex } from './entry.ts'
import { isFeedSignature, signFeedText } from './feed-signature.ts'
import type { ConfirmedHead } from './freshness.ts'
import { isTime, parseFields } from './members.ts'
import { isKid, isMaxAgeSeconds, isSignature } from './signed-fields.ts'
import type { SnapshotEnd, SnapshotHead } from './snapshot.ts'

/** A heartbeat states that the log of the site ended here at `as_of` or later. */
export interface HeartbeatFields {
  readonly site_id: SiteId
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  /** A time before the store was read. */
  readonly as_of: string
  /**
   * A verifier must reject everything when its data is older than this, whatever its own setting
   * is.
   */
  readonly max_age_seconds: number
  /** The feed key of the service that signs. */
  readonly kid: string
}

export interface Heartbeat extends HeartbeatFields {
  readonly signature: string
}

/**
 * Undefined unless the value has exactly these members, each well-formed. Does not check the
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

/** The signed text. Its first line separates it from all other texts that a feed key signs. */
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

/** The signed text: the head, and the digest that the last line states. */
export function snapshotText(
  { site_id, epoch, seq, hash, as_of, max_age_seconds, base }: SnapshotHead,
  sha256: string,
): string {
  const { seq: baseSeq, hash: baseHash } = base
  const head = {
    type: 'head',
    site_id,
    epoch,
    seq,
    hash,
    as_of,
    max_age_seconds,
    base: { seq: baseSeq, hash: baseHash },
  }
  return `countersign-snapshot\n${canonicalJson({ head, sha256 })}`
}

export async function signHeartbeat(fields: HeartbeatFields, key: PrivateKey): Promise<Heartbeat> {
  return { ...fields, signature: await signFeedText(heartbeatText(fields), key) }
}

/**
 * The confirmed head if this key signed the heartbeat; otherwise undefined. The caller finds the
 * key by `kid`.
 */
export async function checkHeartbeat(
  heartbeat: Heartbeat,
  key: PublicKey,
): Promise<ConfirmedHead | undefined> {
  return (await isFeedSignature(heartbeatText(heartbeat), heartbeat.signature, key))
    ? toConfirmedHead(heartbeat)
    : undefined
}

/** Creates the last line of a snapshot. */
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
 * The confirmed head of a snapshot if this key signed it and if it matches `received`, which the
 * caller counted and hashed. If undefined, no line of the snapshot may be used.
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
