import type { CredentialId, Ppid, Scope, SiteId } from '../credential/ids.ts'
import type { JwtPolicy } from '../jwt/claims.ts'
import type { SubjectKey } from '../jwt/derived-ids.ts'
import type { JwtKey } from '../jwt/jwk.ts'
import type { LogHead, Revocation } from '../log/position.ts'
import type { PublicKey } from '../proof/keys.ts'

/**
 * `active`: its signatures are valid. `retired`: signatures made before its retirement are valid.
 * `compromised`: none of its signatures is valid; this is permanent.
 */
export type KeyStatus = 'active' | 'retired' | 'compromised'

export interface TrustedKey {
  /** The fragment of its verificationMethod. */
  readonly id: string
  readonly key: PublicKey
  readonly status: KeyStatus
  /**
   * Set when `status` is `retired`; also the moment since when a compromised key is known to be so.
   */
  readonly changedAtMs: number | undefined
}

/** An issuer that a site trusts, and the limits of that trust. */
export interface TrustedIssuer {
  readonly issuer: string
  /**
   * By full verificationMethod, `issuer#fragment`, so that a key can only be found under the DID
   * that owns it.
   */
  readonly keys: ReadonlyMap<string, TrustedKey>
  /** The scopes it may grant. Undefined: no cap. */
  readonly scope: ReadonlySet<Scope> | undefined
  /** The longest life it may give a credential. Undefined: the site's own maximum. */
  readonly credentialTtlSecondsMax: number | undefined
}

export interface TrustedJwtKey {
  /** The RFC 7638 thumbprint. */
  readonly id: string
  /** How tokens name the key. */
  readonly kid: string | undefined
  readonly key: JwtKey
  readonly status: KeyStatus
  readonly changedAtMs: number | undefined
}

/** An OAuth issuer whose access tokens a site accepts. */
export interface OAuthIssuer {
  readonly issuer: string
  /** By `issuer#thumbprint`. */
  readonly keys: ReadonlyMap<string, TrustedJwtKey>
  readonly policy: JwtPolicy
  /** Whether the subject is the site's own `user_ref`. */
  readonly userRefFromSubject: boolean
}

export interface SiteSettings {
  readonly bearer: 'on' | 'off'
  /**
   * The latest time at which bearer tokens were off. Tokens issued up to then stay invalid when
   * bearer tokens are switched on again.
   */
  readonly bearerOffMs?: number | undefined
  readonly holderProof: 'optional' | 'required'
  /** `off`: delegated credentials are rejected. */
  readonly delegation: 'on' | 'off'
  readonly credentialTtlSecondsMax: number | undefined
}

/**
 * The settings, trusted issuers and revocations of one site. All reads are synchronous and from
 * memory. `SiteView` in `log/view.ts` implements it from the log; tests may use their own.
 */
export interface SiteData {
  readonly siteId: SiteId
  /** False after contradictory log data. Nothing in this object is reliable then. */
  readonly trusted: boolean
  readonly settings: SiteSettings
  readonly head: LogHead
  /** The issuer if the site trusts it now. */
  issuer(issuer: string): TrustedIssuer | undefined
  /** The OAuth issuer if the site trusts it now. */
  oauthIssuer(issuer: string): OAuthIssuer | undefined
  /** The key of derived ids. Undefined: the site accepts no access tokens of OAuth issuers. */
  readonly subjectKey: SubjectKey | undefined
  credentialRevocation(id: CredentialId): Revocation | undefined
  /**
   * A user revocation covers every credential of that user; after a reinstatement, those signed up
   * to that moment (`createdMs`); after a sign-out, those signed up to its moment.
   */
  userRevocation(ppid: Ppid, createdMs: number): Revocation | undefined
  /** By the thumbprint of a holder key. Covers everything bound to or delegated through it. */
  holderRevocation(thumbprint: string): Revocation | undefined
  /**
   * The cut-off of the issuer or of the whole site, if it covers what was signed at `createdMs`.
   */
  cutOff(issuer: string, createdMs: number): Revocation | undefined
  /** By the token's SHA-256 in lower-case hex. */
  tokenRevocation(tokenSha256: string): Revocation | undefined
}
