import {
  deriveSubjectPpid,
  deriveUserRefPpid,
  type OAuthIssuer,
  type Ppid,
  type SiteView,
  type SubjectKey,
} from '@countersign/core'
import { staleProblem } from '../access/require-fresh.ts'
import type { Deps } from '../deps.ts'
import { derivePpid } from '../keys/ids.ts'
import { Problem } from '../problem.ts'

type IdDeps = Pick<Deps, 'store' | 'keys'>
type IdView = Pick<SiteView, 'siteId' | 'subjectKey'>

/**
 * Both ids of the user with this `user_ref` at the site: the pairwise id of its credentials,
 * and the id of its access tokens.
 */
export async function findUserRefIds(
  { store, keys }: IdDeps,
  view: IdView,
  userRef: string,
): Promise<readonly [pairwise: Ppid, ofTokens: Ppid]> {
  const { siteId } = view
  const site = await store.site(siteId)
  if (site === undefined) throw new Problem('not_found')
  const pairwise = derivePpid(keys.openPairwise(siteId, site.pairwiseSecretSealed), userRef)
  return [pairwise, await deriveUserRefPpid(requireSubjectKey(view), userRef)]
}

/**
 * The ids of the user with this subject at an OAuth issuer: one, or both of `findUserRefIds`
 * if the subject is the `user_ref` of the site.
 */
export async function findSubjectIds(
  deps: IdDeps,
  view: IdView,
  { issuer, userRefFromSubject }: Pick<OAuthIssuer, 'issuer' | 'userRefFromSubject'>,
  subject: string,
): Promise<readonly Ppid[]> {
  if (userRefFromSubject) return findUserRefIds(deps, view, subject)
  return [await deriveSubjectPpid(requireSubjectKey(view), issuer, subject)]
}

/** Throws `revocation_view_stale` while this node has no key for derived ids of the site. */
export function requireSubjectKey({ subjectKey }: IdView): SubjectKey {
  if (subjectKey === undefined) throw staleProblem()
  return subjectKey
}
