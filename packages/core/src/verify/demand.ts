import type { SignedCredential } from '../credential/credential.ts'
import type { Scope } from '../credential/ids.ts'
import type { PresentedJwt } from '../credential/presentation.ts'
import type { NonceStore } from '../holder/nonces.ts'
import type { HolderRequest } from '../holder/request.ts'
import type { TokenFacts } from './token.ts'

/**
 * What a verifier decides about: the value of the credential header, a credential that was read
 * from a body, a bearer token that was looked up, or an access token of an OAuth issuer.
 */
export type VerifierInput =
  | { readonly header: string }
  | { readonly signed: SignedCredential }
  | { readonly token: TokenFacts }
  | PresentedJwt

/** What a route requires. The site comes from the revocation data, never from the request. */
export interface Demand {
  /** All of these are needed. */
  readonly scope: readonly Scope[]
  /** One of these is needed as well. */
  readonly anyScope?: readonly Scope[]
  readonly nowMs: number
  /**
   * The request as it came, for holder proofs. Without it no holder-bound credential is accepted.
   */
  readonly request?: HolderRequest
  /** Consumes nonces. Without it no holder-bound credential is accepted. */
  readonly nonces?: NonceStore
}
