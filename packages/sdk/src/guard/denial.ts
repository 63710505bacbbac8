import {
  bearerChallenge,
  credentialChallenge,
  type GuardProblemCode,
  guardProblems,
  type OAuthHints,
  oauthChallenge,
  type ProblemSummary,
  problemType,
  resourceChallenge,
  type Scope,
  type ViewStamp,
} from '@countersign/core'
import { needFor } from '../shared/needs.ts'
import type { GuardRequest } from './request.ts'
import type { GuardDenial } from './verdict.ts'

/** The code and the message of a denial. */
export interface Reason {
  readonly code: GuardProblemCode
  readonly detail: string
  readonly requiredScope?: readonly Scope[]
  /** The scheme of the access token of an OAuth issuer that was presented. */
  readonly scheme?: 'Bearer' | 'DPoP'
}

/** What a denial depends on besides its reason. */
export interface DenialContext {
  /** The address of the service, which explains the codes. */
  readonly baseUrl: string
  readonly view: ViewStamp
  /** The denial repeats its `X-Request-Id`. */
  readonly request?: GuardRequest | undefined
  /** For OAuth clients; undefined for a resource that has no metadata. */
  readonly hints?: OAuthHints | undefined
}

/** Long enough for a reconnect, and short enough for a caller to wait. */
const RETRY_AFTER_SECONDS = 1
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const BODILESS = /^(?:GET|HEAD)$/

/** The complete denial, ready to be sent by an adapter. */
export function toGuardDenial(reason: Reason, context: DenialContext): GuardDenial {
  const { code, detail, requiredScope, scheme } = reason
  const { baseUrl, view, request } = context
  const { status, title, retryable }: ProblemSummary = guardProblems[code]
  const needs = needFor(code, status)
  const [requestId = '', ...others] = request?.header('x-request-id') ?? []
  const challenge = toChallenge(reason, context)
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
  }
  if (retryable) headers['retry-after'] = String(RETRY_AFTER_SECONDS)
  if (needs === 'holder_proof' && scheme === undefined && request !== undefined)
    headers['accept-signature'] = wantedSignature(request)
  const scope = requiredScope && { requiredScope }
  return {
    ok: false,
    status,
    code,
    detail,
    needs,
    retryable: retryable ?? false,
    ...(retryable && { retryAfterSeconds: RETRY_AFTER_SECONDS }),
    ...scope,
    problem: {
      type: problemType(baseUrl, code),
      title,
      status,
      detail,
      code,
      ...(others.length === 0 && REQUEST_ID.test(requestId) && { request_id: requestId }),
      ...(requiredScope && { required_scope: requiredScope }),
      ...(retryable && { retry_after: RETRY_AFTER_SECONDS }),
    },
    headers,
    view,
  }
}

/**
 * Callers are challenged in the scheme that they used. Clients of a resource with metadata learn
 * where these are also when they used none, and after 403 which scope to ask for.
 */
function toChallenge(
  { code, scheme, requiredScope }: Reason,
  { hints }: Pick<DenialContext, 'hints'>,
): string | undefined {
  const { challenge }: ProblemSummary = guardProblems[code]
  const isAskedForScope = code === 'scope_insufficient' && (scheme !== undefined || hints !== undefined)
  if (challenge === undefined && !isAskedForScope) return undefined
  if (scheme !== undefined || isAskedForScope || (hints && challenge === 'bearer'))
    return oauthChallenge(code, scheme ?? 'Bearer', { scope: requiredScope, ...hints })
  if (challenge === 'bearer') return bearerChallenge()
  return hints !== undefined && code === 'credential_missing'
    ? resourceChallenge(hints)
    : credentialChallenge(code)
}

/** RFC 9421 §5.1: the signature that the guard accepts. */
function wantedSignature({ method }: GuardRequest): string {
  const digest = BODILESS.test(method) ? '' : ' "content-digest"'
  return `sig1=("@method" "@authority" "@path" "@query" "x-service-credential"${digest});created;keyid;tag="service-credential"`
}
