import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'

/** The site that a sign-in is for, and its registered address. */
export interface WayBack {
  /** The name that the site has chosen, or its id. */
  readonly site: string
  readonly returnUrl: string
}

/**
 * Finds out where a person can go whose sign-in is over. Undefined when the state is unknown, and
 * when the site has removed the return URL from its list: a page never leads to an address that is
 * not registered.
 */
export async function findWayBack(
  { store }: Pick<Deps, 'store'>,
  state: string,
): Promise<WayBack | undefined> {
  const signIn = await store.signIn(secretSha256(state))
  const site = signIn && (await store.site(signIn.siteId))
  if (signIn === undefined || site === undefined || !site.returnUrls.includes(signIn.returnUrl))
    return undefined
  return { site: site.name || site.siteId, returnUrl: signIn.returnUrl }
}
