import * as z from 'zod'
import { HEAD_HEADER_CHARS_MAX } from '../log/head-header.ts'
import { feedCursor } from './fields.ts'
import { limits } from './limits.ts'

/**
 * Every header of the contract by what it carries, as Node and fetch spell names: in lower case.
 */
export const headerNames = Object.freeze({
  credential: 'x-service-credential',
  apiKey: 'x-api-key',
  bearer: 'authorization',
  requestId: 'x-request-id',
  serviceVersion: 'service-version',
  idempotencyKey: 'idempotency-key',
  prefer: 'prefer',
  preferenceApplied: 'preference-applied',
  verifierId: 'x-verifier-id',
  verifierInstance: 'x-verifier-instance',
  verifierStaleness: 'x-verifier-max-staleness',
  verifierFailOpen: 'x-verifier-fail-open',
  verifierHead: 'x-verifier-head',
  feedVersion: 'feed-version',
  lastEventId: 'last-event-id',
  retryAfter: 'retry-after',
  rateLimit: 'ratelimit',
  rateLimitPolicy: 'ratelimit-policy',
})

/**
 * Headers that any request may have. The three that authenticate are judged by the guard, not by a
 * schema: a bad one is 401, not 422.
 */
export const commonRequestHeaders: Readonly<Record<string, string>> = Object.freeze({
  'X-Request-Id': `1 to ${limits.request_id_chars_max} of A-Z a-z 0-9 . _ -, echoed; anything else is replaced.`,
  'X-API-Key': 'An API key, svc_sk_…, where the endpoint takes one. Never in the URL.',
  'X-Service-Credential':
    'The whole signed credential in base64url without padding, where the endpoint takes one.',
  Authorization: 'Bearer svc_at_…, for compatibility, where the endpoint takes one.',
})

/** Headers that every answer has. */
export const commonAnswerHeaders: Readonly<Record<string, string>> = Object.freeze({
  'X-Request-Id': 'Names this request in logs and problems.',
  'Service-Version': 'The released version that answered.',
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
        'The same key again within a day gets the same answer; with another body 409 idempotency_conflict.',
    }),
}

/** For revocations. What cannot be read or exceeds the limit is not applied, and no error. */
export const preferHeaders = {
  prefer: z
    .string()
    .optional()
    .meta({
      description: `wait=N (RFC 7240), N up to ${limits.wait_seconds_max}: hold the answer until every connected verifier that is not silent has acknowledged it. With denied-everywhere as well: until denied_everywhere_at has passed.`,
    }),
}

/** Of the answer to a revocation. */
export const preferenceHeaders = {
  'Preference-Applied':
    'wait=N, when a preference was applied; followed by denied-everywhere when that was awaited.',
}

/** A name or an instance id. */
export const verifierName = z
  .string()
  .regex(
    new RegExp(`^[A-Za-z0-9_-]{1,${limits.verifier_id_chars_max}}$`),
    `must be 1 to ${limits.verifier_id_chars_max} of A-Z a-z 0-9 _ -`,
  )

/** Which verifier is calling. */
export const verifierHeaders = {
  'x-verifier-id': verifierName
    .optional()
    .meta({ description: 'The configured name of the verifier. Several processes may share it.' }),
  'x-verifier-instance': verifierName.optional().meta({
    description:
      'A random id of this verifier process. Receipts count each instance, and an acknowledgement is for its own instance only.',
  }),
}

/**
 * What a verifier promises when it asks for a signed head. Both need X-Verifier-Instance, and an
 * instance needs the first.
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
      'The verifier goes on accepting with stale revocation data. Receipts then state no denied_everywhere_at.',
  }),
}

/** What cannot be read or proven has no effect. */
export const verifierHeadHeaders = {
  'x-verifier-head': z.string().max(HEAD_HEADER_CHARS_MAX).optional().meta({
    description:
      'The last signed heartbeat that the verifier has proven, base64url of its JSON. If the service signed it and its store does not have that entry, the log has lost entries: the node reports it and is not ready.',
  }),
}

export const feedVersionHeaders = {
  'feed-version': z
    .literal('1')
    .optional()
    .meta({ description: 'The version of the feed that the verifier speaks. Default: 1.' }),
}

export const lastEventHeaders = {
  'last-event-id': feedCursor
    .optional()
    .meta({ description: 'epoch.seq of the last entry applied. Wins over the parameter after.' }),
}

const forwarded = z.string().max(limits.url_bytes_max).optional()

/**
 * What a reverse proxy says of the request it asks about. Believed only because its API key comes
 * along.
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
