import type * as z from 'zod'
import { limits, type RateClass } from './limits.ts'
import { type ProblemCode, problemCodes } from './problems.ts'
import type { Permission } from './vocabulary.ts'

/**
 * Who may call. `credential`: a credential or, for compatibility, a bearer token in its header.
 * `credential_in_body`: a credential in the member of that name. `api_key_or_credential`: one of
 * them, never both. `api_key_and_credential`: the key is the proxy's, the credential its caller's.
 * `page`: the service's own page, in the browser that the flow is bound to. `operator_key`: an API
 * key without a site.
 */
export type Auth =
  | 'none'
  | 'page'
  | 'credential'
  | 'credential_in_body'
  | 'api_key'
  | 'api_key_optional'
  | 'api_key_or_credential'
  | 'api_key_and_credential'
  | 'operator_key'

export const tags = [
  'protected',
  'tokens',
  'wallet',
  'sign-in',
  'feed',
  'administration',
  'discovery',
  'health',
] as const

export interface RequestParts {
  /** What does not fit is `not_found`. */
  readonly params?: z.ZodType
  /** Unknown parameters are refused, like unknown members of a body. */
  readonly query?: z.ZodType
  /** Query parameters that may be repeated; any other repetition is `request_malformed`. */
  readonly queryLists?: readonly string[]
  /** By lower-case name; only those that matter here. */
  readonly headers?: z.ZodType
  /** A body of application/json. */
  readonly body?: z.ZodType
  readonly bodyOptional?: true
  /** The same as application/x-www-form-urlencoded, where that is taken too. */
  readonly form?: z.ZodType
}

export interface Answer {
  readonly description: string
  readonly body?: z.ZodType
  /** Default: application/json when there is a body. */
  readonly mediaType?: string
  /** Headers of the answer besides those of every answer, each with its meaning. */
  readonly headers?: Readonly<Record<string, string>>
}

/** What an area says of an endpoint. */
export interface EndpointFacts {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tag: (typeof tags)[number]
  readonly auth: Auth
  /** Any one of these will do. */
  readonly permissions?: readonly Permission[]
  readonly rateLimit: RateClass
  /**
   * Takes `Idempotency-Key`. `secret`: the answer holds a secret, so a repetition is refused and
   * not answered again.
   */
  readonly idempotency?: 'replayed' | 'secret'
  readonly request: RequestParts
  /** Default: `request_body_bytes_usual_max`. Most of a body is read before its caller is known. */
  readonly bodyBytesMax?: number
  readonly answers: Readonly<Record<number, Answer>>
  /** Besides those that follow from `auth` and `idempotency` and those of every endpoint. */
  readonly problems: readonly ProblemCode[]
  /** Whether the answer must not be cached. */
  readonly noStore: boolean
  /**
   * `proxy`: refusals have the status that `forwardAuthStatus` gives. `page`: a browser, which
   * accepts text/html, is shown a page in place of JSON.
   */
  readonly errorFormat?: 'proxy' | 'page'
}

/**
 * One endpoint of the contract: the service mounts it, OpenAPI and the documentation describe it.
 */
export type Endpoint<Facts extends EndpointFacts = EndpointFacts> = Facts & {
  /** The media types of a body; none where no body is taken. */
  readonly bodyTypes: readonly string[]
  readonly bodyBytesMax: number
  /** Every code it may answer with, except `generalProblems`. */
  readonly problems: readonly ProblemCode[]
}

/** Codes that any endpoint, or the server before it, may answer with. */
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

/** Codes of the web console, whose pages are no part of this contract. */
export const consoleProblems = [
  'session_required',
  'csrf_invalid',
  'origin_forbidden',
] as const satisfies readonly ProblemCode[]

/** Codes with which a presented credential may be refused, wherever it travels. */
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
  api_key_optional: ['auth_ambiguous', 'api_key_invalid'],
  api_key_or_credential: [...keyProblems, ...presentationProblems],
  api_key_and_credential: [...keyProblems, ...headerProblems],
  operator_key: keyProblems,
}

/** Completes the facts of an endpoint with what follows from them. */
export function endpoint<const Facts extends EndpointFacts>(facts: Facts): Endpoint<Facts> {
  const given = new Set<ProblemCode>([
    ...facts.problems,
    ...authProblems[facts.auth],
    ...(facts.idempotency ? (['idempotency_conflict'] as const) : []),
  ])
  const { body, form } = facts.request
  return {
    ...facts,
    bodyBytesMax: facts.bodyBytesMax ?? limits.request_body_bytes_usual_max,
    bodyTypes: [
      ...(body ? ['application/json'] : []),
      ...(form ? ['application/x-www-form-urlencoded'] : []),
    ],
    problems: problemCodes.filter(
      (code) => given.has(code) && !(generalProblems as readonly ProblemCode[]).includes(code),
    ),
  }
}
