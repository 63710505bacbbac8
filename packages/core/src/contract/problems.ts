import type { DenialCode } from '../credential/denial.ts'
import { guardProblems, type ProblemSummary } from '../credential/guard-problems.ts'

/** Which challenge a 401 with this code sends in `WWW-Authenticate`. */
export type Challenge = NonNullable<ProblemSummary['challenge']> | 'api_key' | 'session'

/** A problem code with its meaning and remedy. A code is never reused for something else. */
export interface Problem {
  readonly status: number
  readonly title: string
  readonly meaning: string
  readonly remedy: string
  /** The same request may succeed later. */
  readonly retryable?: true
  readonly challenge?: Challenge
}

const table = {
  request_malformed: {
    ...guardProblems.request_malformed,
    meaning:
      'The request is malformed. The body may be incomplete or not strict JSON; a form may not be UTF-8; a parameter may be repeated, or there are too many. Host may be missing, repeated or wrong, Transfer-Encoding may not be chunked, or the request arrived too slowly.',
    remedy:
      'Send a complete HTTP/1.1 request with one well-formed JSON object, without duplicate members, and each parameter once.',
  },
  credential_malformed: {
    ...guardProblems.credential_malformed,
    meaning:
      'The credential cannot be parsed: wrong encoding, invalid JSON, a missing member, or an invalid time or identifier.',
    remedy:
      'Send the signed object exactly as it was issued, as unpadded base64url in the header or as a JSON object in the body.',
  },
  credential_unsupported: {
    ...guardProblems.credential_unsupported,
    meaning: 'The credential has a context, type, proof type or cryptosuite that is not supported.',
    remedy:
      'Present an AccessCredential with exactly one Data Integrity proof, in a suite that discovery lists.',
  },
  auth_ambiguous: {
    ...guardProblems.auth_ambiguous,
    meaning:
      'The request has more than one credential, token or API key, or authenticates a client in two ways.',
    remedy: 'Send exactly one of them, in exactly one place.',
  },
  delegation_too_deep: {
    ...guardProblems.delegation_too_deep,
    meaning: 'The delegation chain has more links than allowed.',
    remedy: 'Delegate from a credential closer to the root.',
  },
  state_invalid: {
    status: 400,
    title: 'Invalid sign-in state',
    meaning: 'The sign-in state is unknown, expired, used, or belongs to another site or browser.',
    remedy: 'Start the sign-in again.',
  },
  redirect_not_allowed: {
    status: 400,
    title: 'Return URL not allowed',
    meaning: 'The return URL is not exactly one that is registered for the site, or cannot be registered.',
    remedy: 'Use a registered, canonical URL: https, or http on loopback, without user name or fragment.',
  },
  link_invalid: {
    status: 400,
    title: 'Invalid link',
    meaning: 'The link to the console is unknown, expired or used, or the access of its person was ended.',
    remedy: 'Request a new link. It is valid for one minute, once.',
  },
  passkey_invalid: {
    status: 400,
    title: 'Invalid passkey',
    meaning:
      'The passkey is unknown or removed, the access of its person was ended, or the response is not a new one for this page.',
    remedy: 'Try again. If it fails again, sign in with a link and look at your passkeys in the settings.',
  },
  site_unknown: {
    status: 400,
    title: 'Unknown site',
    meaning: 'The site does not exist.',
    remedy: 'Check the site_id, or ask the operator to create the site.',
  },
  cursor_malformed: {
    status: 400,
    title: 'Malformed cursor',
    meaning: 'The cursor is not from this service.',
    remedy: 'Send next_cursor, Last-Event-ID or epoch.seq exactly as received, or start without a cursor.',
  },
  callback_invalid: {
    status: 400,
    title: 'Invalid callback',
    meaning:
      'The payload of the sign-in callback is expired, used, or does not belong to this state, site and browser. In the console: what the identity provider sent is not valid, or not for this sign-in.',
    remedy: 'Start the sign-in again.',
  },
  code_invalid: {
    status: 400,
    title: 'Invalid one-time code',
    meaning:
      'The code or offer is unknown, expired or used, or the code_verifier does not match its challenge.',
    remedy: 'Start again. A code works once, and only with the code_verifier of its sign-in.',
  },
  signal_invalid: {
    status: 400,
    title: 'Invalid signal',
    meaning:
      'The signal is not valid here: its sender is not registered, its token is malformed, expired or of another type, its signature, audience or events are wrong, or its jti was used for another signal.',
    remedy:
      'Check that the sender is registered with its issuer, keys and audience, and send a new signed token.',
  },
  signal_subject_unmapped: {
    status: 400,
    title: 'Subject of the signal unknown',
    meaning:
      'The signal is valid, but its subject names no user or session of this site, so nothing was revoked.',
    remedy:
      'Send a subject in the form that the sender is registered with. For a logout with sid only, set session_claim of the issuer.',
  },

  credential_missing: {
    ...guardProblems.credential_missing,
    meaning: 'The request has no credential.',
    remedy: 'Send the signed credential as unpadded base64url in X-Service-Credential.',
  },
  issuer_untrusted: {
    ...guardProblems.issuer_untrusted,
    meaning: 'The site does not trust the issuer or its key, or the lifetime of the credential is too long.',
    remedy: 'Request a credential from an issuer that the site trusts, or ask the site to add this issuer.',
  },
  credential_signature_invalid: {
    ...guardProblems.credential_signature_invalid,
    meaning:
      'The signature of the credential is invalid: the credential was changed after signing, or signed with another key.',
    remedy: 'Present the credential exactly as it was issued, or request a new one.',
  },
  credential_not_yet_valid: {
    ...guardProblems.credential_not_yet_valid,
    meaning: 'validFrom or the signature time of the credential is in the future.',
    remedy: 'Wait until validFrom, and check the clocks of the issuer and the client.',
  },
  credential_expired: {
    ...guardProblems.credential_expired,
    meaning: 'The credential has expired.',
    remedy: 'Request a new credential from its issuer.',
  },
  credential_revoked: {
    ...guardProblems.credential_revoked,
    meaning: 'The credential, its user, or a credential it was delegated from has been revoked.',
    remedy: 'Contact the site. Retrying does not help.',
  },
  delegation_invalid: {
    ...guardProblems.delegation_invalid,
    meaning:
      'A link of the delegation chain is invalid: its scope, expiry, site, subject, signer, holder key or permission to delegate.',
    remedy:
      'Delegate again from a delegable parent, with no more than the parent grants, signed with its holder key.',
  },
  proof_required: {
    ...guardProblems.proof_required,
    meaning:
      'The credential is bound to a holder key, or the site requires a holder proof, but the request is not signed with that key. A bearer token has no holder proof; an access token has one if its issuer bound it to a key (DPoP).',
    remedy:
      'Send the credential itself and sign the request (RFC 9421, tag "service-credential") with the holder key. Send a bound access token with the DPoP scheme and a proof (RFC 9449).',
  },
  proof_invalid: {
    ...guardProblems.proof_invalid,
    meaning:
      'The request signature is invalid: wrong key, wrong host, too old or in the future. It may also lack a required component, or Content-Digest may not match the body. A verifier also returns this code for up to three seconds after its start.',
    remedy:
      'Sign this request again, with the holder key and a correct clock, and cover all required components.',
  },
  proof_replayed: {
    ...guardProblems.proof_replayed,
    meaning: 'A request signature with this nonce, or a DPoP proof with this jti, was accepted before.',
    remedy: 'Sign each request again with a new nonce or jti.',
  },
  token_invalid: {
    ...guardProblems.token_invalid,
    meaning:
      'The token is malformed, unknown, expired or revoked, or belongs to another site. An access token may also be of an issuer, type or audience that the site does not accept.',
    remedy:
      'Exchange the credential for a new token, or present the credential itself. Get a new access token from its issuer.',
  },
  api_key_missing: {
    status: 401,
    title: 'API key missing',
    meaning: 'The endpoint requires an API key, and the request has none.',
    remedy: 'Send the key in X-API-Key, never in the URL.',
    challenge: 'api_key',
  },
  api_key_invalid: {
    status: 401,
    title: 'Invalid API key',
    meaning:
      'The API key is malformed, unknown, expired or deleted. For OAuth clients: the client_id is not the key_id of this key.',
    remedy: 'Use a valid key of the site.',
    challenge: 'api_key',
  },
  session_required: {
    status: 401,
    title: 'Session required',
    meaning: 'The page requires a signed-in session, and the browser has none.',
    remedy: 'Sign in again.',
    challenge: 'session',
  },

  site_mismatch: {
    ...guardProblems.site_mismatch,
    meaning: 'The credential is for a different site than the one it was presented at.',
    remedy: 'Present a credential whose site_id is exactly this site.',
  },
  scope_insufficient: {
    ...guardProblems.scope_insufficient,
    meaning: 'The credential or token does not have the required scope; see required_scope.',
    remedy: 'Request a credential with that scope, or request less.',
  },
  bearer_disabled: {
    ...guardProblems.bearer_disabled,
    meaning:
      'The site does not accept bearer tokens of this service. Access tokens of OAuth issuers are not affected.',
    remedy: 'Present the credential itself in X-Service-Credential.',
  },
  api_key_forbidden: {
    status: 403,
    title: 'API key lacks permission',
    meaning: 'The API key is valid, but it does not have the permission, or belongs to another site.',
    remedy: 'Use a key of the site that has the permission of the endpoint.',
  },
  revocation_forbidden: {
    status: 403,
    title: 'Not allowed to revoke',
    meaning: 'The caller may not revoke or reinstate this user or credential at this site.',
    remedy:
      'Use a key of that site with credentials:revoke (to reinstate: credentials:reinstate), or present the credential to be revoked.',
  },
  role_insufficient: {
    status: 403,
    title: 'Role not sufficient',
    meaning: 'The person has no role at this site, or a role that does not allow this.',
    remedy: 'Ask an operator for a role that allows it.',
  },
  step_up_required: {
    status: 403,
    title: 'Sign in again first',
    meaning:
      'The act grants access, affects many, or ends a way to sign in or a session of another person, and the person who acts signed in too long ago. It is allowed for 5 minutes after a sign-in.',
    remedy: 'Confirm with a passkey or sign in again with a new link, then repeat the request.',
  },
  sign_in_forbidden: {
    status: 403,
    title: 'No access to the console',
    meaning:
      'The identity provider has confirmed the account, but no group of the account has a role in the console, or the access of the person was ended.',
    remedy: 'Ask an operator for access, then sign in again.',
  },
  csrf_invalid: {
    status: 403,
    title: 'Invalid form',
    meaning:
      'The request does not come from the page of this service. In the console: a header that its pages send is missing.',
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
      'The endpoint, page, site or other resource does not exist, or does not belong to the site of the API key.',
    remedy: 'Check the base URL, the path and the ids in it, and that the API key belongs to that site.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    meaning: 'The path does not support this method.',
    remedy: 'Use a method that the Allow header lists.',
  },
  idempotency_conflict: {
    status: 409,
    title: 'Idempotency key already used',
    meaning:
      'The key was used with another body, or the response contained a secret, which is shown only once.',
    remedy: 'Use a new Idempotency-Key for a new request.',
  },
  cursor_ahead: {
    status: 409,
    title: 'Cursor of another log',
    meaning:
      'The cursor is ahead of the log or belongs to another epoch, so the applied entries may not be in the log.',
    remedy: 'Discard the applied entries and load a new snapshot.',
  },
  verifier_active: {
    status: 409,
    title: 'Verifier may accept requests',
    meaning: 'The verifier is connected, or its revocation data is still fresh, so it cannot be retired.',
    remedy: 'End its process, then try again after the time that the detail names.',
  },
  passkey_unavailable: {
    status: 409,
    title: 'No passkeys at this address',
    meaning:
      'Browsers bind passkeys to a host name, and the page was opened with an IP address or with another address than that of the console.',
    remedy:
      'Open the console with its host name, for example http://localhost:8787/console, or sign in with a link.',
  },
  own_access: {
    status: 409,
    title: 'Own access',
    meaning: 'People cannot end or reduce their own access in the console, or create links for themselves.',
    remedy: 'Ask another operator, or use an operator key.',
  },
  already_exists: {
    status: 409,
    title: 'Already exists',
    meaning: 'The name is already in use.',
    remedy: 'Change the existing resource with PATCH, or choose another name.',
  },
  key_in_use: {
    status: 409,
    title: 'Key is in use',
    meaning: 'The key is that of the request itself, or the last valid operator key.',
    remedy:
      'Create another operator key, and delete this one with it. With access to the store: countersign delete-operator-key.',
  },
  cursor_expired: {
    status: 410,
    title: 'Cursor expired',
    meaning: 'The log no longer reaches back to this cursor.',
    remedy: 'Load a new snapshot and follow the feed from there.',
  },
  request_too_large: {
    ...guardProblems.request_too_large,
    meaning: 'The body, or the credential in it, is larger than allowed.',
    remedy: 'Send a smaller body; discovery lists the limits.',
  },
  uri_too_long: {
    status: 414,
    title: 'URL too long',
    meaning: 'The URL is longer than allowed.',
    remedy: 'Send fewer or shorter parameters.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Unsupported media type',
    meaning: 'The endpoint does not accept the Content-Type of the body, or the body is compressed.',
    remedy: 'Send Content-Type: application/json, uncompressed.',
  },
  validation_failed: {
    status: 422,
    title: 'Invalid request',
    meaning: 'A member or parameter is missing, unknown or invalid; errors lists each.',
    remedy: 'Fix the members in errors and send the request again.',
  },
  ttl_out_of_range: {
    status: 422,
    title: 'Lifetime out of range',
    meaning: 'ttl_seconds is not a whole number of seconds within the allowed range.',
    remedy: 'Send an integer within the range, or omit ttl_seconds.',
  },
  webhook_url_forbidden: {
    status: 422,
    title: 'Webhook URL not allowed',
    meaning: 'The URL is not a public https address on port 443 or 8443.',
    remedy: 'Use a canonical, public https URL on port 443 or 8443, without user name or password.',
  },
  logo_rejected: {
    status: 422,
    title: 'Logo not accepted',
    meaning:
      'The logo could not be fetched, or is not a PNG, WebP or JPEG within the limits. Nothing was changed.',
    remedy:
      'Check that the URL serves the picture itself, without a redirect, on a public https address. Use a still PNG, WebP or JPEG of at most 64 KiB and 1024 pixels on each side.',
  },
  key_rejected: {
    status: 422,
    title: 'Invalid key',
    meaning: 'The public key is malformed, weak or not supported, or its DID document could not be fetched.',
    remedy:
      'Use an Ed25519 or P-256 key in Multikey form. For a did:web, check that its DID document can be fetched.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    meaning:
      'The caller has reached a limit: requests, invalid keys, failed presentations, feed connections, verifier instances, queries about verifiers, concurrent snapshots, exports, previews, bulk revocations and erasures, webhook tests, valid tokens, open sign-ins of the site, or replayed deliveries.',
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
    meaning: 'The service failed unexpectedly. The request may or may not have taken effect.',
    remedy: 'Retry with the same Idempotency-Key. If the problem persists, report the request_id.',
    retryable: true,
  },
  store_unavailable: {
    ...guardProblems.store_unavailable,
    meaning: 'The store did not confirm the request in time, so a change may or may not have taken effect.',
    remedy: 'Retry after Retry-After seconds, with the same Idempotency-Key.',
  },
  revocation_view_stale: {
    ...guardProblems.revocation_view_stale,
    meaning:
      'The revocation data of the verifier is stale, so it rejects every request. A change may have been made all the same: this node has not applied it yet.',
    remedy: 'Retry after Retry-After seconds.',
  },
  signal_keys_unavailable: {
    status: 503,
    title: 'Keys of the sender unavailable',
    meaning:
      'The keys that verify the signal could not be loaded, so nothing was revoked. The signal may be valid.',
    remedy: 'Send the signal again after Retry-After seconds, and check jwks_uri of the sender.',
    retryable: true,
  },
  provider_unavailable: {
    status: 503,
    title: 'Identity provider unavailable',
    meaning:
      'The identity provider of the console could not be reached, or its answer is not valid. The log of the service says why.',
    remedy: 'Try again, or sign in with a passkey or a link.',
    retryable: true,
  },
  overloaded: {
    ...guardProblems.overloaded,
    meaning: 'The service has too many requests to process in time.',
    remedy: 'Retry after Retry-After seconds.',
  },
} as const satisfies Record<string, Problem>

export type ProblemCode = keyof typeof table

/** All problem codes, ordered by status. */
export const problems: Readonly<Record<ProblemCode, Problem>> = Object.freeze(table)

export const problemCodes = Object.freeze(Object.keys(table)) as readonly ProblemCode[]

export function parseProblemCode(value: unknown): ProblemCode | undefined {
  return typeof value === 'string' && Object.hasOwn(table, value) ? (value as ProblemCode) : undefined
}

/**
 * The status for a reverse proxy. Proxies accept only 401 and 403 as denials, so every other 4xx
 * except 429 becomes 401.
 */
export function forwardAuthStatus(code: ProblemCode): number {
  const { status } = problems[code]
  return status >= 500 || status === 403 || status === 429 ? status : 401
}

// Does not compile if the core has a denial code without a row above.
type EveryDenialIsAProblem = [DenialCode] extends [ProblemCode] ? true : never
true satisfies EveryDenialIsAProblem
