import {
  type CredentialId,
  deriveSessionId,
  deriveSubjectPpid,
  deriveTokenId,
  deriveUserRefPpid,
  type Ppid,
  type SiteId,
  type SiteView,
  type SubjectKey,
} from '@countersign/core'
import type { Deps } from '../deps.ts'
import { derivePpid } from '../keys/ids.ts'
import { loadCurrentView } from '../log/load-current-view.ts'
import { Problem } from '../problem.ts'
import { pairwisePurpose } from '../sealing/purposes.ts'

type ResolveDeps = Pick<Deps, 'store' | 'views' | 'keys'>

/** A user by one of the names that people know. */
export interface NamedUser {
  readonly ppid?: Ppid | undefined
  readonly user_ref?: string | undefined
  readonly issuer?: string | undefined
  readonly subject?: string | undefined
}

/** A token or session of an OAuth issuer, or a credential by its id. */
export interface NamedCredential {
  readonly credential_id?: CredentialId | undefined
  readonly issuer?: string | undefined
  readonly jti?: string | undefined
  readonly session?: string | undefined
}

/**
 * All ids of a user at a site; at least one. A `user_ref` has two: the pairwise one of credentials,
 * and the one of access tokens whose issuers use the same name. The subject of such an issuer has
 * these two and its own, so that the user stays revoked when that setting of the issuer changes.
 * Throws a Problem when the view of this node is stale.
 */
export async function resolveUser(
  deps: ResolveDeps,
  siteId: SiteId,
  { ppid, user_ref, issuer, subject }: NamedUser,
): Promise<readonly Ppid[]> {
  if (ppid !== undefined) return [ppid]
  const { view, subjectKey } = await loadSubjectKey(deps, siteId)
  if (user_ref !== undefined) return resolveUserRef(deps, siteId, subjectKey, user_ref)
  if (issuer === undefined || subject === undefined) throw new TypeError('the request names no user')
  const own = await deriveSubjectPpid(subjectKey, issuer, subject)
  // Also of an issuer that the site distrusts now, and may trust again.
  const isUserRef = view.oauthIssuers.rows.get(issuer)?.state.user_ref_from_subject === true
  return isUserRef ? [...(await resolveUserRef(deps, siteId, subjectKey, subject)), own] : [own]
}

async function resolveUserRef(
  { store, keys }: ResolveDeps,
  siteId: SiteId,
  subjectKey: SubjectKey,
  userRef: string,
): Promise<readonly Ppid[]> {
  const site = await store.site(siteId)
  if (site === undefined) throw new Problem('site_unknown')
  const pairwise = derivePpid(keys.open(pairwisePurpose(siteId), site.pairwiseSecretSealed), userRef)
  return [pairwise, await deriveUserRefPpid(subjectKey, userRef)]
}

/** The id under which the log revokes it. Throws as `resolveUser` does. */
export async function resolveCredential(
  deps: Pick<Deps, 'store' | 'views'>,
  siteId: SiteId,
  { credential_id, issuer, jti, session }: NamedCredential,
): Promise<CredentialId> {
  if (credential_id !== undefined) return credential_id
  const { subjectKey } = await loadSubjectKey(deps, siteId)
  if (issuer !== undefined && jti !== undefined) return deriveTokenId(subjectKey, issuer, jti)
  if (issuer !== undefined && session !== undefined) return deriveSessionId(subjectKey, issuer, session)
  throw new TypeError('the request names no credential')
}

/** The key of the view, so that the ids are those with which this node and the guards decide. */
async function loadSubjectKey(
  deps: Pick<Deps, 'store' | 'views'>,
  siteId: SiteId,
): Promise<{ readonly view: SiteView; readonly subjectKey: SubjectKey }> {
  const view = await loadCurrentView(deps, siteId)
  const { subjectKey } = view
  if (subjectKey === undefined)
    throw new Problem('revocation_view_stale', undefined, { retryAfterSeconds: 1 })
  return { view, subjectKey }
}
