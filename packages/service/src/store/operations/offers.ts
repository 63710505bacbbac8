import type { JsonObject, PermissionId, Ppid, SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import type { AuditContext, NewOffer, Offer, OfferClaim, SeenCredential } from '../store.ts'
import { lock, type Row, row, type Transaction } from '../transaction.ts'
import { auditDone } from './audit.ts'
import { recordCredentials } from './credentials.ts'
import { insertRow, intact, updateRow } from './macs.ts'
import { userLock } from './tokens.ts'

export function* createOffer(offer: NewOffer, context: AuditContext): Transaction<void> {
  const { siteId, ppid } = offer
  yield* insertRow('offers', {
    sha256: offer.sha256,
    site_id: siteId,
    ppid,
    scope: JSON.stringify(offer.scope),
    permission_id: offer.permissionId ?? null,
    ttl_seconds: offer.ttlSeconds ?? null,
    actor: context.actor,
    expires_at: offer.expiresAtMs,
  })
  yield* auditDone({ siteId, action: 'offer.create', target: ppid, outcome: 'done', context })
}

/** An offer that the service did not write does not exist, here and below. */
export function* offer(sha256: string): Transaction<Offer | undefined> {
  const found = yield* intact('offers', yield* row('SELECT * FROM offers WHERE sha256 = $1', sha256))
  if (found === undefined) return undefined
  return {
    sha256,
    siteId: text(found, 'site_id') as SiteId,
    ppid: text(found, 'ppid') as Ppid,
    scope: json(found, 'scope'),
    permissionId: optionalText(found, 'permission_id') as PermissionId | undefined,
    ttlSeconds: optionalNumber(found, 'ttl_seconds'),
    actor: text(found, 'actor'),
    isCancelled: optionalNumber(found, 'killed_at') !== undefined,
    expiresAtMs: number(found, 'expires_at'),
    claim: toClaim(found),
  }
}

/**
 * A revocation of the user takes the same lock: either the claim comes first and is revoked with
 * the rest, or it comes later and finds the offer killed. Of several claims with the same key the
 * first one counts, and the others are answered with its credential.
 */
export function* claimOffer(
  sha256: string,
  { holderKey, credential }: OfferClaim,
  seen: SeenCredential,
  context: AuditContext,
): Transaction<JsonObject | undefined> {
  yield* lock(userLock(seen.siteId, seen.ppid))
  const claimed = yield* row(
    `UPDATE offers SET claimed_at = $2, holder_key = $3, credential = $4
     WHERE sha256 = $1 AND claimed_at IS NULL AND killed_at IS NULL AND expires_at > $2 RETURNING *`,
    sha256,
    context.atMs,
    holderKey,
    JSON.stringify(credential),
  )
  if (claimed === undefined) {
    const found = yield* offer(sha256)
    const isOver = found === undefined || found.isCancelled || !(context.atMs < found.expiresAtMs)
    return isOver || found.claim?.holderKey !== holderKey ? undefined : found.claim.credential
  }
  const before = yield* intact('offers', { ...claimed, holder_key: null, credential: null })
  if (before === undefined) return undefined
  yield* updateRow('offers', before, { holder_key: holderKey, credential: JSON.stringify(credential) })
  yield* recordCredentials([seen], context.atMs, context)
  return credential
}

function toClaim(found: Row): OfferClaim | undefined {
  const holderKey = optionalText(found, 'holder_key')
  return holderKey === undefined ? undefined : { holderKey, credential: json(found, 'credential') }
}
