import { checkHolderProof, type HolderRequest, type JsonObject } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { Act } from '../store/store.ts'
import { problemOf } from './guard.ts'
import { checkHolderKey, type IssueDeps, type IssueOrder, issueForUser, type KeepIssued, settleOrder } from './issue-for-user.ts'
import { createOneTimeSecret } from './start-sign-in.ts'

/**
 * Offers a user a credential, to be claimed once and soon, with a key of the user's own. Gives the code of the offer, which exists here and in the
 * answer only. What could not be issued now is refused now, with the code that issuing has for it.
 */
export async function createOffer(deps: IssueDeps, order: Omit<IssueOrder, 'holderKey'>, act: Act): Promise<string> {
  const { ppid } = await settleOrder(deps, order, act)
  const code = createOneTimeSecret()
  const { siteId, scope, permissionId, ttlSeconds } = order
  const expiresAtMs = act.atMs + limits.offer_seconds * 1000
  await deps.store.createOffer({ sha256: secretSha256(code), siteId, ppid, scope, permissionId, ttlSeconds, expiresAtMs }, act)
  return code
}

export interface Claim {
  readonly code: string
  readonly holderKey: string
  /** The request as the holder of that key signed it. */
  readonly request: HolderRequest
}

/**
 * Issues what was offered, bound to the key of whoever claims it, once. The request must be signed by that key: nobody can have a credential bound to
 * a key that is not theirs. `code_invalid` for an offer that is unknown, claimed or too old; `credential_revoked` when its user was revoked since.
 */
export async function claimOffer(
  deps: IssueDeps & Pick<Deps, 'clock' | 'nonces'>,
  { code, holderKey, request }: Claim,
  requestId: string,
): Promise<JsonObject> {
  await proveKey(deps, holderKey, request)
  const sha256 = secretSha256(code)
  const offer = await deps.store.offer(sha256)
  const atMs = deps.clock.nowMs()
  if (offer === undefined || !(atMs < offer.expiresAtMs)) throw new Problem('code_invalid')
  const { siteId, ppid, scope, permissionId, ttlSeconds } = offer
  // Revoked for whatever is signed from now on, and not only for what was signed before a reinstatement.
  const isRevoked = deps.views.view(siteId)?.userRevocation(ppid, Number.MAX_SAFE_INTEGER) !== undefined
  if (offer.isKilled || isRevoked) {
    throw new Problem('credential_revoked', 'the access that was offered has been revoked')
  }
  const act: Act = { actor: offer.actor, atMs, requestId }
  const order = { siteId, user: { ppid }, scope, permissionId, ttlSeconds, holderKey }
  const keep: KeepIssued = async (issued) => {
    if (!(await deps.store.claimOffer(sha256, issued, act))) throw new Problem('code_invalid')
  }
  try {
    return (await issueForUser(deps, order, act, keep)).credential
  } catch (thrown) {
    // The site has changed its mind since: that is its matter, and whoever claims cannot mend it.
    const isOver = thrown instanceof Problem && (thrown.code === 'api_key_forbidden' || thrown.code === 'ttl_out_of_range')
    throw isOver ? new Problem('code_invalid', 'The site no longer gives out what this offer is for.', { cause: thrown }) : thrown
  }
}

async function proveKey({ clock, nonces }: Pick<Deps, 'clock' | 'nonces'>, holderKey: string, request: HolderRequest): Promise<void> {
  const key = checkHolderKey(holderKey)
  const nowMs = clock.nowMs()
  const proof = await checkHolderProof(request, { holderKey: key, holderDid: holderKey, nowMs, credentialHeaderSent: false })
  if (!proof.ok) throw problemOf(proof)
  const { nonce, createdMs, usableUntilMs } = proof
  const use = await nonces.consume({ holderKey, nonce, createdMs, usableUntilMs, nowMs })
  if (use === 'replayed') throw new Problem('proof_replayed')
  if (use !== 'fresh') throw new Problem('proof_invalid')
}
