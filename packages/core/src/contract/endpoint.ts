import type * as z from 'zod'
import { limits, type RateClass } from './limits.ts'
import { type ProblemCode, problemCodes } from './problems.ts'
import type { Permission } from './vocabulary.ts'

/**
 * How callers authenticate. `credential`: a credential or, for compatibility, a bearer token in its
 * header. `credential_in_body`: a credential in the member of that name. `api_key_or_credential`:
 * exactly one of them. `api_key_and_credential`: the key of a proxy and the credential of its
 * caller. `oauth_client`: an API key in its header, or as the secret of an OAuth client, with HTTP
 * Basic or in the form (RFC 6749 §2.3.1). `page`: a page of the service, in the browser that the
 * flow is bound to. `operator_key`: an API key without a site. `sender_token`: a JWT of a
 * registered sender of signals. `console`: a page of the console, before a person has signed in.
 * `session`: the same page with the session of a person, in its cookie.
 */
export type Auth =
  | 'none'
  | 'page'
  | 'credential'
  | 'credential_in_body'
  | 'api_key'
  | 'oauth_client'
  | 'api_key_optional'
  | 'api_key_or_credential'
  | 'api_key_and_credential'
  | 'operator_key'
  | 'sender_token'
  | 'console'
  | 'session'

export const tags = [
  'protected',
  'tokens',
  'wallet',
  'sign-in',
  'feed',
  'signals',
  'administration',
  'console',
  'discovery',
  'health',
] as const

export interface RequestParts {
  /** Invalid parameters are `not_found`. */
  readonly params?: z.ZodType
  /** Unknown parameters are rejected, like unknown members of a body. */
  readonly query?: z.ZodType
  /** Query parameters that may be repeated; any other repetition is `request_malformed`. */
  readonly queryLists?: readonly string[]
  /** By lower-case name; only those that the endpoint uses. */
  readonly headers?: z.ZodType
  /** A body of application/json. */
  readonly body?: z.ZodType
  readonly bodyOptional?: true
  /** The body as application/x-www-form-urlencoded, if the endpoint accepts forms too. */
  readonly form?: z.ZodType
  /** A body of application/secevent+jwt: the text of a security event token. */
  readonly securityEvent?: z.ZodType
}

export interface Answer {
  readonly description: string
  readonly body?: z.ZodType
  /** Default: application/json when there is a body. */
  readonly mediaType?: string
  /** Media types that the caller can choose instead, as text. */
  readonly otherMediaTypes?: readonly string[]
  /** Descriptions of headers in addition to those of every response. */
  readonly headers?: Readonly<Record<string, string>>
}

/** The definition of an endpoint. */
export interface EndpointFacts {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag: (typeof tags)[number]
  readonly auth: Auth
  /** One of these is required. */
  readonly permissions?: readonly Permission[]
  readonly rateLimit: RateClass
  /**
   * Accepts `Idempotency-Key`. `secret`: the response contains a secret, so a repeated request is
   * rejected and gets no second response.
   */
  readonly idempotency?: 'replayed' | 'secret'
  /**
   * Ends access and grants none. Such a request is never rejected because of load, and is done
   * again when the first one with its `Idempotency-Key` does not end: rejecting it would leave an
   * intruder with access.
   */
  readonly revokes?: true
  readonly request: RequestParts
  /**
   * Default: `request_body_bytes_usual_max`. The limit is small because most bodies are read before
   * the caller is authenticated.
   */
  readonly bodyBytesMax?: number
  readonly answers: Readonly<Record<number, Answer>>
  /** Codes in addition to `generalProblems` and to those that `auth` and `idempotency` imply. */
  readonly problems: readonly ProblemCode[]
  /** Whether the response must not be cached. */
  readonly noStore: boolean
  /**
   * `proxy`: problems have the status of `forwardAuthStatus`. `page`: browsers, which accept
   * text/html, get a page instead of JSON. `secevent`: problems also have the members of RFC 8935.
   */
  readonly errorFormat?: 'proxy' | 'page' | 'secevent'
}

/**
 * One endpoint of the contract. The service mounts it, and OpenAPI and the documentation describe
 * it.
 */
export type Endpoint<Facts extends EndpointFacts = EndpointFacts> = Facts & {
  /** The media types of the body; empty if the endpoint has none. */
  readonly bodyTypes: readonly string[]
  readonly bodyBytesMax: number
  /** All codes that it may return, except `generalProblems`. */
  readonly problems: readonly ProblemCode[]
}

/** Codes that every endpoint, or the server before it, may return. */
export const generalProblems = [
  'request_malformed',
  'not_found',
  'method_not_allowed',
  'request_too_large',
  'uri_too_long',
  'unsupported_media_type',
  'validation_failed',
  'rate_limited',
  'header_too_large',
  'internal_error',
  'overloaded',
] as const satisfies readonly ProblemCode[]

/**
 * Codes that endpoints of `/api` may return in addition when a person calls them in the console,
 * under `/console/api`.
 */
export const consoleProblems = [
  'session_required',
  'csrf_invalid',
  'origin_forbidden',
  'role_insufficient',
  'step_up_required',
] as const satisfies readonly ProblemCode[]

/** Codes that deny a presented credential, in a header or a body. */
export const presentationProblems = [
  'credential_malformed',
  'credential_unsupported',
  'delegation_too_deep',
  'issuer_untrusted',
  'credential_signature_invalid',
  'credential_not_yet_valid',
  'credential_expired',
  'credential_revoked',
  'delegation_invalid',
  'proof_required',
  'proof_invalid',
  'proof_replayed',
  'site_mismatch',
  'scope_insufficient',
  'revocation_view_stale',
] as const satisfies readonly ProblemCode[]

const keyProblems = [
  'auth_ambiguous',
  'api_key_missing',
  'api_key_invalid',
  'api_key_forbidden',
] as const satisfies readonly ProblemCode[]
const headerProblems = [
  'auth_ambiguous',
  'credential_missing',
  'token_invalid',
  'bearer_disabled',
  ...presentationProblems,
] as const

const authProblems: Record<Auth, readonly ProblemCode[]> = {
  none: [],
  page: ['csrf_invalid', 'origin_forbidden'],
  credential: headerProblems,
  credential_in_body: presentationProblems,
  api_key: keyProblems,
  oauth_client: keyProblems,
  api_key_optional: ['auth_ambiguous', 'api_key_invalid'],
  api_key_or_credential: [...keyProblems, ...presentationProblems],
  api_key_and_credential: [...keyProblems, ...headerProblems],
  operator_key: keyProblems,
  sender_token: ['token_invalid'],
  console: ['csrf_invalid', 'origin_forbidden'],
  session: ['auth_ambiguous', 'session_required', 'csrf_invalid', 'origin_forbidden'],
}

/** Completes the definition of an endpoint with derived values. */
export function endpoint<const Facts extends EndpointFacts>(facts: Facts): Endpoint<Facts> {
  const given = new Set<ProblemCode>([
    ...facts.problems,
    ...authProblems[facts.auth],
    ...(facts.idempotency ? (['idempotency_conflict'] as const) : []),
    // A node that repeats the answer of another one first applies the log that far.
    ...(facts.idempotency === 'replayed' ? (['revocation_view_stale'] as const) : []),
  ])
  const { body, form, securityEvent } = facts.request
  return {
    ...facts,
    bodyBytesMax: facts.bodyBytesMax ?? limits.request_body_bytes_usual_max,
    bodyTypes: [
      ...(body ? ['application/json'] : []),
      ...(form ? ['application/x-www-form-urlencoded'] : []),
      ...(securityEvent ? ['application/secevent+jwt'] : []),
    ],
    problems: problemCodes.filter(
      (code) => given.has(code) && !(generalProblems as readonly ProblemCode[]).includes(code),
    ),
  }
}
