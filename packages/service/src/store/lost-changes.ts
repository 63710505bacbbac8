import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import type { PersonRole } from './operations/people.ts'

/** What the log of a store revokes, by names that are the same in another store. */
export interface StoreRevocations {
  /** Revoked users, and reinstated users whose earlier credentials stay revoked. */
  readonly users: ReadonlyMap<string, RevokedUser>
  readonly credentials: ReadonlyMap<string, RevokedCredential>
  readonly tokens: ReadonlyMap<string, RevokedToken>
  /** Issuers that are distrusted. */
  readonly issuers: ReadonlyMap<string, DistrustedIssuer>
  /** Keys of issuers that are compromised or retired. */
  readonly keys: ReadonlyMap<string, EndedKey>
  /** Users who were signed out, stolen holder keys, and cut-offs of issuers and sites. */
  readonly cutOffs: ReadonlyMap<string, KeptCutOff>
}

export interface RevokedCredential {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly atMs: number
}

export interface RevokedToken {
  readonly siteId: SiteId
  readonly sha256: string
  readonly atMs: number
}

export interface DistrustedIssuer {
  readonly siteId: SiteId
  readonly issuer: string
  readonly atMs: number
}

export interface RevokedUser {
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly isRevoked: boolean
  readonly revokedAtMs: number
  /**
   * Credentials of a reinstated user that were signed up to then stay revoked; 0 for a user who was
   * never reinstated.
   */
  readonly cutoffMs: number
}

export interface EndedKey {
  readonly siteId: SiteId
  readonly issuer: string
  readonly keyId: string
  readonly status: 'compromised' | 'retired'
  readonly atMs: number
}

export interface KeptCutOff {
  readonly siteId: SiteId
  readonly kind: 'user.signed_out' | 'holder.revoked' | 'issuer.cut_off' | 'site.cut_off'
  /** The user, thumbprint, issuer or site. */
  readonly target: string
  /** What was issued up to then has ended; of a holder key, when it was revoked. */
  readonly beforeMs: number
}

/** A person who had less access later. */
export interface LostPersonChange {
  readonly personId: string
  /** What is left of the roles; undefined for a person whose access was ended. */
  readonly roles: readonly PersonRole[] | undefined
}

/**
 * What one store revokes and another does not, and what exists in the other only because it was
 * ended later: API keys, and the access, passkeys and sessions of people.
 */
export interface LostChanges extends StoreRevocations {
  readonly people: readonly LostPersonChange[]
  readonly passkeys: readonly { readonly personId: string; readonly passkeyId: string }[]
  readonly sessions: readonly { readonly personId: string; readonly sessionId: string }[]
  readonly apiKeys: readonly { readonly keyId: string; readonly siteId: SiteId | null }[]
  /** Sites that the other store does not have. Nothing can be carried over for them. */
  readonly sites: readonly string[]
}

/** How much was lost, with the names that the command prints as JSON. */
export function countLost({
  users,
  credentials,
  tokens,
  issuers,
  keys,
  cutOffs,
  apiKeys,
  people,
  passkeys,
  sessions,
  sites,
}: LostChanges): Record<string, number> {
  return {
    users: users.size,
    credentials: credentials.size,
    tokens: tokens.size,
    issuers: issuers.size,
    issuer_keys: keys.size,
    cut_offs: cutOffs.size,
    api_keys: apiKeys.length,
    people: people.length,
    passkeys: passkeys.length,
    console_sessions: sessions.length,
    sites: sites.length,
  }
}
