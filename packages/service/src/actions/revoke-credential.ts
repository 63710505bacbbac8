import type { Deps } from '../deps.ts'
import type { Logged } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { CredentialAtSite, Revoked } from '../store/operations/revocations.ts'
import { confirmRevocation } from './confirm-revocation.ts'

/**
 * Revokes one credential at one site permanently, and what was delegated or exchanged from it. The
 * promises are those of `revokeUser`.
 */
export async function revokeCredential(
  deps: Pick<Deps, 'store' | 'views'>,
  credential: CredentialAtSite,
  context: AuditContext,
): Promise<Revoked> {
  const { siteId, credentialId } = credential
  return confirmRevocation<Logged<Revoked>>(deps, {
    revokeInStore: (unconfirmed) => deps.store.revokeCredential(credential, context, unconfirmed),
    findUnconfirmed: (view, answer) =>
      view.credentialRevocation(credentialId) === undefined ? answer : undefined,
    siteId,
    row: { table: 'credential_revocations', key: `${siteId} ${credentialId}` },
  })
}
