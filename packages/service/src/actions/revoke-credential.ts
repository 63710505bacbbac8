import type { CredentialId, SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import type { Act, Revoked } from '../store/store.ts'
import { untilKnownHere } from './until-known-here.ts'

export interface CredentialAtSite {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly reason: string | undefined
}

/** Revokes one credential at one site for ever, and what was delegated or exchanged from it. The promises are those of `revokeUser`. */
export async function revokeCredential(deps: Pick<Deps, 'store' | 'views'>, credential: CredentialAtSite, act: Act): Promise<Revoked> {
  const revoked = await deps.store.revokeCredential(credential, act)
  await untilKnownHere(deps, revoked)
  return revoked
}
