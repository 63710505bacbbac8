import type { ProblemCode } from '@countersign/core/contract'
import { readBoundedBody } from '../shared/bounded-body.ts'
import { type Need, needFor } from '../shared/needs.ts'

/** Why a request was denied, for a program or a model to act upon. */
export interface Denial {
  /** One of the codes of the service; a newer service may know others. */
  readonly code: ProblemCode | (string & {})
  readonly status: number
  readonly title: string
  /** What is wrong and what to do next, in plain words. */
  readonly detail: string
  /** What would help. */
  readonly needs: Need
  /** Whether the very same request may succeed later. */
  readonly retryable: boolean
  readonly retryAfterSeconds?: number
  /** On `scope_insufficient`: the scope that the route requires. */
  readonly requiredScope?: readonly string[]
  readonly requestId?: string
  /** On `validation_failed`: every invalid member. */
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

const PROBLEM_BYTES_MAX = 65_536

/**
 * Reads the denial in a response. Undefined for any other response: a denial of this service is
 * problem+json (RFC 9457) with a `code`. The body of `response` can still be read afterwards.
 */
export async function readDenial(response: Response): Promise<Denial | undefined> {
  const type = response.headers.get('content-type') ?? ''
  if (response.status < 400 || !/^application\/problem\+json\b/i.test(type) || response.bodyUsed)
    return undefined
  const bytes = await readBoundedBody(response.clone().body, PROBLEM_BYTES_MAX)
  return bytes && parseDenial(parseObject(bytes), response)
}

function parseObject(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function parseDenial(
  body: Readonly<Record<string, unknown>>,
  { status, headers }: Response,
): Denial | undefined {
  const {
    code,
    title,
    detail,
    request_id: requestId,
    required_scope: requiredScope,
    retry_after: retryAfter,
    errors,
  } = body
  if (typeof code !== 'string') return undefined
  const needs = needFor(code, status)
  const seconds =
    parseSeconds(headers.get('retry-after')) ?? (typeof retryAfter === 'number' ? retryAfter : undefined)
  return {
    code,
    status,
    title: typeof title === 'string' ? title : code,
    detail: typeof detail === 'string' ? detail : code,
    needs,
    retryable: status === 429 || status >= 500,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
    ...(isTexts(requiredScope) ? { requiredScope } : {}),
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(isFieldErrors(errors) ? { errors } : {}),
  }
}

/** Accepts only seconds: the service sends no dates, and a date would need synchronised clocks. */
function parseSeconds(text: string | null): number | undefined {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : undefined
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function isFieldErrors(value: unknown): value is readonly { path: string; message: string }[] {
  return (
    Array.isArray(value) &&
    value.every((item) => typeof item?.path === 'string' && typeof item.message === 'string')
  )
}
