import type { CredentialId, SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import type { Logged } from '../store/logged.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Revoked } from '../store/operations/revocations.ts'
import { confirmRevocation } from './confirm-revocation.ts'

export interface CredentialAtSite {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly reason: string | undefined
}

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
    revoke: (unconfirmed) => deps.store.revokeCredential(credential, context, unconfirmed),
    isIn: (view) => view.credentialRevocation(credentialId) !== undefined,
    siteIdOf: () => siteId,
    row: { table: 'credential_revocations', key: `${siteId} ${credentialId}` },
  })
}
