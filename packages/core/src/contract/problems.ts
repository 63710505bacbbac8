import type { DenialCode } from '../credential/denial.ts'
import { guardProblems, type ProblemSummary } from '../credential/guard-problems.ts'

/** Which challenge a 401 with this code sends in `WWW-Authenticate`. */
export type Challenge = NonNullable<ProblemSummary['challenge']> | 'api_key' | 'session'

/**
 * One code: what it means and what its receiver should do next. Codes are never reused for
 * something else.
 */
export interface Problem {
  readonly status: number
  readonly title: string
  readonly meaning: string
  readonly remedy: string
  /** The very same request may succeed later. */
  readonly retryable?: true
  readonly challenge?: Challenge
}

const table = {
  request_malformed: {
    status: 400,
    title: 'Malformed request',
    meaning:
      'The request cannot be read: the body is not strict JSON or ended early, a form is not UTF-8, a parameter was sent twice, there are too many parameters, Host is missing, doubled or foreign, Transfer-Encoding is not chunked, or the request arrived too slowly.',
    remedy:
      'Send one complete HTTP/1.1 request with one well-formed JSON object, without duplicate members, and each parameter once.',
  },
  credential_malformed: {
    ...guardProblems.credential_malformed,
    meaning:
      'What was sent as a credential cannot be read as one: encoding, JSON, a missing member, a bad time or identifier.',
    remedy:
      'Send the signed object exactly as it was issued, as unpadded base64url in the header or as a JSON object in the body.',
  },
  credential_unsupported: {
    ...guardProblems.credential_unsupported,
    meaning: 'The credential has another context, type, proof type or cryptosuite than this service checks.',
    remedy:
      'Present an AccessCredential with exactly one Data Integrity proof of a suite that discovery lists.',
  },
  auth_ambiguous: {
    ...guardProblems.auth_ambiguous,
    meaning: 'More than one credential, bearer token or API key was presented where one is wanted.',
    remedy: 'Send exactly one of them, in exactly one header.',
  },
  delegation_too_deep: {
    ...guardProblems.delegation_too_deep,
    meaning: 'The chain of delegated credentials has more links than are allowed.',
    remedy: 'Delegate from a credential that is nearer to the root.',
  },
  state_invalid: {
    status: 400,
    title: 'Sign-in state not accepted',
    meaning: 'The sign-in state is unknown, expired, used, or belongs to another site or browser.',
    remedy: 'Start the sign-in again.',
  },
  redirect_not_allowed: {
    status: 400,
    title: 'Return URL not allowed',
    meaning: 'The return URL is not registered for the site, byte for byte, or cannot be registered.',
    remedy:
      'Use a registered URL: https, or http on loopback, without user name or fragment, in its canonical spelling.',
  },
  site_unknown: {
    status: 400,
    title: 'Unknown site',
    meaning: 'There is no such site here.',
    remedy: 'Check the site_id, or have the operator create the site.',
  },
  cursor_malformed: {
    status: 400,
    title: 'Malformed cursor',
    meaning: 'The cursor is not one that this service has given out.',
    remedy: 'Use next_cursor, Last-Event-ID or epoch.seq exactly as received, or start without a cursor.',
  },
  callback_invalid: {
    status: 400,
    title: 'Callback not accepted',
    meaning:
      'The payload of the sign-in callback is expired, used, or does not belong to this state, site and browser.',
    remedy: 'Start the sign-in again.',
  },
  code_invalid: {
    status: 400,
    title: 'One-time code not accepted',
    meaning:
      'The code or offer is unknown, expired or used, or the code_verifier does not fit its challenge.',
    remedy: 'Start again: a code works once and only with the verifier whose challenge began the sign-in.',
  },

  credential_missing: {
    ...guardProblems.credential_missing,
    meaning: 'The request carries no credential.',
    remedy: 'Send the signed credential as unpadded base64url in X-Service-Credential.',
  },
  issuer_untrusted: {
    ...guardProblems.issuer_untrusted,
    meaning: 'The site does not trust the issuer, its key, or credentials that live this long.',
    remedy: 'Get a credential from an issuer that the site trusts, or have the site add this one.',
  },
  credential_signature_invalid: {
    ...guardProblems.credential_signature_invalid,
    meaning:
      'The signature of the credential is invalid: the credential was changed after signing, or signed with another key.',
    remedy: 'Present the credential exactly as it was issued, or get a new one.',
  },
  credential_not_yet_valid: {
    ...guardProblems.credential_not_yet_valid,
    meaning: 'The credential begins, or was signed, in the future.',
    remedy: 'Wait until validFrom, and check the clocks of issuer and client.',
  },
  credential_expired: {
    ...guardProblems.credential_expired,
    meaning: 'The end of the credential has passed.',
    remedy: 'Get a new credential.',
  },
  credential_revoked: {
    ...guardProblems.credential_revoked,
    meaning: 'The credential, its user, or a credential it was delegated from has been revoked.',
    remedy: 'Ask the site why; trying again will not help.',
  },
  delegation_invalid: {
    ...guardProblems.delegation_invalid,
    meaning:
      'A link of the delegation chain breaks a rule: scope, end, site, subject, signer, holder key or permission to delegate.',
    remedy:
      'Delegate again: never more than the parent has, signed with its holder key, from a delegable parent.',
  },
  proof_required: {
    ...guardProblems.proof_required,
    meaning:
      'The credential is bound to a holder key, or the site requires a holder proof, and the request is not signed with that key. A bearer token carries no holder proof.',
    remedy:
      'Send the credential itself and sign the request (RFC 9421, tag "service-credential") with the holder key.',
  },
  proof_invalid: {
    ...guardProblems.proof_invalid,
    meaning:
      'The request signature is invalid, too old, from the future, made with another key or for another host, does not cover what it must, or Content-Digest does not match the body. A verifier that has just started answers this for up to three seconds.',
    remedy:
      'Sign this request again, with the holder key and a correct clock, and cover all required components.',
  },
  proof_replayed: {
    ...guardProblems.proof_replayed,
    meaning: 'A request signature with this nonce has already been accepted.',
    remedy: 'Sign each request again with a new nonce.',
  },
  token_invalid: {
    ...guardProblems.token_invalid,
    meaning: 'The bearer token is malformed, unknown, expired or revoked, or belongs to another site.',
    remedy: 'Exchange the credential for a new token, or present the credential itself.',
  },
  api_key_missing: {
    status: 401,
    title: 'API key missing',
    meaning: 'The endpoint needs an API key and the request carries none.',
    remedy: 'Send the key in X-API-Key, never in the URL.',
    challenge: 'api_key',
  },
  api_key_invalid: {
    status: 401,
    title: 'API key not accepted',
    meaning: 'The API key is malformed, unknown, expired or deleted.',
    remedy: 'Use a current key of the site.',
    challenge: 'api_key',
  },
  session_required: {
    status: 401,
    title: 'Session required',
    meaning: 'The page needs a signed-in session and the browser has none.',
    remedy: 'Sign in again.',
    challenge: 'session',
  },

  site_mismatch: {
    ...guardProblems.site_mismatch,
    meaning: 'The credential is for a different site than the one it was presented at.',
    remedy: 'Present a credential whose site_id equals this site, byte for byte.',
  },
  scope_insufficient: {
    ...guardProblems.scope_insufficient,
    meaning: 'The credential or token does not have the scope that is wanted; required_scope names it.',
    remedy: 'Get a credential with that scope, or ask for less.',
  },
  bearer_disabled: {
    ...guardProblems.bearer_disabled,
    meaning: 'The site does not take bearer tokens.',
    remedy: 'Present the credential itself in X-Service-Credential.',
  },
  api_key_forbidden: {
    status: 403,
    title: 'API key lacks the permission',
    meaning: 'The API key is good, but it may not do this, or not for this site.',
    remedy: 'Use a key of the site with the permission that the endpoint names.',
  },
  revocation_forbidden: {
    status: 403,
    title: 'Not allowed to revoke',
    meaning: 'The caller may not revoke or reinstate this user or credential at this site.',
    remedy:
      'Use a key of that site with credentials:revoke (to reinstate: credentials:reinstate), or the very credential that is to be revoked.',
  },
  csrf_invalid: {
    status: 403,
    title: 'Form not accepted',
    meaning: 'The request does not prove that it comes from the page that was served.',
    remedy: 'Reload the page and try again.',
  },
  origin_forbidden: {
    status: 403,
    title: 'Origin not allowed',
    meaning: 'The request comes from a page of another origin.',
    remedy: 'Call this endpoint from its own page, or from a server.',
  },

  not_found: {
    status: 404,
    title: 'Not found',
    meaning:
      'There is no such endpoint, page, site or other resource, or it does not belong to the site of the API key.',
    remedy: 'Check the base URL, the path and the ids in it, and that the API key belongs to that site.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use a method that the Allow header names.',
  },
  idempotency_conflict: {
    status: 409,
    title: 'Idempotency key used before',
    meaning: 'The key was used with another body, or its answer held a secret that is shown only once.',
    remedy: 'Use a new Idempotency-Key for a new request.',
  },
  cursor_ahead: {
    status: 409,
    title: 'Cursor of another log',
    meaning:
      'The cursor lies ahead of the log or belongs to another epoch, so what was applied may not be what happened.',
    remedy: 'Drop what was applied and take a new snapshot.',
  },
  already_exists: {
    status: 409,
    title: 'Exists already',
    meaning: 'There is one of that name already.',
    remedy: 'Change the existing one with PATCH, or choose another name.',
  },
  cursor_expired: {
    status: 410,
    title: 'Cursor too old',
    meaning: 'The log no longer reaches back to this cursor.',
    remedy: 'Take a new snapshot and follow the feed from there.',
  },
  request_too_large: {
    ...guardProblems.request_too_large,
    meaning: 'The body, or the credential in it, is larger than allowed.',
    remedy: 'Send less; discovery prints the limits.',
  },
  uri_too_long: {
    status: 414,
    title: 'URL too long',
    meaning: 'The URL is longer than allowed.',
    remedy: 'Ask for fewer things at once.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The body has a Content-Type that the endpoint does not take, or is compressed.',
    remedy: 'Send Content-Type: application/json, uncompressed.',
  },
  validation_failed: {
    status: 422,
    title: 'Request not valid',
    meaning: 'A member or parameter is missing, unknown or not of its form; errors names each.',
    remedy: 'Correct what errors names and send the request again.',
  },
  ttl_out_of_range: {
    status: 422,
    title: 'Lifetime out of range',
    meaning: 'ttl_seconds is not a whole number of seconds within the allowed range.',
    remedy: 'Send an integer within the range, or leave ttl_seconds out.',
  },
  webhook_url_forbidden: {
    status: 422,
    title: 'Webhook URL not allowed',
    meaning: 'Webhooks go to public https addresses on port 443 or 8443 only.',
    remedy: 'Use such a URL, without user name or password, in its canonical spelling.',
  },
  key_rejected: {
    status: 422,
    title: 'Key not accepted',
    meaning:
      'The public key is malformed, weak or of a kind that is not supported, or its document could not be fetched.',
    remedy: 'Use an Ed25519 or P-256 key in its Multikey form.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning:
      'The caller has used up an allowance: requests, wrong keys, failed presentations, feed connections, verifier instances, queries about verifiers, snapshots at a time, live tokens, open sign-ins of the site, or deliveries to replay.',
    remedy: 'Wait for Retry-After seconds, then send fewer requests.',
    retryable: true,
  },
  header_too_large: {
    ...guardProblems.header_too_large,
    meaning: 'The credential header or the header section as a whole is larger than allowed.',
    remedy: 'Send a smaller credential, with a shorter delegation chain, and fewer headers.',
  },

  internal_error: {
    status: 500,
    title: 'Internal error',
    meaning: 'The service has failed in a way it did not foresee; nothing is known about the outcome.',
    remedy: 'Try again with the same Idempotency-Key, and report the request_id if it stays.',
    retryable: true,
  },
  store_unavailable: {
    ...guardProblems.store_unavailable,
    meaning: 'The store did not confirm the request in time, so a change may or may not have taken effect.',
    remedy: 'Send the same request again after Retry-After seconds, with the same Idempotency-Key.',
  },
  revocation_view_stale: {
    ...guardProblems.revocation_view_stale,
    meaning: 'The verifier does not know what has been revoked lately, so it rejects every request.',
    remedy: 'Try again after Retry-After seconds.',
  },
  overloaded: {
    ...guardProblems.overloaded,
    meaning: 'The service has more work than it can do in time.',
    remedy: 'Try again after Retry-After seconds.',
  },
} as const satisfies Record<string, Problem>

export type ProblemCode = keyof typeof table

/**
 * The one table of codes: status, title, meaning and remedy of each, in the order of their status.
 */
export const problems: Readonly<Record<ProblemCode, Problem>> = Object.freeze(table)

export const problemCodes = Object.freeze(Object.keys(table)) as readonly ProblemCode[]

/** Undefined for anything but a code of the table. */
export function parseProblemCode(value: unknown): ProblemCode | undefined {
  return typeof value === 'string' && Object.hasOwn(table, value) ? (value as ProblemCode) : undefined
}

/**
 * What a reverse proxy is told: it takes 401 and 403 only, so every other refusal of the caller
 * becomes 401. 429, 500 and 503 stay.
 */
export function forwardAuthStatus(code: ProblemCode): number {
  const { status } = problems[code]
  return status >= 500 || status === 403 || status === 429 ? status : 401
}

// Does not compile when the core learns to refuse with a code that has no row above.
type EveryDenialIsAProblem = [DenialCode] extends [ProblemCode] ? true : never
true satisfies EveryDenialIsAProblem
