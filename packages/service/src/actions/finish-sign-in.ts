import { checkGrounds, type SiteData, toChainGrounds } from '@countersign/core'
import { limits, type ProblemCode } from '@countersign/core/contract'
import { requireFresh } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import { clientStatePurpose } from '../sealing/purposes.ts'
import type { SignIn, SignInPresentation } from '../store/operations/sign-ins.ts'
import { createOneTimeSecret, requireReturnUrl } from './start-sign-in.ts'

export interface SignInReturn {
  readonly state: string
  /** The secret in the cookie of the browser. */
  readonly browser: string
  /** Undefined: the user has cancelled. */
  readonly payload: string | undefined
}

/** The outcome for the integration, and its address. */
export interface FinishedSignIn {
  readonly returnUrl: string
  readonly clientState: string | undefined
  readonly outcome: { readonly code: string } | { readonly error: ProblemCode | 'access_denied' }
}

/**
 * Ends a sign-in. First one statement uses up the state, whatever follows: `state_invalid` for all
 * requests but one. Then the payload must be that of this sign-in (`callback_invalid`), and the
 * credential must still be valid, in the view of this node and in the store. Only then a code is
 * created.
 */
export async function finishSignIn(
  deps: Pick<Deps, 'store' | 'keys' | 'clock' | 'views'>,
  { state, browser, payload }: SignInReturn,
): Promise<FinishedSignIn> {
  const { store, keys, clock, views } = deps
  // Before the state is used up, so that the user can try again when this node has fresh data.
  if (payload !== undefined) requireFresh(views)
  const ended = await store.endSignIn(
    {
      stateSha256: secretSha256(state),
      browserSha256: secretSha256(browser),
      payloadSha256: payload === undefined ? undefined : secretSha256(payload),
      as: payload === undefined ? 'cancelled' : 'consumed',
    },
    clock.nowMs(),
  )
  const site = ended && (await store.site(ended.signIn.siteId))
  if (ended === undefined || site === undefined) throw new Problem('state_invalid')
  const { signIn, presentation } = ended
  requireReturnUrl(site, signIn.returnUrl)
  const { returnUrl, clientStateSealed, stateSha256 } = signIn
  const clientState =
    clientStateSealed === undefined
      ? undefined
      : keys.open(clientStatePurpose(stateSha256), clientStateSealed)
  const finished = (outcome: FinishedSignIn['outcome']) => ({ returnUrl, clientState, outcome })

  if (payload === undefined) return finished({ error: 'access_denied' })
  if (presentation === undefined) throw new Problem('callback_invalid')
  const fault = recheckPresentation(presentation, views.view(site.siteId), clock.nowMs())
  return finished(fault === undefined ? await createCode(presentation, signIn, deps) : { error: fault })
}

async function createCode(
  presentation: SignInPresentation,
  { codeChallenge }: SignIn,
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
): Promise<FinishedSignIn['outcome']> {
  const code = createOneTimeSecret()
  const expiresAtMs = clock.nowMs() + limits.sign_in_code_seconds * 1000
  const made = await store.createSignInCode(presentation, {
    codeSha256: secretSha256(code),
    codeChallenge,
    expiresAtMs,
  })
  return made === 'created' ? { code } : { error: 'credential_revoked' }
}

/** Why this node would deny the same presentation now. */
export function recheckPresentation(
  presentation: SignInPresentation,
  site: SiteData | undefined,
  nowMs: number,
): ProblemCode | undefined {
  const { ppid, chain, issuer, issuerKey, credentialEndsAtMs, isCancelled } = presentation
  const trusted = site?.issuer(issuer)
  if (site === undefined || trusted === undefined) return 'issuer_untrusted'
  const grounds = { issuer, issuerKey, ppid, ...toChainGrounds(chain), expiresAtMs: credentialEndsAtMs }
  const denial = checkGrounds(grounds, site, nowMs)
  if (denial !== undefined) return denial.code
  if (isCancelled) return 'credential_revoked'
  const { scope: cap } = trusted
  return cap !== undefined && !presentation.scope.every((scope) => cap.has(scope))
    ? 'scope_insufficient'
    : undefined
}
