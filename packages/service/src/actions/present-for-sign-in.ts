import {
  type AllowCredential,
  type Denial,
  findRoot,
  type HolderRequest,
  isDenial,
  listChain,
  type SignedCredential,
  toPermissionId,
} from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { denialToProblem, type GuardDeps, guard } from '../access/guard.ts'
import { seenCredential } from '../access/seen-credentials.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { NewSignInPresentation, SignIn } from '../store/operations/sign-ins.ts'
import { createOneTimeSecret } from './start-sign-in.ts'

export interface SignInTry {
  readonly state: string
  /** The secret in the cookie of the browser. */
  readonly browser: string
  readonly credential: SignedCredential | Denial
  /** The request as the holder signed it. */
  readonly request: HolderRequest
}

/**
 * Presents a credential for a sign-in. Returns the one-time payload for the callback. A rejected
 * credential counts as a try, and `triesLeft` says how many remain; the sign-in stays open. Throws
 * `state_invalid` when all tries are used, and when the sign-in is over or another browser's.
 */
export async function presentForSignIn(
  deps: GuardDeps & Pick<Deps, 'store'>,
  attempt: SignInTry,
): Promise<string> {
  const stateSha256 = secretSha256(attempt.state)
  const browserSha256 = secretSha256(attempt.browser)
  const nowMs = deps.clock.nowMs()
  const signIn = await deps.store.trySignIn(stateSha256, browserSha256, limits.sign_in_tries_max, nowMs)
  if (signIn === undefined) {
    const found = await deps.store.signIn(stateSha256)
    if (found?.browserSha256 === browserSha256 && nowMs < found.expiresAtMs) requireTriesLeft(found)
    throw new Problem('state_invalid')
  }
  try {
    return await present(deps, attempt, signIn)
  } catch (thrown) {
    if (!(thrown instanceof Problem) || thrown.code === 'state_invalid') throw thrown
    const { code, detail, facts } = thrown
    throw new Problem(code, detail, { ...facts, triesLeft: limits.sign_in_tries_max - signIn.tries })
  }
}

/** Throws `state_invalid` when every try of a sign-in has been used. */
export function requireTriesLeft({ tries }: SignIn): void {
  if (tries >= limits.sign_in_tries_max) {
    const detail = `All ${limits.sign_in_tries_max} tries of this sign-in have been used. Start the sign-in again.`
    throw new Problem('state_invalid', detail, { triesLeft: 0 })
  }
}

async function present(
  deps: GuardDeps & Pick<Deps, 'store'>,
  { credential: signed, request }: SignInTry,
  signIn: SignIn,
): Promise<string> {
  if (isDenial(signed)) throw denialToProblem(signed)
  const scope = signIn.requestedScope ?? []
  const allow = (await guard(deps, {
    presentation: { signed },
    siteId: signIn.siteId,
    scope,
    request,
  })) as AllowCredential
  const payload = createOneTimeSecret()
  const nowMs = deps.clock.nowMs()
  const presentation = toPresentation(allow, signIn, secretSha256(payload), nowMs)
  const presented = await deps.store.presentSignIn(presentation, seenCredential(allow, 'sign_in'), nowMs)
  if (presented === 'revoked')
    throw new Problem('credential_revoked', 'Access with this credential has been revoked. Contact the site.')
  if (presented === 'over') throw new Problem('state_invalid')
  return payload
}

function toPresentation(
  { subject, credential, holders }: AllowCredential,
  { stateSha256, requestedScope }: SignIn,
  payloadSha256: string,
  nowMs: number,
): NewSignInPresentation {
  const root = findRoot(credential)
  return {
    payloadSha256,
    stateSha256,
    siteId: subject.siteId,
    ppid: subject.ppid,
    // The site sees no more scope than it asked for.
    scope: requestedScope ?? subject.scope,
    permissionId: toPermissionId(credential),
    chain: listChain(credential, holders),
    issuer: root.issuer,
    issuerKey: root.verificationMethod,
    verifiedAtMs: nowMs,
    credentialEndsAtMs: credential.validUntilMs,
    expiresAtMs: nowMs + limits.sign_in_payload_seconds * 1000,
  }
}
