import type { JsonObject } from '../encoding/json.ts'
import type { CredentialId, PermissionId, Ppid, Scope } from './ids.ts'

/** The only allowed context. It is compared, never fetched. */
export const CREDENTIAL_CONTEXT = [
  'https://www.w3.org/ns/credentials/v2',
  'https://w3id.org/countersign/access/v1',
] as const
export const CREDENTIAL_TYPE = ['VerifiableCredential', 'AccessCredential'] as const
/** Used in responses if a credential names no permission. */
export const DEFAULT_PERMISSION_ID = 'perm_default' as PermissionId

/**
 * The claims of a credential. They are unverified until `verify` accepts the credential. The
 * strings may be slices of the header text and keep it in memory: copy what you store for long.
 */
export interface Credential {
  readonly id: CredentialId
  /** Compared with the site's list, never parsed or resolved. */
  readonly issuer: string
  readonly ppid: Ppid
  /** Compared with the site byte by byte. It may be any string. */
  readonly site: string
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId | undefined
  /**
   * The `did:key` that must sign every request with this credential. Undefined if it is not
   * holder-bound.
   */
  readonly holderKey: string | undefined
  readonly delegable: boolean
  readonly validFromMs: number
  readonly validUntilMs: number
  readonly createdMs: number
  readonly verificationMethod: string
  /** The credential that this one was delegated from. */
  readonly parent: Credential | undefined
}

/** A credential with the signed object, which is needed only until the signatures are verified. */
export interface SignedCredential {
  readonly credential: Credential
  readonly document: JsonObject
  /** What `parseJson` has said of the document; false if its text was not parsed here. */
  readonly hasPlainStrings: boolean
  readonly proof: ProofClaims
  readonly parent: SignedCredential | undefined
}

/** The members of the proof that the signature check uses. */
export interface ProofClaims {
  readonly cryptosuite: string
  readonly proofPurpose: string
  readonly proofValue: string
}

/**
 * The permission of this credential, else of the credential it was delegated from, else the
 * default.
 */
export function toPermissionId({ permissionId, parent }: Credential): PermissionId {
  return permissionId ?? (parent === undefined ? DEFAULT_PERMISSION_ID : toPermissionId(parent))
}
