import { findRoot } from '../credential/chain.ts'
import type { Credential, SignedCredential } from '../credential/credential.ts'
import type { Scope } from '../credential/ids.ts'
import type { PublicKey } from '../proof/keys.ts'
import type { AllowCredential } from './decision.ts'
import type { Demand, VerifierInput } from './demand.ts'
import { type Grounds, toGrounds } from './grounds.ts'
import type { Holders } from './holders.ts'
import type { RevocationData } from './revocation-data.ts'
import type { VerifiedCredential } from './signature-cache.ts'
import type { TrustedIssuer, TrustedKey } from './trust.ts'

/**
 * Thrown when a check reads a value that no earlier check has set. In `verify` this is a bug;
 * `explain` reports such a check as `skipped`.
 */
export class CheckOrderError extends Error {
  override readonly name = 'CheckOrderError'
}

/**
 * The state of one verification. Each check reads what earlier checks have set, and sets values for
 * later ones.
 */
export class VerificationContext {
  readonly presented: VerifierInput
  readonly demand: Demand
  readonly data: RevocationData
  /** The signed object. Undefined if the signatures were found in the cache. */
  signed: SignedCredential | undefined
  cached: VerifiedCredential | undefined
  /** The cache key of this presentation. */
  digest: string | undefined
  holder: AllowCredential['holder'] = 'unbound'
  private leaf: Credential | undefined
  private rootCredential: Credential | undefined
  private currentGrounds: Grounds | undefined
  private chainHolders: Holders = []
  private trustedIssuer: TrustedIssuer | undefined
  private trustedKey: TrustedKey | undefined
  private signerKey: PublicKey | undefined
  private grantedScope: readonly Scope[] | undefined

  constructor(presented: VerifierInput, demand: Demand, data: RevocationData) {
    this.presented = presented
    this.demand = demand
    this.data = data
  }

  /** The credential that was presented. */
  get credential(): Credential {
    return this.leaf ?? throwMissing('credential')
  }

  set credential(leaf: Credential) {
    this.leaf = leaf
    this.rootCredential = findRoot(leaf)
    this.currentGrounds = undefined
  }

  /** The facts of this credential that the log and the clock are compared with. */
  get grounds(): Grounds {
    this.currentGrounds ??= toGrounds(this.credential, this.chainHolders)
    return this.currentGrounds
  }

  /** Empty until the signatures are verified. */
  get holders(): Holders {
    return this.chainHolders
  }

  set holders(holders: Holders) {
    this.chainHolders = holders
    this.currentGrounds = undefined
  }

  /** The credential that the issuer signed: the presented one itself if it was not delegated. */
  get root(): Credential {
    return this.rootCredential ?? throwMissing('root')
  }

  get issuer(): TrustedIssuer {
    return this.trustedIssuer ?? throwMissing('issuer')
  }

  set issuer(issuer: TrustedIssuer) {
    this.trustedIssuer = issuer
  }

  get key(): TrustedKey {
    return this.trustedKey ?? throwMissing('key')
  }

  set key(key: TrustedKey) {
    this.trustedKey = key
  }

  /** The issuer key that verified the signature of the root. */
  get signedBy(): PublicKey {
    return this.signerKey ?? throwMissing('signature')
  }

  set signedBy(key: PublicKey) {
    this.signerKey = key
  }

  /** The scope of the credential, limited to what the site lets its issuer grant. */
  get scope(): readonly Scope[] {
    return this.grantedScope ?? throwMissing('scope')
  }

  set scope(scope: readonly Scope[]) {
    this.grantedScope = scope
  }
}

function throwMissing(what: string): never {
  throw new CheckOrderError(`no earlier check has set the ${what}`)
}
