import type { Scope } from './ids.ts'

/**
 * Every reason for which a presentation can be refused. Status and title of each stand in
 * `contract/problems.ts`.
 */
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

/**
 * A refusal. It carries words for the caller and nothing of the credential, so a caller who forgets
 * to look at `ok` has nothing to use.
 */
export interface Denial {
  readonly ok: false
  readonly code: DenialCode
  /**
   * What is wrong and what to do next. Safe to send to the caller: no secret, and no claim of a
   * credential with an invalid signature.
   */
  readonly detail: string
  /** What the route asked for, on `scope_insufficient` only. */
  readonly requiredScope?: readonly Scope[]
}

export function deny(code: DenialCode, detail: string): Denial {
  return { ok: false, code, detail }
}

/** Tells a refusal from the thing that was asked for. */
export function isDenial(value: object): value is Denial {
  return 'ok' in value && value.ok === false
}
