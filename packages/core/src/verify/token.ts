import type { PermissionId, Scope, SiteId } from '../credential/ids.ts'
import type { Grounds } from './grounds.ts'

/**
 * What is known of a bearer token after its look-up or introspection. The facts never change. Each
 * use checks them against the current revocation data, as for a credential. `credentialIds` starts
 * with the exchanged credential.
 */
export interface TokenFacts extends Grounds {
  readonly tokenSha256: string
  readonly siteId: SiteId
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  readonly issuedAtMs: number
}
