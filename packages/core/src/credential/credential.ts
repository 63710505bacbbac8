import type { JsonObject } from '../encoding/json.ts'
import type { CredentialId, PermissionId, Ppid, Scope } from './ids.ts'

/** The only context a credential may have. It is compared, never fetched. */
export const CREDENTIAL_CONTEXT = [
  'https://www.w3.org/ns/credentials/v2',
  'https://w3id.org/countersign/access/v1',
] as const
export const CREDENTIAL_TYPE = ['VerifiableCredential', 'AccessCredential'] as const
/** Stands in answers where a credential names no permission. */
export const DEFAULT_PERMISSION_ID = 'perm_default' as PermissionId

/**
 * What a credential says, read strictly. Reading is not believing: until `verify` has allowed it,
 * every member is a claim of the sender. Its texts may be pieces of the text it was read from and
 * keep that alive; copy what you want to keep for long.
 */
export interface Credential {
  readonly id: CredentialId
  /** Compared with the site's list, never parsed or resolved. */
  readonly issuer: string
  readonly ppid: Ppid
  /** Compared with the site asked for, byte for byte; may be any string at all. */
  readonly site: string
  readonly scope: readonly Scope[]
  readonly permissionId: PermissionId | undefined
  /** The `did:key` that must sign requests made with this credential, when it is holder-bound. */
  readonly holderKey: string | undefined
  readonly delegable: boolean
  readonly validFromMs: number
  readonly validUntilMs: number
  readonly createdMs: number
  readonly verificationMethod: string
  /** The credential this one was delegated from. */
  readonly parent: Credential | undefined
}

/**
 * A credential together with the signed object itself, which is needed only until its signatures
 * have been checked.
 */
export interface SignedCredential {
  readonly credential: Credential
  readonly document: JsonObject
  readonly proof: ProofClaims
  readonly parent: SignedCredential | undefined
}

/** The members of the proof that the check of the signature goes by. */
export interface ProofClaims {
  readonly cryptosuite: string
  readonly proofPurpose: string
  readonly proofValue: string
}

/**
 * The permission that a credential is for: its own word, else that of the credential it was
 * delegated from, else the default.
 */
export function toPermissionId({ permissionId, parent }: Credential): PermissionId {
  return permissionId ?? (parent === undefined ? DEFAULT_PERMISSION_ID : toPermissionId(parent))
}
