import { isKnownCredential } from '../../../access/is-known-credential.ts'
import { resolveCredential } from '../../../actions/resolve-user.ts'
import { revokeCredential } from '../../../actions/revoke-credential.ts'
import type { Route } from '../../../route.ts'
import { answerRevocation } from '../../shared/answer-revocation.ts'
import { requireRevoker } from '../../shared/require-revoker.ts'

/** Allowed with an API key of the site, or with the credential itself, delegated or not. */
export const revokeCredentialRoute: Route<'revoke_credential'> = async (request, deps) => {
  const { credential_id, site_id: siteId, reason } = request.body
  const context = await requireRevoker(
    request,
    deps,
    siteId,
    async (allow) => allow.subject.credentialId === credential_id && (await isKnownCredential(deps, allow)),
  )
  const credentialId = await resolveCredential(deps, siteId, request.body)
  const revoked = await revokeCredential(deps, { siteId, credentialId, reason }, context)
  return answerRevocation(request, deps, siteId, { revocation_type: 'credential' }, revoked)
}
