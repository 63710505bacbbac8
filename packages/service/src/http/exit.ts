import {
  challengeOf,
  type Endpoint,
  type EndpointId,
  forwardAuthStatus,
  type ProblemCode,
  problemBody,
  problems,
} from '@countersign/core/contract'
import type { AnswerStream, RouteAnswer } from '../answer.ts'
import { OtherMasterKey } from '../keys/seal.ts'
import { pageHeaders } from '../pages/hosted-page.ts'
import { problemPage } from '../pages/problem-page.ts'
import { texts } from '../pages/texts.ts'
import { Problem } from '../problem.ts'
import { StoreUnavailable } from '../store/store.ts'

/** What goes out. */
export interface Outgoing {
  readonly status: number
  /** Name, value, name, value, …: the form that costs Node least. */
  readonly headers: string[]
  readonly body: string | Uint8Array | undefined
  readonly stream?: AnswerStream
  /** Of a refusal. */
  readonly code?: ProblemCode
}

/** The one exit: every answer and every refusal leaves here. */
export interface Exit {
  /**
   * Turns whatever was thrown into an answer: problem+json, or a page for a person where `page` is
   * given. `isRepeatable`: the browser can ask again by loading the same address. `endpoint` is
   * undefined before a route was found.
   */
  refusal(
    thrown: unknown,
    endpoint: MountedEndpoint | undefined,
    requestId: string,
    page?: { readonly isRepeatable: boolean },
  ): Outgoing
  answer(answer: RouteAnswer, endpoint: MountedEndpoint | undefined, requestId: string): Outgoing
}

export type MountedEndpoint = Endpoint & { readonly id: EndpointId }

export interface ExitOptions {
  readonly baseUrl: string
  readonly version: string
  /** Told everything that must not leave. */
  readonly onFault: (fault: unknown, endpoint: MountedEndpoint | undefined, requestId: string) => void
}

/** Long enough for a store to come back or a crowd to pass, short enough not to matter. */
const RETRY_AFTER_SECONDS = 1

/**
 * Refusals are problem+json, or pages, with their challenge and their time to wait, and nothing of
 * what is inside.
 */
export function createExit({ baseUrl, version, onFault }: ExitOptions): Exit {
  const bodyOf = (
    { code, detail, facts }: Problem,
    status: number,
    requestId: string,
    retryAfterSeconds: number | undefined,
  ) =>
    problemBody(code, {
      baseUrl,
      requestId,
      detail,
      errors: facts.errors,
      requiredScope: facts.requiredScope,
      retryAfterSeconds,
      triesLeft: facts.triesLeft,
      status,
    })
  return {
    answer({ status, body, contentType, headers, stream }, endpoint, requestId) {
      const cache = endpoint?.noStore === false ? 'no-cache' : 'no-store'
      const list = ['x-request-id', requestId, 'service-version', version]
      if (headers?.['cache-control'] === undefined) list.push('cache-control', cache)
      const all = endpoint?.refusals === 'page' ? { ...pageHeaders, ...headers } : headers
      for (const name in all) list.push(name, (all as Readonly<Record<string, string>>)[name] as string)
      if (body === undefined && stream === undefined) return { status, headers: list, body }
      const type = contentType ?? endpoint?.answers[status]?.mediaType ?? 'application/json'
      list.push('content-type', type)
      if (stream !== undefined) return { status, headers: list, body: undefined, stream }
      const isWritten = contentType !== undefined && (typeof body === 'string' || body instanceof Uint8Array)
      return { status, headers: list, body: isWritten ? body : JSON.stringify(body) }
    },
    refusal(thrown, endpoint, requestId, wanted) {
      const problem = problemOf(thrown)
      const { code, facts } = problem
      // The other 503s say what they have to say by themselves, and come in crowds.
      if (code === 'internal_error' || code === 'store_unavailable') onFault(thrown, endpoint, requestId)
      const status = endpoint?.refusals === 'proxy' ? forwardAuthStatus(code) : problems[code].status
      const mustWait = status === 429 || status === 503
      const retryAfterSeconds = mustWait ? (facts.retryAfterSeconds ?? RETRY_AFTER_SECONDS) : undefined
      const challenge = challengeOf(code, status)
      const again = wanted?.isRepeatable && problems[code].retryable ? { again: '' } : {}
      const page = wanted && (facts.page ?? problemPage(code, requestId, texts, again))
      return {
        status,
        code,
        headers: Object.entries<string>({
          'x-request-id': requestId,
          'service-version': version,
          'content-type': page?.contentType ?? 'application/problem+json',
          // A refusal is about this moment.
          'cache-control': 'no-store',
          ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
          ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
          ...(status === 429 ? rateLimitHeaders(problem, retryAfterSeconds ?? RETRY_AFTER_SECONDS) : {}),
          ...(endpoint?.refusals === 'page' ? pageHeaders : {}),
          ...page?.headers,
          ...facts.headers,
        }).flat(),
        body:
          page !== undefined
            ? String(page.body)
            : JSON.stringify(bodyOf(problem, status, requestId, retryAfterSeconds)),
      }
    },
  }
}

/** Whatever is not a problem of the caller's is ours, or the store's. Its words stay inside. */
function problemOf(thrown: unknown): Problem {
  if (thrown instanceof Problem) return thrown
  // Another master key: the store is there, but not for this node.
  if (thrown instanceof StoreUnavailable || thrown instanceof OtherMasterKey)
    return new Problem('store_unavailable', undefined, { cause: thrown })
  return new Problem('internal_error', undefined, { cause: thrown })
}

/**
 * draft-ietf-httpapi-ratelimit-headers-10: the policy with its quota and window, and what remains
 * of it and for how long.
 */
function rateLimitHeaders({ facts }: Problem, retryAfterSeconds: number): Record<string, string> {
  const { name, quota, windowSeconds } = facts.policy ?? {
    name: 'allowance',
    quota: 1,
    windowSeconds: retryAfterSeconds,
  }
  return {
    'ratelimit-policy': `"${name}";q=${quota};w=${windowSeconds}`,
    ratelimit: `"${name}";r=0;t=${retryAfterSeconds}`,
  }
}
