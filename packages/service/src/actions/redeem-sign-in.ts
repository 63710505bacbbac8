import { hash } from 'node:crypto'
import { requireFresh, staleProblem } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { SignInPresentation } from '../store/operations/sign-ins.ts'
import { recheckPresentation } from './finish-sign-in.ts'

/**
 * Uses up the code of a sign-in and returns the user. Throws `code_invalid` for a code that is
 * unknown, used, expired or sent with another verifier (RFC 7636 §4.6), for a user who was revoked
 * since, and for a return URL that the site has removed since. A wrong verifier does not use up the
 * code, so an attacker who has seen the code cannot spoil it. Throws `store_unavailable` when this
 * node cannot say what is revoked; the code can then be used again.
 */
export async function redeemSignIn(
  { store, views, clock }: Pick<Deps, 'store' | 'views' | 'clock'>,
  code: string,
  codeVerifier: string,
): Promise<SignInPresentation> {
  // Before the code is used up, so that the site can try again when this node has fresh data.
  requireFresh(views, 'store_unavailable')
  const challenge = hash('sha256', codeVerifier, 'base64url')
  const codeSha256 = secretSha256(code)
  const usedAtMs = clock.nowMs()
  const redeemed = await store.redeemSignIn(codeSha256, challenge, usedAtMs)
  if (redeemed === undefined) throw new Problem('code_invalid')
  const hasReturnUrl = await isReturnUrlRegistered(store, redeemed)
  if (!views.readiness().ready) {
    await store.returnSignInCode(codeSha256, usedAtMs)
    throw staleProblem('store_unavailable')
  }
  // The store checks its tables, but the log decides (A273).
  const fault = recheckPresentation(redeemed, views.view(redeemed.siteId), clock.nowMs())
  if (!hasReturnUrl || fault !== undefined) throw new Problem('code_invalid')
  return redeemed
}

/** The code went to that URL, and the site may have removed it because it is no longer its own. */
async function isReturnUrlRegistered(
  store: Pick<Deps['store'], 'signIn' | 'site'>,
  { stateSha256, siteId }: SignInPresentation,
): Promise<boolean> {
  const [signIn, site] = await Promise.all([store.signIn(stateSha256), store.site(siteId)])
  return signIn !== undefined && (site?.returnUrls.includes(signIn.returnUrl) ?? false)
}
