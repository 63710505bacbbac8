import {
  bearerChallenge,
  credentialChallenge,
  type GuardProblemCode,
  guardProblems,
  type ProblemSummary,
  problemType,
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
}

/** Long enough for a reconnect, and short enough for a caller to wait. */
const RETRY_AFTER_SECONDS = 1
const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/
const BODILESS = /^(?:GET|HEAD)$/

/**
 * The complete denial, ready to be sent by an adapter. `baseUrl` is that of the service, which
 * explains the codes. With a request, the denial repeats its `X-Request-Id`.
 */
export function toGuardDenial(
  reason: Reason,
  baseUrl: string,
  view: ViewStamp,
  request?: GuardRequest,
): GuardDenial {
  const { code, detail, requiredScope } = reason
  const { status, title, challenge, retryable }: ProblemSummary = guardProblems[code]
  const needs = needFor(code, status)
  const [requestId = '', ...others] = request?.header('x-request-id') ?? []
  const headers: Record<string, string> = {
    'content-type': 'application/problem+json',
    'cache-control': 'no-store',
  }
  if (challenge !== undefined)
    headers['www-authenticate'] = challenge === 'bearer' ? bearerChallenge() : credentialChallenge(code)
  if (retryable) headers['retry-after'] = String(RETRY_AFTER_SECONDS)
  if (needs === 'holder_proof' && request !== undefined)
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

/** RFC 9421 §5.1: the signature that the guard accepts. */
function wantedSignature({ method }: GuardRequest): string {
  const digest = BODILESS.test(method) ? '' : ' "content-digest"'
  return `sig1=("@method" "@authority" "@path" "@query" "x-service-credential"${digest});created;keyid;tag="service-credential"`
}
