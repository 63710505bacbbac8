import type { Credential } from '../credential/credential.ts'
import type { Denial } from '../credential/denial.ts'
import type { CredentialId, PermissionId, Ppid, Scope, SiteId } from '../credential/ids.ts'
import type { LogPosition } from '../log/position.ts'
import type { PublicKey } from '../proof/keys.ts'
import type { Holders } from './holders.ts'
import type { VerifiedJwt } from './jwt-cache.ts'
import type { RevocationData } from './revocation-data.ts'
import type { TokenFacts } from './token.ts'

/**
 * Who was accepted, and with what. All of it comes from signed members, narrowed by what the site
 * lets the issuer grant.
 */
export interface Subject {
  readonly ppid: Ppid
  readonly siteId: SiteId
  readonly scope: readonly Scope[]
  readonly credentialId: CredentialId
  readonly permissionId: PermissionId
  readonly expiresAtMs: number
}

/** The log position and the age of the revocation data that a decision was based on. */
export interface ViewStamp extends LogPosition {
  readonly ageMs: number
}

export function toViewStamp({ site, ageMs }: RevocationData): ViewStamp {
  return { epoch: site.head.epoch, seq: site.head.seq, ageMs }
}

export interface AllowCredential {
  readonly ok: true
  readonly presented: 'credential'
  readonly subject: Subject
  readonly view: ViewStamp
  /** The credential itself, its parents behind it. */
  readonly credential: Credential
  /** The thumbprints of the holder keys of the credential and its parents. */
  readonly holders: Holders
  /** The issuer key that verified the signature of its root. */
  readonly signedBy: PublicKey
  /** Whether a holder proof was required and verified, and whether it covered the body. */
  readonly holder: 'unbound' | 'verified' | 'verified_without_body'
}

export interface AllowBearer {
  readonly ok: true
  readonly presented: 'bearer'
  readonly subject: Subject
  readonly view: ViewStamp
  readonly token: TokenFacts
}

/** An access token of an OAuth issuer. */
export interface AllowJwt {
  readonly ok: true
  readonly presented: 'jwt'
  readonly subject: Subject
  readonly view: ViewStamp
  readonly jwt: VerifiedJwt
}

export type Allow = AllowCredential | AllowBearer | AllowJwt
export type Denied = Denial & { readonly view: ViewStamp }
export type Verdict = Allow | Denied
