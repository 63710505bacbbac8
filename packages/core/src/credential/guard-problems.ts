import type { DenialCode } from './denial.ts'

/**
 * A code that a guard returns: a denial, a request whose parts contradict each other, or that a
 * store it depends on (nonces, tokens) is not available.
 */
export type GuardProblemCode = DenialCode | 'request_malformed' | 'store_unavailable' | 'overloaded'

export interface ProblemSummary {
  readonly status: number
  readonly title: string
  /** The challenge in the `WWW-Authenticate` header of a 401. */
  readonly challenge?: 'credential' | 'bearer'
  /** The same request may succeed later. */
  readonly retryable?: true
}

/**
 * Status and title of every problem that a guard returns. `contract/problems.ts` adds the meaning
 * and the remedy; this file imports nothing, so that it stays small in a bundle.
 */
export const guardProblems = {
  request_malformed: { status: 400, title: 'Malformed request' },
  credential_malformed: { status: 400, title: 'Malformed credential' },
  credential_unsupported: { status: 400, title: 'Unsupported credential' },
  auth_ambiguous: { status: 400, title: 'Ambiguous authentication' },
  delegation_too_deep: { status: 400, title: 'Delegation too deep' },
  credential_missing: { status: 401, title: 'Credential missing', challenge: 'credential' },
  issuer_untrusted: { status: 401, title: 'Issuer not trusted', challenge: 'credential' },
  credential_signature_invalid: { status: 401, title: 'Invalid signature', challenge: 'credential' },
  credential_not_yet_valid: { status: 401, title: 'Credential not valid yet', challenge: 'credential' },
  credential_expired: { status: 401, title: 'Credential expired', challenge: 'credential' },
  credential_revoked: { status: 401, title: 'Credential revoked', challenge: 'credential' },
  delegation_invalid: { status: 401, title: 'Invalid delegation', challenge: 'credential' },
  proof_required: { status: 401, title: 'Holder proof required', challenge: 'credential' },
  proof_invalid: { status: 401, title: 'Invalid holder proof', challenge: 'credential' },
  proof_replayed: { status: 401, title: 'Holder proof already used', challenge: 'credential' },
  token_invalid: { status: 401, title: 'Invalid token', challenge: 'bearer' },
  site_mismatch: { status: 403, title: 'Wrong site' },
  scope_insufficient: { status: 403, title: 'Insufficient scope' },
  bearer_disabled: { status: 403, title: 'Bearer tokens are disabled' },
  request_too_large: { status: 413, title: 'Request too large' },
  header_too_large: { status: 431, title: 'Header too large' },
  store_unavailable: { status: 503, title: 'Store unavailable', retryable: true },
  revocation_view_stale: { status: 503, title: 'Revocation data is stale', retryable: true },
  overloaded: { status: 503, title: 'Overloaded', retryable: true },
} as const satisfies Readonly<Record<GuardProblemCode, ProblemSummary>>

const REALM = 'realm="countersign"'

/** `WWW-Authenticate` for a caller that presented a credential, or should have. */
export function credentialChallenge(code: string): string {
  // One field may list several challenges (RFC 9110 §11.6.1). A caller without credentials learns
  // both ways to authenticate.
  return code === 'credential_missing'
    ? `ServiceCredential ${REALM}, Bearer ${REALM}`
    : `ServiceCredential ${REALM}, error="${code}"`
}

/** `WWW-Authenticate` for a caller that presented a bearer token (RFC 6750 §3.1). */
export function bearerChallenge(): string {
  return `Bearer ${REALM}, error="invalid_token"`
}

/** The algorithms of DPoP proofs that are accepted. */
export const DPOP_ALGORITHMS = ['ES256', 'ES384', 'EdDSA', 'PS256', 'RS256'] as const

/** What an OAuth client learns from a challenge besides the error. */
export interface OAuthHints {
  /** Where the metadata of the protected resource are (RFC 9728 §5.1). */
  readonly resourceMetadata?: string | undefined
  /** The scopes that the client should ask its authorization server for (RFC 6750 §3). */
  readonly scope?: readonly string[] | undefined
}

/**
 * `WWW-Authenticate` for a caller that presented an access token of an OAuth issuer: RFC 6750 §3.1
 * and, if a proof is missing or wrong or the token came with the DPoP scheme, RFC 9449 §7.1. Also
 * set on 403 `scope_insufficient`, so that clients can ask for more.
 */
export function oauthChallenge(code: string, scheme: 'Bearer' | 'DPoP', hints: OAuthHints = {}): string {
  const isProof = /^proof_/.test(code)
  const error =
    code === 'scope_insufficient'
      ? 'insufficient_scope'
      : isProof && code !== 'proof_required'
        ? 'invalid_dpop_proof'
        : 'invalid_token'
  const used = isProof ? 'DPoP' : scheme
  return `${used} ${REALM}, error="${error}"${hintMembers(hints)}${used === 'DPoP' ? `, ${DPOP_ALGS}` : ''}`
}

/**
 * `WWW-Authenticate` for a caller that presented nothing to a resource with metadata. The Bearer
 * challenge comes first, because many OAuth clients read no other.
 */
export function resourceChallenge(hints: OAuthHints): string {
  return `Bearer ${REALM}${hintMembers(hints)}, DPoP ${REALM}, ${DPOP_ALGS}, ServiceCredential ${REALM}`
}

const DPOP_ALGS = `algs="${DPOP_ALGORITHMS.join(' ')}"`
/** RFC 6749 §3.3. Others cannot be quoted. */
const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/

function hintMembers({ resourceMetadata, scope = [] }: OAuthHints): string {
  const names = scope.filter((name) => SCOPE_TOKEN.test(name))
  return `${names.length === 0 ? '' : `, scope="${names.join(' ')}"`}${
    resourceMetadata === undefined ? '' : `, resource_metadata="${resourceMetadata}"`
  }`
}

/** The URL of the page that explains a code. `baseUrl` has no trailing slash. */
export function problemType(baseUrl: string, code: string): string {
  return `${baseUrl}/problems/${code}`
}
