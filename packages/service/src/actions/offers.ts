import { checkHolderProof, type HolderRequest, type JsonObject, type Scope } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { denialToProblem } from '../access/guard.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Offer } from '../store/operations/offers.ts'
import type { Site } from '../store/operations/sites.ts'
import {
  checkHolderKey,
  chooseTtl,
  type IssueDeps,
  type IssueOrder,
  issueForUser,
  type KeepIssued,
  resolveOrder,
} from './issue-for-user.ts'
import { createOneTimeSecret } from './start-sign-in.ts'

/**
 * Offers a credential to a user, who claims it once, within minutes, with a key of the browser.
 * Returns the code of the offer, which is not stored. Throws when the credential could not be
 * issued now, with the same codes.
 */
export async function createOffer(
  deps: IssueDeps,
  order: Omit<IssueOrder, 'holderKey'>,
  context: AuditContext,
): Promise<string> {
  const { ppid } = await resolveOrder(deps, order, context)
  const code = createOneTimeSecret()
  const { siteId, scope, permissionId, ttlSeconds } = order
  const expiresAtMs = context.atMs + limits.offer_seconds * 1000
  await deps.store.createOffer(
    { sha256: secretSha256(code), siteId, ppid, scope, permissionId, ttlSeconds, expiresAtMs },
    context,
  )
  return code
}

/** What a user sees of an offer before accepting it. */
export interface OfferedCredential {
  readonly site: Site
  readonly scope: readonly Scope[]
  /** How long the credential will be valid from the claim on. */
  readonly ttlSeconds: number
  readonly issuer: string
  /** When the offer expires. */
  readonly expiresAtMs: number
}

/**
 * Reads an offer without using it up. Throws `code_invalid` alike for one that is unknown, expired
 * or claimed, and `credential_revoked` when its user was revoked since.
 */
export async function readOffer(
  deps: IssueDeps & Pick<Deps, 'clock'>,
  code: string,
): Promise<OfferedCredential> {
  const offer = await requireOffer(deps, secretSha256(code))
  if (offer.claim !== undefined) throw new Problem('code_invalid')
  requireNotRevoked(deps, offer)
  const { siteId, scope, expiresAtMs } = offer
  const site = await deps.store.site(siteId)
  if (site === undefined) throw new Problem('code_invalid')
  const issuer = deps.keys.issuerDid
  const ttlSecondsMax = deps.views.view(siteId)?.issuer(issuer)?.credentialTtlSecondsMax
  return {
    site,
    scope,
    ttlSeconds: await withOfferInvalid(() => chooseTtl(offer.ttlSeconds, site, ttlSecondsMax)),
    issuer,
    expiresAtMs,
  }
}

export interface Claim {
  readonly code: string
  readonly holderKey: string
  /** The request as the holder of that key signed it. */
  readonly request: HolderRequest
}

/**
 * Issues what was offered, bound to the claimer's key, once. The same claim can be repeated with
 * the same key until the offer expires, and is answered with the same credential: a lost answer
 * does not cost a user the access. Every claim must be signed by the key, so that no credential is
 * bound to a key that is not the claimer's.
 *
 * `code_invalid` for an offer that is unknown, expired or claimed with another key;
 * `credential_revoked` when its user was revoked since. Cheap checks come first: without an offer
 * and a signature there is no curve arithmetic, and no nonce is stored.
 */
export async function claimOffer(
  deps: IssueDeps & Pick<Deps, 'clock' | 'nonces'>,
  { code, holderKey, request }: Claim,
  requestId: string,
): Promise<JsonObject> {
  const sha256 = secretSha256(code)
  const offer = await requireOffer(deps, sha256)
  if (offer.claim !== undefined && offer.claim.holderKey !== holderKey) throw new Problem('code_invalid')
  if (request.header('signature-input') === undefined)
    throw new Problem('proof_required', 'The request is not signed. Sign it with holder_key (RFC 9421).')
  await proveKey(deps, holderKey, request)
  requireNotRevoked(deps, offer)
  if (offer.claim !== undefined) return offer.claim.credential

  const { siteId, ppid, scope, permissionId, ttlSeconds } = offer
  const context: AuditContext = { actor: offer.actor, atMs: deps.clock.nowMs(), requestId }
  const order = { siteId, user: { ppid }, scope, permissionId, ttlSeconds, holderKey }
  // Of several claims with the same key at the same time, each gets the credential of the first.
  let claimed: JsonObject | undefined
  const keep: KeepIssued = async (issued, credential) => {
    claimed = await deps.store.claimOffer(sha256, { holderKey, credential }, issued, context)
    if (claimed === undefined) throw new Problem('code_invalid')
  }
  const { credential } = await withOfferInvalid(() => issueForUser(deps, order, context, keep))
  return claimed ?? credential
}

async function requireOffer({ store, clock }: Pick<Deps, 'store' | 'clock'>, sha256: string): Promise<Offer> {
  const offer = await store.offer(sha256)
  if (offer === undefined || !(clock.nowMs() < offer.expiresAtMs)) throw new Problem('code_invalid')
  return offer
}

function requireNotRevoked({ views }: Pick<Deps, 'views'>, { siteId, ppid, isCancelled }: Offer): void {
  // Revoked now, so that a credential signed now would be revoked too.
  const isRevoked = views.view(siteId)?.userRevocation(ppid, Number.MAX_SAFE_INTEGER) !== undefined
  if (isCancelled || isRevoked)
    throw new Problem('credential_revoked', 'The access that was offered has been revoked. Contact the site.')
}

/**
 * The site may have changed its settings since it made the offer. The claimer cannot repair that:
 * the offer is invalid.
 */
async function withOfferInvalid<T>(issue: () => T | Promise<T>): Promise<T> {
  try {
    return await issue()
  } catch (thrown) {
    const isOver =
      thrown instanceof Problem && (thrown.code === 'api_key_forbidden' || thrown.code === 'ttl_out_of_range')
    throw isOver
      ? new Problem('code_invalid', 'The site no longer grants the access of this offer. Contact the site.', {
          cause: thrown,
        })
      : thrown
  }
}

async function proveKey(
  { clock, nonces }: Pick<Deps, 'clock' | 'nonces'>,
  holderKey: string,
  request: HolderRequest,
): Promise<void> {
  const key = checkHolderKey(holderKey)
  const nowMs = clock.nowMs()
  const proof = await checkHolderProof(request, {
    holderKey: key,
    holderDid: holderKey,
    nowMs,
    credentialHeaderSent: false,
  })
  if (!proof.ok) throw denialToProblem(proof)
  const { nonce, createdMs, usableUntilMs } = proof
  const use = await nonces.consume({ holderKey, nonce, createdMs, usableUntilMs, nowMs })
  if (use === 'replayed') throw new Problem('proof_replayed')
  if (use !== 'fresh') throw new Problem('proof_invalid')
}
