import type { GuardProblemCode } from '@countersign/core'

/**
 * What would help: a `credential` at all, a `new_credential` from the same issuer, one with more
 * `scope`, one from a `trusted_issuer`, one for this `site`, a request signed by the holder
 * (`holder_proof`), a corrected request (`fix_request`), or the same request later (`retry_later`).
 * `none`: access has been revoked.
 */
export type Need =
  | 'credential'
  | 'new_credential'
  | 'scope'
  | 'trusted_issuer'
  | 'site'
  | 'holder_proof'
  | 'fix_request'
  | 'retry_later'
  | 'none'

const needs: Readonly<Record<GuardProblemCode, Need>> = {
  request_malformed: 'fix_request',
  auth_ambiguous: 'fix_request',
  credential_missing: 'credential',
  credential_malformed: 'fix_request',
  credential_unsupported: 'fix_request',
  header_too_large: 'fix_request',
  request_too_large: 'fix_request',
  delegation_too_deep: 'fix_request',
  issuer_untrusted: 'trusted_issuer',
  credential_signature_invalid: 'new_credential',
  credential_not_yet_valid: 'retry_later',
  credential_expired: 'new_credential',
  credential_revoked: 'none',
  delegation_invalid: 'new_credential',
  proof_required: 'holder_proof',
  proof_invalid: 'holder_proof',
  proof_replayed: 'holder_proof',
  token_invalid: 'new_credential',
  site_mismatch: 'site',
  scope_insufficient: 'scope',
  bearer_disabled: 'credential',
  store_unavailable: 'retry_later',
  revocation_view_stale: 'retry_later',
  overloaded: 'retry_later',
}

/** What would help after a denial with this code. For an unknown code the status decides. */
export function needFor(code: string, status: number): Need {
  if (Object.hasOwn(needs, code)) return needs[code as GuardProblemCode]
  if (status === 429 || status >= 500) return 'retry_later'
  return status === 401 || status === 403 ? 'none' : 'fix_request'
}
