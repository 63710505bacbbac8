import {
  consumeHolderProof,
  isDenial,
  parseDidKey,
  readCredentialHeader,
  type SignedCredential,
} from '@countersign/core'
import { headerNames } from '@countersign/core/contract'
import { denialToProblem } from '../access/guard.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'

/**
 * Throws the Problem of a credential that cannot be read, in the header or in the body, when it
 * authenticates the caller.
 */
export function requireReadableCredential(
  request: Pick<RouteRequest, 'caller' | 'lines' | 'requirePresentation' | 'credentialBody'>,
): void {
  if (request.caller.kind !== 'anonymous') return
  const inBody = request.credentialBody?.credential
  if (inBody !== undefined && isDenial(inBody)) throw denialToProblem(inBody)
  if (request.lines(headerNames.credential) !== undefined) readShownCredential(request)
}

/**
 * Throws unless the caller may be given a kept answer. A caller with an API key has been
 * authenticated already. A caller with a holder-bound credential must have signed this request too,
 * with a fresh nonce: otherwise a thief of the credential could repeat the holder's requests. The
 * credential itself is not judged again, because the kept answer may say that it is now revoked.
 */
export async function requireSameHolder(
  request: Pick<RouteRequest, 'caller' | 'lines' | 'requirePresentation' | 'holderRequest'>,
  { clock, nonces }: Pick<Deps, 'clock' | 'nonces'>,
): Promise<void> {
  if (request.caller.kind !== 'anonymous' || request.lines(headerNames.credential) === undefined) return
  const { holderKey: holderDid } = readShownCredential(request).credential
  if (holderDid === undefined) return
  const holderKey = parseDidKey(holderDid)
  if (holderKey === undefined) throw new Problem('proof_invalid')
  const expected = { holderKey, holderDid, nowMs: clock.nowMs(), credentialHeaderSent: true }
  const proof = await consumeHolderProof(request.holderRequest, expected, nonces)
  if (isDenial(proof)) throw denialToProblem(proof)
}

function readShownCredential({
  requirePresentation,
}: Pick<RouteRequest, 'requirePresentation'>): SignedCredential {
  const presented = requirePresentation()
  if (!('header' in presented)) throw new Problem('credential_missing')
  const read = readCredentialHeader(presented.header)
  if (isDenial(read)) throw denialToProblem(read)
  return read
}
