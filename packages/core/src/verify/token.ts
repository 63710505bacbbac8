import type { CredentialId, PermissionId, Ppid, Scope, SiteId } from '../credential/ids.ts'

/**
 * What is known of a bearer token after its look-up or introspection. The facts never change; whether they still count is asked anew at
 * every use, against the same knowledge that a credential is judged by.
 */
export interface TokenFacts {
  readonly tokenSha256: string
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId
  /** The credential it was exchanged for first, then its parents up to the root. */
  readonly credentialChain: readonly CredentialId[]
  /** Who signed the root, and with which verificationMethod. */
  readonly issuer: string
  readonly issuerKey: string
  /** When the root was signed. */
  readonly rootCreatedMs: number
  /** When the oldest link of the chain was signed. */
  readonly oldestCreatedMs: number
  readonly issuedAtMs: number
  readonly expiresAtMs: number
}
