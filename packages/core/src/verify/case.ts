import { findRoot } from '../credential/chain.ts'
import type { Credential, SignedCredential } from '../credential/credential.ts'
import type { Scope } from '../credential/ids.ts'
import type { PublicKey } from '../proof/keys.ts'
import type { AllowCredential } from './decision.ts'
import type { Demand, Presented } from './demand.ts'
import { type Grounds, toGrounds } from './grounds.ts'
import type { VerifiedCredential } from './signature-cache.ts'
import type { RevocationData, TrustedIssuer, TrustedKey } from './trust.ts'

/**
 * Thrown when a check asks for something that an earlier check has not established. In `verify`
 * that would be our own fault.
 */
export class NotEstablished extends Error {
  override readonly name = 'NotEstablished'
}

/**
 * One presentation on its way through the checks. Each check may rely on what those before it have
 * established, and on nothing else.
 */
export class Case {
  readonly presented: Presented
  readonly demand: Demand
  readonly knowledge: RevocationData
  /**
   * The signed object, as long as its signatures have not been found good; a remembered
   * presentation has none.
   */
  signed: SignedCredential | undefined
  remembered: VerifiedCredential | undefined
  /** The key under which this presentation will be remembered. */
  digest: string | undefined
  holder: AllowCredential['holder'] = 'unbound'
  private leafRead: Credential | undefined
  private rootRead: Credential | undefined
  private groundsRead: Grounds | undefined
  private issuerFound: TrustedIssuer | undefined
  private keyFound: TrustedKey | undefined
  private signerFound: PublicKey | undefined
  private scopeLeft: readonly Scope[] | undefined

  constructor(presented: Presented, demand: Demand, knowledge: RevocationData) {
    this.presented = presented
    this.demand = demand
    this.knowledge = knowledge
  }

  /** The credential that was presented. */
  get credential(): Credential {
    return this.leafRead ?? missing('credential')
  }

  set credential(leaf: Credential) {
    this.leafRead = leaf
    this.rootRead = findRoot(leaf)
    this.groundsRead = undefined
  }

  /** What the log and the clock can change about this credential. */
  get grounds(): Grounds {
    this.groundsRead ??= toGrounds(this.credential)
    return this.groundsRead
  }

  /**
   * The credential at the other end of the chain, which an issuer signed; the presented one itself
   * when nothing was delegated.
   */
  get root(): Credential {
    return this.rootRead ?? missing('root')
  }

  get issuer(): TrustedIssuer {
    return this.issuerFound ?? missing('issuer')
  }

  set issuer(issuer: TrustedIssuer) {
    this.issuerFound = issuer
  }

  get key(): TrustedKey {
    return this.keyFound ?? missing('key')
  }

  set key(key: TrustedKey) {
    this.keyFound = key
  }

  /** The key that the root's signature has been found good under. */
  get signedBy(): PublicKey {
    return this.signerFound ?? missing('signature')
  }

  set signedBy(key: PublicKey) {
    this.signerFound = key
  }

  /** What is left of the credential's scope when the site's cap on the issuer is applied. */
  get scope(): readonly Scope[] {
    return this.scopeLeft ?? missing('scope')
  }

  set scope(scope: readonly Scope[]) {
    this.scopeLeft = scope
  }
}

function missing(what: string): never {
  throw new NotEstablished(`no ${what} has been established yet`)
}
