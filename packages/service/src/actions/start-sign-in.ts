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
  /** Undefined: the whole scope of the credential. */
  readonly requestedScope: readonly Scope[] | undefined
  readonly clientState: string | undefined
  readonly codeChallenge: string
}

/**
 * Starts a sign-in and returns its state, of which only the hash is stored. Throws `site_unknown`,
 * `redirect_not_allowed` unless the return URL is byte for byte a registered one, and
 * `rate_limited` when the site has too many open sign-ins.
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
 * A flood from many addresses must not fill the store. The limit lifts when the first of them
 * expire.
 */
function tooManyOpen(openMax: number): Problem {
  return new Problem('rate_limited', `This site has ${openMax} sign-ins open. Try again in a minute.`, {
    retryAfterSeconds: 60,
    policy: { name: 'open_sign_ins', quota: openMax, windowSeconds: limits.sign_in_state_seconds },
  })
}

/**
 * Throws unless the return URL is still registered: removing one also ends sign-ins that are
 * running.
 */
export function requireReturnUrl({ returnUrls }: Site, returnUrl: string): void {
  if (!returnUrls.includes(returnUrl)) throw new Problem('redirect_not_allowed')
}

/** 256 random bits in base64url. Only the hash may be stored. */
export function createOneTimeSecret(): string {
  return randomBytes(32).toString('base64url')
}
