import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { SignIn } from '../store/operations/sign-ins.ts'
import type { Site } from '../store/operations/sites.ts'
import { createOneTimeSecret, requireReturnUrl } from './start-sign-in.ts'

export interface OpenedSignIn {
  readonly signIn: SignIn
  readonly site: Site
  /** The secret that the browser must send from now on. */
  readonly browser: string
  /** Whether this call has bound it. */
  readonly isNew: boolean
}

/**
 * Opens a sign-in for the first browser that asks, and binds it to that browser. The secret is
 * always created here and never taken from the browser, so an attacker cannot plant one. Throws
 * `state_invalid` for every other browser, and for a sign-in that has ended.
 */
export async function openSignIn(
  { store, clock }: Pick<Deps, 'store' | 'clock'>,
  state: string,
  held: string | undefined,
): Promise<OpenedSignIn> {
  const made = createOneTimeSecret()
  const newSha256 = secretSha256(made)
  const heldSha256 = held === undefined ? undefined : secretSha256(held)
  const signIn = await store.openSignIn(secretSha256(state), { heldSha256, newSha256 }, clock.nowMs())
  const site = signIn && (await store.site(signIn.siteId))
  if (signIn === undefined || site === undefined) throw new Problem('state_invalid')
  requireReturnUrl(site, signIn.returnUrl)
  const isNew = signIn.browserSha256 === newSha256
  return { signIn, site, browser: isNew || held === undefined ? made : held, isNew }
}
