import * as z from 'zod'
import { FEED_KEY_STATEMENTS_MAX } from '../log/feed-key-statement.ts'
import { endpoint } from './endpoint.ts'
import { feedKid, feedSignature, multikey, sha256Hex, time } from './fields.ts'
import { limits, rateLimits } from './limits.ts'
import { type ProblemCode, problemCodes } from './problems.ts'

type LimitName = keyof typeof limits
type RateLimitName = keyof typeof rateLimits

const rateLimit = z.strictObject({
  requests: z.int().min(1),
  window_seconds: z.int().min(1),
  per: z.enum(['address', 'api_key', 'sender']),
  counts: z.enum(['requests', 'failures']),
})

export const feedKeySchema = z.strictObject({ kid: feedKid, public_key_multibase: multikey })

export const feedKeyStatementSchema = feedKeySchema
  .extend({
    next_sha256: sha256Hex.meta({
      description: 'The commitment to the next key: SHA-256 of its Multikey. Only that key can be the next.',
    }),
    previous_kid: feedKid.nullable().meta({ description: 'The previous key; null for the first key.' }),
    previous_compromised: z.boolean().meta({
      description:
        'True: the previous key and all keys before it are withdrawn immediately. False: one hour after at.',
    }),
    at: time.meta({ description: 'When the service starts to sign with the key.' }),
    previous_signature: feedSignature
      .nullable()
      .meta({ description: 'Made with the previous key over the same text; null for the first key.' }),
    signature: feedSignature.meta({
      description:
        'Made with the key itself over "countersign-feed-key\\n" and the canonical JSON (RFC 8785) of all members except the two signatures.',
    }),
  })
  .meta({ id: 'FeedKeyStatement' })

/** Everything that a client needs to know before it calls other endpoints. */
export const discoverySchema = z
  .strictObject({
    base_url: z.string().meta({ format: 'uri', description: 'Without a trailing slash.' }),
    service_version: z.string(),
    did: z.string().meta({ description: 'The DID of the service as an issuer.' }),
    endpoints: z.record(z.string(), z.string()).meta({ description: 'URL, or URL template, by name.' }),
    limits: z.record(z.enum(Object.keys(limits) as [LimitName, ...LimitName[]]), z.number()),
    rate_limits: z.record(z.enum(Object.keys(rateLimits) as [RateLimitName, ...RateLimitName[]]), rateLimit),
    cryptosuites: z.array(z.string()).min(1),
    did_methods: z.array(z.string()).min(1),
    feed: z.strictObject({
      version: z.literal(1),
      keys: z
        .array(feedKeySchema)
        .min(1)
        .meta({ description: 'The keys that sign now or signed within the last hour, oldest first.' }),
      chain: z.array(feedKeyStatementSchema).min(1).max(FEED_KEY_STATEMENTS_MAX).meta({
        description:
          'The chain of keys, oldest first. A verifier accepts a new key only if this chain leads to it.',
      }),
    }),
  })
  .meta({ id: 'Discovery' })
export type Discovery = z.input<typeof discoverySchema>

const publicKeyJwk = z.looseObject({ kty: z.string(), d: z.never().optional() })

export const didDocumentSchema = z
  .looseObject({
    id: z.string().regex(/^did:/),
    verificationMethod: z
      .array(
        z.looseObject({
          id: z.string(),
          type: z.string(),
          controller: z.string(),
          publicKeyMultibase: z.string().optional(),
          publicKeyJwk: publicKeyJwk.optional(),
        }),
      )
      .min(1),
    assertionMethod: z.array(z.string()).min(1),
  })
  .meta({ id: 'DidDocument' })
export type DidDocument = z.input<typeof didDocumentSchema>

export const jwksSchema = z.strictObject({ keys: z.array(publicKeyJwk).min(1) }).meta({ id: 'Jwks' })
export type Jwks = z.input<typeof jwksSchema>

export const healthSchema = z.strictObject({ status: z.literal('alive') }).meta({ id: 'Health' })
export type Health = z.input<typeof healthSchema>

export const readinessSchema = z
  .strictObject({
    status: z.literal('ready'),
    audited: z.number().min(0).max(1).meta({
      description:
        'The share of the stored log entries that this node has checked since it started. It starts from a checkpoint, and checks the entries before it while it is in use. If one of them is damaged, the node is no longer ready.',
    }),
  })
  .meta({ id: 'Readiness' })
export type Readiness = z.input<typeof readinessSchema>

const anyObject = z.record(z.string(), z.unknown())
const open = { method: 'GET', auth: 'none', request: {}, problems: [], noStore: false } as const
/** For clients that send the `ETag` of an earlier answer in `If-None-Match`. */
const notModified = { description: 'It has not changed since.' } as const

const published = { ...open, tag: 'discovery', rateLimit: 'caller' } as const
const watched = { ...open, tag: 'health', rateLimit: 'none', noStore: true } as const

export const discoveryEndpoints = {
  discovery: endpoint({
    ...published,
    path: '/.well-known/countersign',
    summary: 'Get endpoints, limits, suites and feed keys',
    answers: { 200: { description: 'Discovery.', body: discoverySchema } },
  }),
  did_document: endpoint({
    ...published,
    path: '/.well-known/did.json',
    summary: 'Get the keys of the service as a DID document',
    answers: {
      200: { description: 'The document.', body: didDocumentSchema, mediaType: 'application/did+json' },
    },
  }),
  jwks: endpoint({
    ...published,
    path: '/.well-known/jwks.json',
    summary: 'Get the keys of the service as a JWK set',
    answers: { 200: { description: 'The keys.', body: jwksSchema, mediaType: 'application/jwk-set+json' } },
  }),
  context: endpoint({
    ...published,
    path: '/ns/access/v1',
    summary: 'Get the JSON-LD context of access credentials',
    answers: { 200: { description: 'The context.', body: anyObject, mediaType: 'application/ld+json' } },
  }),
  openapi: endpoint({
    ...published,
    path: '/openapi.json',
    summary: 'Get this interface as OpenAPI 3.1',
    answers: { 200: { description: 'The description.', body: anyObject }, 304: notModified },
  }),
  docs: endpoint({
    ...published,
    path: '/docs',
    summary: 'Show the documentation of this interface',
    answers: { 200: { description: 'A page.', mediaType: 'text/html' }, 304: notModified },
  }),
  problem_page: endpoint({
    ...published,
    path: '/problems/{code}',
    summary: 'Show the meaning and remedy of a problem code',
    request: { params: z.strictObject({ code: z.enum(problemCodes as [ProblemCode, ...ProblemCode[]]) }) },
    answers: { 200: { description: 'A page.', mediaType: 'text/html' } },
  }),
  alive: endpoint({
    ...watched,
    path: '/healthz',
    summary: 'Check whether the process is alive',
    answers: { 200: { description: 'Alive.', body: healthSchema } },
  }),
  ready: endpoint({
    ...watched,
    path: '/readyz',
    summary: 'Check whether the node is ready: store reachable, view fresh',
    answers: { 200: { description: 'Ready.', body: readinessSchema } },
    problems: ['store_unavailable', 'revocation_view_stale'],
  }),
  metrics: endpoint({
    ...watched,
    path: '/metrics',
    summary: 'Get Prometheus metrics (admin listener only)',
    answers: { 200: { description: 'Metrics.', mediaType: 'text/plain; version=0.0.4' } },
  }),
}
