import { type Denial, deny } from '../credential/denial.ts'
import { checkHolderProof, type ExpectedHolder, type HolderProof } from './check.ts'
import type { NonceStore } from './nonces.ts'
import type { HolderRequest } from './request.ts'

/**
 * Checks that the holder signed this request and consumes the nonce, so that the signature is
 * rejected the next time. Passes on what the nonce store throws.
 */
export async function consumeHolderProof(
  request: HolderRequest,
  expected: ExpectedHolder,
  nonces: NonceStore,
): Promise<HolderProof | Denial> {
  const proof = await checkHolderProof(request, expected)
  if (!proof.ok) return proof
  const { nonce, createdMs, usableUntilMs } = proof
  const use = await nonces.consume({
    holderKey: expected.holderDid,
    nonce,
    createdMs,
    usableUntilMs,
    nowMs: expected.nowMs,
  })
  if (use === 'replayed')
    return deny(
      'proof_replayed',
      'This request signature has been used before. Sign each request again, with a new nonce.',
    )
  if (use !== 'fresh')
    return deny(
      'proof_invalid',
      'This request signature is too old or too far in the future to exclude a replay. Sign the request again.',
    )
  return proof
}
