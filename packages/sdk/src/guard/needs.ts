import type { RefusalCode } from '@countersign/core'
import type { Need } from './verdict.ts'

const needs: Readonly<Record<RefusalCode, Need>> = {
  auth_ambiguous: 'correction',
  credential_missing: 'credential',
  credential_malformed: 'correction',
  credential_unsupported: 'correction',
  header_too_large: 'correction',
  request_too_large: 'correction',
  delegation_too_deep: 'correction',
  issuer_untrusted: 'trusted_issuer',
  credential_signature_invalid: 'renewal',
  credential_not_yet_valid: 'waiting',
  credential_expired: 'renewal',
  credential_revoked: 'nothing',
  delegation_invalid: 'renewal',
  proof_required: 'holder_proof',
  proof_invalid: 'holder_proof',
  proof_replayed: 'holder_proof',
  token_invalid: 'renewal',
  site_mismatch: 'site',
  scope_insufficient: 'scope',
  bearer_disabled: 'credential',
  store_unavailable: 'waiting',
  revocation_view_stale: 'waiting',
  overloaded: 'waiting',
}

/**
 * What would help against a refusal with this code. One that this version does not know is judged
 * by its status.
 */
export function needFor(code: string, status: number): Need {
  if (Object.hasOwn(needs, code)) return needs[code as RefusalCode]
  if (status === 429 || status >= 500) return 'waiting'
  return status === 401 || status === 403 ? 'nothing' : 'correction'
}
