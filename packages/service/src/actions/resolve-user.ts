import {
  type CredentialId,
  deriveSessionId,
  deriveSubjectPpid,
  deriveTokenId,
  type Ppid,
  type SiteId,
} from '@countersign/core'
import type { Deps } from '../deps.ts'
import { loadCurrentView } from '../log/load-current-view.ts'
import { findUserRefIds, requireSubjectKey } from './user-ids.ts'

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
 * these two and its own, so that the user stays revoked when that setting of the issuer is switched
 * off. Throws a Problem when the view of this node is stale.
 */
export async function resolveUser(
  deps: Pick<Deps, 'store' | 'views' | 'keys'>,
  siteId: SiteId,
  { ppid, user_ref, issuer, subject }: NamedUser,
): Promise<readonly Ppid[]> {
  if (ppid !== undefined) return [ppid]
  const view = await loadCurrentView(deps, siteId)
  if (user_ref !== undefined) return findUserRefIds(deps, view, user_ref)
  if (issuer === undefined || subject === undefined) throw new TypeError('the request names no user')
  const own = await deriveSubjectPpid(requireSubjectKey(view), issuer, subject)
  const row = view.oauthIssuers.rows.get(issuer)
  const isUserRef =
    row?.state.user_ref_from_subject === true ||
    (row?.distrustedMs !== undefined && (await usesUserRefsLater(deps, siteId, issuer)))
  return isUserRef ? [...(await findUserRefIds(deps, view, subject)), own] : [own]
}

/** The log does not state changes of an issuer that the site distrusts now, and may trust again. */
async function usesUserRefsLater({ store }: Pick<Deps, 'store'>, siteId: SiteId, issuer: string) {
  return (await store.issuer(siteId, issuer))?.oauth?.user_ref_from_subject === true
}

/** The id under which the log revokes it. Throws as `resolveUser` does. */
export async function resolveCredential(
  deps: Pick<Deps, 'store' | 'views'>,
  siteId: SiteId,
  { credential_id, issuer, jti, session }: NamedCredential,
): Promise<CredentialId> {
  if (credential_id !== undefined) return credential_id
  const subjectKey = requireSubjectKey(await loadCurrentView(deps, siteId))
  if (issuer !== undefined && jti !== undefined) return deriveTokenId(subjectKey, issuer, jti)
  if (issuer !== undefined && session !== undefined) return deriveSessionId(subjectKey, issuer, session)
  throw new TypeError('the request names no credential')
}
