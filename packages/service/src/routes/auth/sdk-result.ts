import { formatTime, toChainGrounds } from '@countersign/core'
import type { SignInResult } from '@countersign/core/contract'
import { redeemSignIn } from '../../actions/redeem-sign-in.ts'
import type { Route } from '../../route.ts'

export const signInResult: Route<'sign_in_result'> = async ({ body: { code, code_verifier } }, deps) => {
  const signedIn = await redeemSignIn(deps, code, code_verifier)
  const [leaf] = signedIn.chain
  if (leaf === undefined) throw new TypeError('a sign-in needs a credential')
  const { credentialIds, holders, oldestSignedAtMs } = toChainGrounds(signedIn.chain)
  const answer: SignInResult = {
    ppid: signedIn.ppid,
    site_id: signedIn.siteId,
    scope: [...signedIn.scope],
    permission_id: signedIn.permissionId,
    credential_id: leaf.credentialId,
    verified_at: formatTime(signedIn.verifiedAtMs),
    expires_at: formatTime(signedIn.credentialEndsAtMs),
    issuer: signedIn.issuer,
    oldest_created_at: formatTime(oldestSignedAtMs),
    credential_chain: [...credentialIds],
    holder_thumbprints: holders.filter((holder) => holder !== undefined),
  }
  return { status: 200, body: answer }
}
