import { randomBytes } from 'node:crypto'
import type { Scope, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import { clientStatePurpose } from '../sealing/purposes.ts'
import type { Site } from '../store/operations/sites.ts'

export interface SignInOrder {
  readonly siteId: SiteId
  readonly returnUrl: string
  /** Undefined: whatever the credential gives. */
  readonly requestedScope: readonly Scope[] | undefined
  readonly clientState: string | undefined
  readonly codeChallenge: string
}

/**
 * Begins a sign-in and gives its state, which exists here and in the answer only. Throws
 * `site_unknown`, and `redirect_not_allowed` for a return URL that is not, byte for byte, one of
 * the site's; `rate_limited` when the site has too many open already.
 */
export async function startSignIn(
  deps: Pick<Deps, 'store' | 'keys' | 'clock' | 'config'>,
  order: SignInOrder,
): Promise<string> {
  const { store, keys, clock, config } = deps
  const { siteId, returnUrl, requestedScope, clientState, codeChallenge } = order
  const site = await store.site(siteId)
  if (site === undefined) throw new Problem('site_unknown')
  requireReturnUrl(site, returnUrl)
  const state = createOneTimeSecret()
  const stateSha256 = secretSha256(state)
  const nowMs = clock.nowMs()
  const openMax = config.openSignInsMax
  const signIn = {
    stateSha256,
    siteId,
    returnUrl,
    requestedScope,
    clientStateSealed:
      clientState === undefined ? undefined : keys.seal(clientStatePurpose(stateSha256), clientState),
    codeChallenge,
    expiresAtMs: nowMs + limits.sign_in_state_seconds * 1000,
  }
  if (!(await store.createSignIn(signIn, { nowMs, openMax }))) throw tooManyOpen(openMax)
  return state
}

/**
 * A flood from many addresses must not fill the store. It ends by itself when the first of them
 * expire.
 */
function tooManyOpen(openMax: number): Problem {
  return new Problem('rate_limited', `This site has ${openMax} sign-ins open. Try again in a minute.`, {
    retryAfterSeconds: 60,
    policy: { name: 'open_sign_ins', quota: openMax, windowSeconds: limits.sign_in_state_seconds },
  })
}

/**
 * That the site still says so: one that has taken a return URL off its list means it for what is on
 * its way too.
 */
export function requireReturnUrl({ returnUrls }: Site, returnUrl: string): void {
  if (!returnUrls.includes(returnUrl)) throw new Problem('redirect_not_allowed')
}

/** 256 random bits in base64url. Only its hash may be kept. */
export function createOneTimeSecret(): string {
  return randomBytes(32).toString('base64url')
}
