import type { JsonObject, PermissionId, Ppid, Scope, SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text, toSiteId } from '../columns.ts'
import { lock, type Row, read, row, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { recordCredential, type SeenCredential } from './credentials.ts'
import { userLock } from './shared/chain-locks.ts'
import { insertRow, intact, updateRow } from './shared/mac-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

/** A credential that a user may claim once, with their own key. */
export interface NewOffer {
  readonly sha256: string
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId | undefined
  readonly ttlSeconds: number | undefined
  readonly expiresAtMs: number
}

export interface Offer extends NewOffer {
  /** Who created it. */
  readonly actor: string
  /** Whether the user was revoked since. */
  readonly isCancelled: boolean
  /** Kept until the offer expires, so that a claim whose answer was lost can be repeated. */
  readonly claim: OfferClaim | undefined
}

export interface OfferClaim {
  readonly holderKey: string
  /** Signed, and bound to that key. */
  readonly credential: JsonObject
}

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
  yield* recordAudit({ siteId, action: 'offer.create', target: ppid, context })
}

/**
 * The caller checks whether the offer has expired, was cancelled or is claimed. Undefined for an
 * offer that the service did not write.
 */
export const offer = read(function* (sha256: string): Transaction<Offer | undefined> {
  const found = yield* intact('offers', yield* row('SELECT * FROM offers WHERE sha256 = $1', sha256))
  if (found === undefined) return undefined
  return {
    sha256,
    siteId: toSiteId(found),
    ppid: text(found, 'ppid') as Ppid,
    scope: json(found, 'scope'),
    permissionId: optionalText(found, 'permission_id') as PermissionId | undefined,
    ttlSeconds: optionalNumber(found, 'ttl_seconds'),
    actor: text(found, 'actor'),
    isCancelled: optionalNumber(found, 'killed_at') !== undefined,
    expiresAtMs: number(found, 'expires_at'),
    claim: toClaim(found),
  }
})

/** How many offers can be claimed: those of a user, or all of the site. */
export const countOffers = read(function* (
  siteId: SiteId,
  ppid: Ppid | undefined,
  nowMs: number,
): Transaction<number> {
  const found = yield* row(
    `SELECT COUNT(*) AS offers FROM offers WHERE site_id = $1 AND killed_at IS NULL AND claimed_at IS NULL AND expires_at > $2
       AND ${ppid === undefined ? 'CAST($3 AS TEXT) IS NULL' : 'ppid = $3'}`,
    siteId,
    nowMs,
    ppid ?? null,
  )
  return found === undefined ? 0 : number(found, 'offers')
})

/**
 * Claims an offer for a holder key and records what was issued for it, once. Returns the credential
 * that the offer was claimed for: the given one, or that of an earlier claim with the same key.
 * Undefined when another key has claimed the offer, and when it has expired or was cancelled. A
 * revocation of the user takes the same lock: either it revokes the claimed credential, or the
 * claim finds the offer cancelled.
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
  yield* recordCredential(seen, 'new', context.atMs, context)
  return credential
}

function toClaim(found: Row): OfferClaim | undefined {
  const holderKey = optionalText(found, 'holder_key')
  return holderKey === undefined ? undefined : { holderKey, credential: json(found, 'credential') }
}
