import {
  challengeFor,
  type Endpoint,
  type EndpointId,
  forwardAuthStatus,
  type ProblemCode,
  problemBody,
  problems,
} from '@countersign/core/contract'
import type { AnswerStream, RouteAnswer } from '../answer.ts'
import { pageHeaders } from '../pages/hosted-page.ts'
import type { Messages } from '../pages/messages.ts'
import { problemPage } from '../pages/problem-page.ts'
import { Problem } from '../problem.ts'
import { readersProblemPage } from '../reference/reference.ts'
import { OtherMasterKey } from '../sealing/sealer.ts'
import { StoreUnavailable } from '../store/errors.ts'

/** A response, ready to be written. */
export interface Reply {
  readonly status: number
  /** Name, value, name, value, …: Node takes this form as it is. */
  readonly headers: string[]
  readonly body: string | Uint8Array | undefined
  readonly stream?: AnswerStream
  /** Of a rejection. */
  readonly code?: ProblemCode
}

/** How the page of a rejection is shown. */
export interface PageWanted {
  /** Whether the browser can try again by loading the same address. */
  readonly isRepeatable: boolean
  readonly messages: Messages
  /** The address of the page in another language. */
  readonly toLanguage?: ((lang: string) => string) | undefined
  /** The Set-Cookie values of the page. */
  readonly toCookies?: (baseUrl: string) => readonly string[]
}

/** Turns every answer and every error into a response. */
export interface Responder {
  /**
   * The response to an error: problem+json, or a page where `page` is given. `endpoint` is
   * undefined when no endpoint was found.
   */
  reject(thrown: unknown, endpoint: MountedEndpoint | undefined, requestId: string, page?: PageWanted): Reply
  answer(answer: RouteAnswer, endpoint: MountedEndpoint | undefined, requestId: string): Reply
}

export type MountedEndpoint = Endpoint & { readonly id: EndpointId }

export interface ResponderOptions {
  readonly baseUrl: string
  readonly version: string
  /** Called with faults of the service, which responses do not describe. */
  readonly onFault: (fault: unknown, endpoint: MountedEndpoint | undefined, requestId: string) => void
}

const RETRY_AFTER_SECONDS = 1

export function createResponder({ baseUrl, version, onFault }: ResponderOptions): Responder {
  const toProblemBody = (
    { code, detail, facts }: Problem,
    status: number,
    requestId: string,
    retryAfterSeconds: number | undefined,
    err: string | undefined,
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
      err,
    })
  return {
    answer({ status, body, contentType, headers, cookies = [], stream }, endpoint, requestId) {
      const cache = endpoint?.noStore === false ? 'no-cache' : 'no-store'
      const list = ['x-request-id', requestId, 'service-version', version]
      if (headers?.['cache-control'] === undefined) list.push('cache-control', cache)
      const all = endpoint?.errorFormat === 'page' ? { ...pageHeaders, ...headers } : headers
      for (const name in all) list.push(name, (all as Readonly<Record<string, string>>)[name] as string)
      for (const cookie of cookies) list.push('set-cookie', cookie)
      if (body === undefined && stream === undefined) return { status, headers: list, body }
      const type = contentType ?? endpoint?.answers[status]?.mediaType ?? 'application/json'
      list.push('content-type', type)
      if (stream !== undefined) return { status, headers: list, body: undefined, stream }
      const isWritten = contentType !== undefined && (typeof body === 'string' || body instanceof Uint8Array)
      return { status, headers: list, body: isWritten ? body : JSON.stringify(body) }
    },
    reject(thrown, endpoint, requestId, wanted) {
      const problem = errorToProblem(thrown)
      const { code, facts } = problem
      // Other 503s need no log line: they are expected, and come in large numbers.
      if (code === 'internal_error' || code === 'store_unavailable') onFault(thrown, endpoint, requestId)
      const status = endpoint?.errorFormat === 'proxy' ? forwardAuthStatus(code) : problems[code].status
      const mustWait = status === 429 || status === 503
      const retryAfterSeconds = mustWait ? (facts.retryAfterSeconds ?? RETRY_AFTER_SECONDS) : undefined
      const isEvent = endpoint?.errorFormat === 'secevent' && status < 500
      const err = isEvent ? (facts.err ?? 'invalid_request') : undefined
      const challenge = challengeFor(code, status)
      const again = wanted?.isRepeatable && problems[code].retryable ? { again: '' } : {}
      const page =
        wanted &&
        (facts.page ??
          (isForReaders(endpoint)
            ? readersProblemPage(code)
            : problemPage(code, requestId, wanted.messages, {
                ...again,
                errors: facts.errors,
                toLanguage: wanted.toLanguage,
              })))
      return {
        status,
        code,
        headers: Object.entries<string>({
          'x-request-id': requestId,
          'service-version': version,
          'content-type': page?.contentType ?? 'application/problem+json',
          'cache-control': 'no-store',
          ...(challenge === undefined ? {} : { 'www-authenticate': challenge }),
          ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
          ...(status === 429 ? rateLimitHeaders(problem, retryAfterSeconds ?? RETRY_AFTER_SECONDS) : {}),
          ...(endpoint?.errorFormat === 'page' ? pageHeaders : {}),
          ...page?.headers,
          ...facts.headers,
        })
          .flat()
          .concat(wanted?.toCookies?.(baseUrl).flatMap((cookie) => ['set-cookie', cookie]) ?? []),
        body:
          page !== undefined
            ? String(page.body)
            : JSON.stringify(toProblemBody(problem, status, requestId, retryAfterSeconds, err)),
      }
    },
  }
}

/** Pages for readers, and addresses where nothing is. The others are of a sign-in or wallet. */
function isForReaders(endpoint: MountedEndpoint | undefined): boolean {
  return endpoint === undefined || endpoint.id === 'docs' || endpoint.id === 'problem_page'
}

/** Everything else is a fault of the service or the store, and is not described to the caller. */
function errorToProblem(thrown: unknown): Problem {
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
