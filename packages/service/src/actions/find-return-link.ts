import { type ShownBrand, toShownBrand } from '../brand/shown-brand.ts'
import type { Deps } from '../deps.ts'
import { secretSha256 } from '../keys/secret-text.ts'

/** The site that a sign-in is for, and its registered address. */
export interface ReturnLink {
  readonly siteId: string
  /** The name that the site has chosen. */
  readonly name: string | undefined
  readonly brand: ShownBrand
  readonly returnUrl: string
}

/**
 * Where a user can go after a sign-in. Undefined when the state is unknown, and when the site has
 * removed the return URL from its list: pages link to registered addresses only.
 */
export async function findReturnLink(
  { store }: Pick<Deps, 'store'>,
  state: string,
): Promise<ReturnLink | undefined> {
  const signIn = await store.signIn(secretSha256(state))
  const site = signIn && (await store.site(signIn.siteId))
  if (signIn === undefined || site === undefined || !site.returnUrls.includes(signIn.returnUrl))
    return undefined
  return { siteId: site.siteId, name: site.name, brand: toShownBrand(site), returnUrl: signIn.returnUrl }
}
