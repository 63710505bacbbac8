import * as z from 'zod'
import { HEAD_HEADER_CHARS_MAX } from '../log/head-header.ts'
import { feedCursor } from './fields.ts'
import { limits } from './limits.ts'
import { isLine } from './text.ts'

/** All headers of the contract, with lower-case names as in Node and fetch. */
export const headerNames = Object.freeze({
  credential: 'x-service-credential',
  apiKey: 'x-api-key',
  bearer: 'authorization',
  requestId: 'x-request-id',
  serviceVersion: 'service-version',
  idempotencyKey: 'idempotency-key',
  reason: 'x-reason',
  prefer: 'prefer',
  preferenceApplied: 'preference-applied',
  verifierId: 'x-verifier-id',
  verifierInstance: 'x-verifier-instance',
  verifierStaleness: 'x-verifier-max-staleness',
  verifierFailOpen: 'x-verifier-fail-open',
  verifierVersion: 'x-verifier-version',
  verifierHead: 'x-verifier-head',
  verifierApplied: 'x-verifier-applied',
  verifierDenied: 'x-verifier-denied',
  console: 'countersign-console',
  consolePerson: 'countersign-person',
  consoleBackground: 'countersign-background',
  feedVersion: 'feed-version',
  lastEventId: 'last-event-id',
  retryAfter: 'retry-after',
  rateLimit: 'ratelimit',
  rateLimitPolicy: 'ratelimit-policy',
})

/**
 * Headers that every request may have. The three headers for authentication are checked by the
 * guard, not by a schema: an invalid one is 401, not 422.
 */
export const commonRequestHeaders: Readonly<Record<string, string>> = Object.freeze({
  'X-Request-Id': `1 to ${limits.request_id_chars_max} of A-Z a-z 0-9 . _ -, echoed; anything else is replaced.`,
  'X-API-Key': 'An API key, svc_sk_…, if the endpoint accepts one. Never send it in the URL.',
  'X-Service-Credential': 'The signed credential in base64url without padding, if the endpoint accepts one.',
  Authorization:
    'Bearer svc_at_…, for compatibility, or an access token of an OAuth issuer, if the endpoint accepts one; with the scheme DPoP, if it is bound to a key.',
})

/** Headers of every response. */
export const commonAnswerHeaders: Readonly<Record<string, string>> = Object.freeze({
  'X-Request-Id': 'Identifies this request in logs and problems.',
  'Service-Version': 'The version of the service.',
})

/** For endpoints that change something. */
export const idempotencyHeaders = {
  'idempotency-key': z
    .string()
    .regex(
      new RegExp(`^[\\x21-\\x7e]{1,${limits.idempotency_key_chars_max}}$`),
      `must be 1 to ${limits.idempotency_key_chars_max} visible ASCII characters`,
    )
    .optional()
    .meta({
      description:
        'A repeated key gets the same response for a day; with another body, 409 idempotency_conflict.',
    }),
}

/**
 * The text of `X-Reason`: percent-encoded UTF-8, as `encodeURIComponent` writes it. Undefined if it
 * is not, or not a reason.
 */
export function parseReasonHeader(value: string): string | undefined {
  if (!/^[\x20-\x7e]*$/.test(value)) return undefined
  try {
    const text = decodeURIComponent(value)
    return isLine(text, limits.reason_chars_max) ? text : undefined
  } catch {
    return undefined
  }
}

/**
 * For DELETE, which has no body (RFC 9110 §9.3.5). A reason may name a person, so it is never in a
 * URL.
 */
export const reasonHeaders = {
  'x-reason': z
    .string()
    .refine(
      (value) => parseReasonHeader(value) !== undefined,
      `must be percent-encoded UTF-8 of one line, at most ${limits.reason_chars_max} characters`,
    )
    .optional()
    .meta({
      description:
        'The reason given by the caller, in percent-encoded UTF-8. Stored and shown to the site, never sent on the feed.',
    }),
}

/** For revocations. A malformed value or one over the limit is ignored. */
export const preferHeaders = {
  prefer: z
    .string()
    .optional()
    .meta({
      description: `wait=N (RFC 7240), N up to ${limits.wait_seconds_max}: wait with the response until every connected verifier that is not silent has acknowledged the entry; with denied-everywhere, until denied_everywhere_at has passed.`,
    }),
}

/** Headers of the response to a revocation. */
export const preferenceHeaders = {
  'Preference-Applied':
    'wait=N if the preference was applied, followed by denied-everywhere if that was applied too. Absent if too many requests of the caller waited; propagation then says how far the entry had got.',
}

/** The name or instance id of a verifier. */
export const verifierName = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9_-]{1,${limits.verifier_id_chars_max}}$`),
    `must be 1 to ${limits.verifier_id_chars_max} of A-Z a-z 0-9 _ -`,
  )

/** Identify the calling verifier. */
export const verifierHeaders = {
  'x-verifier-id': verifierName
    .optional()
    .meta({ description: 'The configured name of the verifier. Several processes may share it.' }),
  'x-verifier-instance': verifierName.optional().meta({
    description:
      'A random id of this verifier process. Receipts count each instance, and an acknowledgement applies to its own instance only.',
  }),
}

/**
 * Declared by a verifier when it requests a signed head. The first two require X-Verifier-Instance,
 * and an instance must send the first.
 */
export const verifierPromiseHeaders = {
  'x-verifier-max-staleness': z
    .string()
    .regex(/^[1-9][0-9]{0,3}$/, 'must be whole seconds')
    .refine(
      (text) => Number(text) <= limits.verifier_staleness_seconds_max,
      `must be at most ${limits.verifier_staleness_seconds_max}`,
    )
    .optional()
    .meta({
      description: `Seconds after which the verifier rejects everything without a newer signed head, ${limits.verifier_staleness_seconds_min} to ${limits.verifier_staleness_seconds_max}.`,
    }),
  'x-verifier-fail-open': z.literal('1').optional().meta({
    description:
      'The verifier accepts requests even with stale revocation data. Receipts then have no denied_everywhere_at.',
  }),
  'x-verifier-version': z
    .string()
    .regex(
      new RegExp(`^[A-Za-z0-9._+/-]{1,${limits.verifier_version_chars_max}}$`),
      `must be 1 to ${limits.verifier_version_chars_max} of A-Z a-z 0-9 . _ + / -`,
    )
    .optional()
    .meta({
      description: 'The version of the software of the verifier, for the list of verifiers.',
      examples: ['sdk/0.1.0'],
    }),
}

/** Invalid values are ignored. */
export const verifierHeadHeaders = {
  'x-verifier-head': z.string().max(HEAD_HEADER_CHARS_MAX).optional().meta({
    description:
      'The last heartbeat that the verifier has verified, base64url of its JSON. If the service signed it and its store does not have that entry, the log has lost entries: the node reports it and is not ready.',
  }),
}

/** An entry, and how many milliseconds ago a verifier applied it or denied what it revoked. */
export interface VerifierTime {
  readonly seq: number
  readonly agoMs: number
}

/**
 * The value of X-Verifier-Applied or X-Verifier-Denied. Empty unless all of it is valid and about
 * different entries up to `seqMax`, in order: these are statistics, and an acknowledgement must not
 * fail because of them.
 */
export function parseVerifierTimes(value: string | undefined, seqMax: number): readonly VerifierTime[] {
  if (value === undefined || value.length > VERIFIER_TIMES_CHARS_MAX) return []
  const items = value.split(',')
  if (items.length > limits.verifier_times_max) return []
  const times: VerifierTime[] = []
  for (const item of items) {
    const [, seqText, agoText] = /^ ?([1-9][0-9]{0,15})=(0|[1-9][0-9]{0,6})$/.exec(item) ?? []
    const time = { seq: Number(seqText), agoMs: Number(agoText) }
    const isNext = time.seq > (times.at(-1)?.seq ?? 0) && time.seq <= seqMax
    if (!isNext || !(time.agoMs <= limits.verifier_time_ms_max)) return []
    times.push(time)
  }
  return times
}

const VERIFIER_TIMES_CHARS_MAX = limits.verifier_times_max * 27

const timesFormat = `seq=milliseconds, separated by commas, at most ${limits.verifier_times_max}, by seq, up to the acknowledged one. A value that is not like this is ignored.`

/** Sent with acknowledgements of an instance. Durations need no common clock. */
export const verifierTimingHeaders = {
  'x-verifier-applied': z
    .string()
    .optional()
    .meta({
      description: `How long ago the verifier had applied all entries up to seq: ${timesFormat}`,
      examples: ['1041=180, 1042=3'],
    }),
  'x-verifier-denied': z
    .string()
    .optional()
    .meta({
      description: `How long ago the verifier first denied what the entry revoked, if it has: ${timesFormat}`,
      examples: ['1042=2'],
    }),
}

export const feedVersionHeaders = {
  'feed-version': z
    .literal('1')
    .optional()
    .meta({ description: 'The version of the feed that the verifier supports. Default: 1.' }),
}

export const lastEventHeaders = {
  'last-event-id': feedCursor
    .optional()
    .meta({ description: 'epoch.seq of the last applied entry. Overrides the parameter after.' }),
}

export const ifNoneMatchHeaders = {
  'if-none-match': z.string().optional().meta({
    description: 'ETag of a snapshot that the caller has. If it is still current, the answer is 304.',
  }),
}

const forwarded = z.string().max(limits.url_bytes_max).optional()

/**
 * Describe the original request. They are trusted because the proxy authenticates with an API key.
 */
export const proxyHeaders = {
  'x-original-method': forwarded,
  'x-original-host': forwarded,
  'x-original-uri': forwarded,
  'x-forwarded-method': forwarded,
  'x-forwarded-host': forwarded,
  'x-forwarded-uri': forwarded,
  'x-forwarded-proto': forwarded,
}

/** Of requests with the session of a person, under `/console`. */
export const sessionHeaders = {
  'countersign-person': z.string().optional().meta({
    description:
      'The person that the page was opened for. If the session is that of another person, the answer is 401 session_required.',
  }),
  'countersign-background': z.string().optional().meta({
    description:
      'Of what a page loads by itself. With any value, the request does not keep the session in use.',
  }),
}
