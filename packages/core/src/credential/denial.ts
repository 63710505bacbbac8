import type { Scope } from './ids.ts'

/** Every reason to deny a presentation. `contract/problems.ts` has the status and title of each. */
export type DenialCode =
  | 'auth_ambiguous'
  | 'credential_missing'
  | 'credential_malformed'
  | 'credential_unsupported'
  | 'header_too_large'
  | 'request_too_large'
  | 'delegation_too_deep'
  | 'issuer_untrusted'
  | 'credential_signature_invalid'
  | 'credential_not_yet_valid'
  | 'credential_expired'
  | 'site_mismatch'
  | 'credential_revoked'
  | 'delegation_invalid'
  | 'scope_insufficient'
  | 'proof_required'
  | 'proof_invalid'
  | 'proof_replayed'
  | 'token_invalid'
  | 'bearer_disabled'
  | 'revocation_view_stale'

/** Contains nothing of the credential, so code that does not check `ok` has nothing to use. */
export interface Denial {
  readonly ok: false
  readonly code: DenialCode
  /**
   * What is wrong and what to do. Safe to send to the caller: it contains no secret and no claim of
   * a credential with an invalid signature.
   */
  readonly detail: string
  /** The scope that the route requires. Only with `scope_insufficient`. */
  readonly requiredScope?: readonly Scope[]
}

export function deny(code: DenialCode, detail: string): Denial {
  return { ok: false, code, detail }
}

export function isDenial(value: object): value is Denial {
  return 'ok' in value && value.ok === false
}
