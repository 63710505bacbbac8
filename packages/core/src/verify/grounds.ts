import type { ChainLink } from '../credential/chain.ts'
import type { Credential } from '../credential/credential.ts'
import { type Denial, deny, isDenial } from '../credential/denial.ts'
import type { CredentialId, Ppid } from '../credential/ids.ts'
import type { Revocation } from '../log/position.ts'
import type { Holders } from './holders.ts'
import type { SiteData, TrustedIssuer, TrustedKey } from './trust.ts'

/**
 * The facts that access depends on after all signatures were verified. A credential, a bearer token
 * and a sign-in all have them, so that `checkGrounds` is the only place that knows when access has
 * ended.
 */
export interface Grounds {
  /** Signed the root of the chain. */
  readonly issuer: string
  /** The verificationMethod of the key that signed the root. */
  readonly issuerKey: string
  /** When the root was signed. */
  readonly signedAtMs: number
  readonly ppid: Ppid
  /** The credential itself, followed by the credentials it was delegated from, up to the root. */
  readonly credentialIds: readonly CredentialId[]
  /** The thumbprints of the holder keys that these credentials are bound to. */
  readonly holders: Holders
  /** When the oldest of these credentials was signed. */
  readonly oldestSignedAtMs: number
  /** Whether the credential was delegated from another one. */
  readonly isDelegated: boolean
  readonly expiresAtMs: number
}

/** `holders` comes from `listHolders`. */
export function toGrounds(credential: Credential, holders: Holders): Grounds {
  let root = credential
  const credentialIds = [root.id]
  let oldestSignedAtMs = root.createdMs
  let expiresAtMs = root.validUntilMs
  while (root.parent !== undefined) {
    root = root.parent
    credentialIds.push(root.id)
    oldestSignedAtMs = Math.min(oldestSignedAtMs, root.createdMs)
    expiresAtMs = Math.min(expiresAtMs, root.validUntilMs)
  }
  return {
    issuer: root.issuer,
    issuerKey: root.verificationMethod,
    signedAtMs: root.createdMs,
    ppid: credential.ppid,
    credentialIds,
    holders,
    isDelegated: credentialIds.length > 1,
    oldestSignedAtMs,
    expiresAtMs,
  }
}

/**
 * The part of the grounds that a stored chain has. An empty chain, which no store keeps, is never
 * valid.
 */
export function toChainGrounds(
  chain: readonly ChainLink[],
): Pick<Grounds, 'credentialIds' | 'holders' | 'isDelegated' | 'signedAtMs' | 'oldestSignedAtMs'> {
  return {
    credentialIds: chain.map(({ credentialId }) => credentialId),
    holders: chain.map(({ holder }) => holder),
    isDelegated: chain.length > 1,
    signedAtMs: chain.at(-1)?.createdMs ?? Number.POSITIVE_INFINITY,
    oldestSignedAtMs: Math.min(...chain.map(({ createdMs }) => createdMs)),
  }
}

/**
 * Returns why access on these grounds is denied now, or undefined. The checks run in the order of
 * `credentialChecks`. Freshness, scope and the settings of the site are not part of the grounds.
 */
export function checkGrounds(grounds: Grounds, site: SiteData, nowMs: number): Denial | undefined {
  // The names of the two kinds of issuers differ: DIDs, and https URLs.
  const issuer = site.issuer(grounds.issuer) ?? site.oauthIssuer(grounds.issuer)
  if (issuer === undefined) return issuerUntrusted
  const key = findKey<Pick<TrustedKey, 'status' | 'changedAtMs'>>(grounds, issuer)
  if (isDenial(key)) return key
  return (
    checkRetirement(grounds, key) ??
    checkExpiry(grounds, nowMs) ??
    checkDelegationAllowed(grounds, site) ??
    checkNotRevoked(grounds, site)
  )
}

export function findIssuer({ issuer }: Grounds, site: SiteData): TrustedIssuer | Denial {
  return site.issuer(issuer) ?? issuerUntrusted
}

/**
 * The key comes from the site's list, under the DID of its issuer; never from the credential or its
 * proof.
 */
export function findKey<Key extends Pick<TrustedKey, 'status'>>(
  { issuerKey }: Grounds,
  issuer: { readonly keys: ReadonlyMap<string, Key> },
): Key | Denial {
  const key = issuer.keys.get(issuerKey)
  if (key === undefined) return signatureInvalid
  return key.status === 'compromised' ? keyCompromised : key
}

/** A retired key stays valid for what it signed before its retirement. */
export function checkRetirement(
  { signedAtMs }: Grounds,
  { status, changedAtMs }: Pick<TrustedKey, 'status' | 'changedAtMs'>,
): Denial | undefined {
  if (status !== 'retired' || signedAtMs <= (changedAtMs ?? Number.NEGATIVE_INFINITY)) return undefined
  return keyRetired
}

/** Half-open: at the very millisecond of `validUntil` the access has ended. */
export function checkExpiry({ expiresAtMs }: Grounds, nowMs: number): Denial | undefined {
  return nowMs < expiresAtMs ? undefined : expired
}

/** A site can switch delegated credentials off. */
export function checkDelegationAllowed({ isDelegated }: Grounds, { settings }: SiteData): Denial | undefined {
  return isDelegated && settings.delegation !== 'on' ? delegationOff : undefined
}

export function checkNotRevoked(grounds: Grounds, site: SiteData): Denial | undefined {
  return findRevocation(grounds, site) === undefined ? undefined : revoked
}

/**
 * The revocation of any credential of the chain or of a key that one of them is bound to, of the
 * user as of the oldest of them, or a cut-off of the issuer or the site.
 */
export function findRevocation(
  { credentialIds, holders, ppid, issuer, oldestSignedAtMs }: RevocableGrounds,
  site: Pick<SiteData, 'credentialRevocation' | 'holderRevocation' | 'userRevocation' | 'cutOff'>,
): Revocation | undefined {
  for (const id of credentialIds) {
    const revocation = site.credentialRevocation(id)
    if (revocation !== undefined) return revocation
  }
  for (const holder of holders) {
    const revocation = holder === undefined ? undefined : site.holderRevocation(holder)
    if (revocation !== undefined) return revocation
  }
  return site.userRevocation(ppid, oldestSignedAtMs) ?? site.cutOff(issuer, oldestSignedAtMs)
}

/** The grounds that a revocation can name. */
export type RevocableGrounds = Pick<
  Grounds,
  'credentialIds' | 'holders' | 'ppid' | 'issuer' | 'oldestSignedAtMs'
>

export const signatureInvalid = deny(
  'credential_signature_invalid',
  'The signature of the credential is invalid. Present it exactly as it was issued, or request a new one.',
)
const issuerUntrusted = deny(
  'issuer_untrusted',
  'This site does not trust the issuer of the credential. Request one from an issuer that it trusts.',
)
const keyCompromised = deny(
  'issuer_untrusted',
  'The key that signed this credential is compromised. Request a new credential.',
)
const keyRetired = deny(
  'issuer_untrusted',
  'This credential was signed after its key was retired. Request a new credential.',
)
const expired = deny('credential_expired', 'The credential has expired. Request a new one from its issuer.')
const delegationOff = deny(
  'delegation_invalid',
  'This site accepts no delegated credentials. Present a credential that the issuer signed for you.',
)
const revoked = deny('credential_revoked', 'Access with this credential has been revoked. Contact the site.')
