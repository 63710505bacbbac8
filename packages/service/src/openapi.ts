import {
  type Answer,
  type Auth,
  commonAnswerHeaders,
  type Endpoint,
  type EndpointId,
  generalProblems,
  headerNames,
  isConsoleEndpoint,
  type ProblemCode,
  problemDetailsSchema,
  problems,
  sessionHeaders,
  stepUp,
  tags,
  webhookBodySchema,
  webhookHeadersSchema,
  webhookTestBodySchema,
} from '@countersign/core/contract'
import * as z from 'zod'
import { SERVICE_VERSION } from './version.ts'

type Json = Record<string, unknown>
type Described = Endpoint & { readonly id: EndpointId }

/**
 * The OpenAPI 3.1 document, created from the table that also mounts and validates the endpoints.
 * Schemas with an id are components. A schema that differs as input and as output has two names.
 */
export function createOpenapi(endpoints: readonly Described[], baseUrl: string): Json {
  const components = createComponents()
  const paths: Record<string, Json> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] = {
      ...paths[endpoint.path],
      [endpoint.method.toLowerCase()]: toOperation(endpoint, components),
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Countersign',
      version: SERVICE_VERSION,
      summary: 'Credential authentication and revocation',
      description:
        'Errors are problem details (RFC 9457). Times are RFC 3339 in UTC; durations are integer seconds.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    tags: tags.map((name) => ({ name, description: tagTexts[name] })),
    paths,
    webhooks: { entry: { post: toDelivery(components) }, test: { post: toTest(components) } },
    components: {
      schemas: components.schemas(),
      headers: toHeaders({ ...commonAnswerHeaders, ...errorHeaderTexts }),
      securitySchemes,
    },
  }
}

const tagTexts: Record<(typeof tags)[number], string> = {
  protected: 'Routes that need a credential or a token, and the check that a reverse proxy asks for.',
  tokens: 'Access tokens: exchange, introspection, revocation.',
  wallet: 'Credentials: issuance, revocation, status.',
  'sign-in': 'Sign-in in a browser, on the pages of the service.',
  feed: 'Snapshots and the stream of log entries, for verifiers.',
  signals: 'Logouts, revocations and security events that identity providers send.',
  administration: 'Sites with their issuers, API keys, webhooks and lists.',
  console: 'Sessions of people in the console.',
  discovery: 'Keys, limits, URLs and documentation of the service.',
  health: 'Health checks and metrics, for operators.',
}

const securitySchemes = {
  api_key: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'svc_sk_…, with the permission that the endpoint names.',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'For OAuth clients: client_id is the key_id of an API key, client_secret the key itself.',
  },
  credential: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Service-Credential',
    description:
      'The signed credential in base64url; with a holder key also an RFC 9421 signature of the request.',
  },
  bearer: { type: 'http', scheme: 'bearer', description: 'svc_at_…, for compatibility.' },
  sender_token: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A JWT that a registered sender of signals has signed for this endpoint.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-countersign-console',
    description: 'The session of a person in the console. On http, the name is countersign-console-<port>.',
  },
}

const NOTHING = {}
const security: Record<Auth, readonly Json[]> = {
  none: [NOTHING],
  page: [NOTHING],
  credential_in_body: [NOTHING],
  credential: [{ credential: [] }, { bearer: [] }],
  api_key: [{ api_key: [] }],
  // The third way, client_id and client_secret in the form, is in the schema of the form.
  oauth_client: [{ api_key: [] }, { basic: [] }],
  operator_key: [{ api_key: [] }],
  sender_token: [{ sender_token: [] }],
  console: [NOTHING],
  session: [{ session: [] }],
  api_key_optional: [NOTHING, { api_key: [] }],
  api_key_or_credential: [{ api_key: [] }, { credential: [] }],
  api_key_and_credential: [
    { api_key: [], credential: [] },
    { api_key: [], bearer: [] },
  ],
}

function toOperation(endpoint: Described, components: Components): Json {
  const { id, summary, description, tag, auth, permissions = [], request } = endpoint
  const needs =
    auth === 'operator_key'
      ? 'Needs an operator key.'
      : permissions.length > 0
        ? `Permission: ${permissions.join(' or ')}.`
        : undefined
  const parameters = [
    ...toParameters(request.params, 'path', components),
    ...toParameters(request.query, 'query', components),
    ...toParameters(request.headers, 'header', components),
    ...(auth === 'session' ? toParameters(z.object(sessionHeaders), 'header', components) : []),
  ]
  const body = toRequestBody(endpoint, components)
  return {
    operationId: id,
    summary,
    ...(description || needs ? { description: [description, needs].filter(Boolean).join(' ') } : {}),
    tags: [tag],
    security: security[auth],
    ...(isConsoleEndpoint(id) && { 'x-console': { path: `/console${endpoint.path}`, step_up: stepUp[id] } }),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body && { requestBody: body }),
    responses: { ...toAnswers(endpoint, components), ...toProblemAnswers(endpoint, components) },
  }
}

/** What a receiver gets when its webhook is tested. */
function toTest(components: Components): Json {
  return {
    operationId: 'webhook_test',
    summary: 'A test, sent to a webhook',
    description: 'Signed like an entry. It reports no change, and is not repeated.',
    tags: ['administration'],
    security: [NOTHING],
    parameters: toParameters(webhookHeadersSchema, 'header', components),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: components.of(webhookTestBodySchema, 'output') } },
    },
    responses: {
      '2XX': { description: 'The receiver works.' },
      default: { description: 'The receiver does not work. Nothing else follows from it.' },
    },
  }
}

/** The requests that webhook receivers get, and the meaning of their answers. */
function toDelivery(components: Components): Json {
  return {
    operationId: 'webhook_entry',
    summary: 'An entry of the log, sent to a webhook',
    description:
      'The service signs each delivery as Standard Webhooks specifies, and sends entries in order and at least once. It follows no redirects.',
    tags: ['administration'],
    security: [NOTHING],
    parameters: toParameters(webhookHeadersSchema, 'header', components),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: components.of(webhookBodySchema, 'output') } },
    },
    responses: {
      '2XX': { description: 'Delivered.' },
      '410': { description: 'The service disables the webhook and sends nothing more.' },
      default: { description: 'The delivery failed. The service tries again.' },
    },
  }
}

/** Headers that OpenAPI 3.1 §4.8.12.2 says are described by other means. */
const DESCRIBED_ELSEWHERE: ReadonlySet<string> = new Set([
  headerNames.bearer,
  headerNames.apiKey,
  headerNames.credential,
])

function toParameters(
  schema: z.ZodType | undefined,
  place: 'path' | 'query' | 'header',
  components: Components,
): Json[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = components.inline(schema, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  return Object.entries(properties)
    .filter(([name]) => !DESCRIBED_ELSEWHERE.has(name))
    .map(([name, { description, ...rest }]) => ({
      name,
      in: place,
      required: place === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }))
}

function toRequestBody({ request, bodyBytesMax }: Described, components: Components): Json | undefined {
  const { body, form, securityEvent, bodyOptional } = request
  if (body === undefined && form === undefined && securityEvent === undefined) return undefined
  return {
    required: !bodyOptional,
    description: `At most ${bodyBytesMax / 1024} KiB.`,
    content: {
      ...(body && { 'application/json': { schema: components.of(body, 'input') } }),
      ...(form && { 'application/x-www-form-urlencoded': { schema: components.of(form, 'input') } }),
      ...(securityEvent && {
        'application/secevent+jwt': { schema: components.of(securityEvent, 'input') },
      }),
    },
  }
}

function toAnswers({ answers }: Described, components: Components): Json {
  return Object.fromEntries(
    Object.entries(answers).map(([status, answer]: [string, Answer]) => {
      const { description, body, mediaType, otherMediaTypes = [], headers } = answer
      const schema = body ? components.of(body, 'output') : { type: 'string' }
      const others = Object.fromEntries(otherMediaTypes.map((type) => [type, { schema: { type: 'string' } }]))
      const content =
        body || mediaType ? { content: { [mediaType ?? 'application/json']: { schema }, ...others } } : {}
      return [
        status,
        { description, headers: { ...COMMON_HEADERS, ...toHeaders(headers ?? {}) }, ...content },
      ]
    }),
  )
}

function toHeaders(headers: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
}

/** One answer for each status, with its possible codes. */
function toProblemAnswers(endpoint: Described, components: Components): Json {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of new Set<ProblemCode>([...endpoint.problems, ...generalProblems])) {
    const { status } = problems[code]
    const sent =
      endpoint.errorFormat === 'proxy' && status !== 403 && status !== 429 && status < 500 ? 401 : status
    byStatus.set(sent, [...(byStatus.get(sent) ?? []), code])
  }
  const schema = components.of(problemDetailsSchema, 'output')
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      String(status),
      {
        description: codes.join(', '),
        headers: { ...COMMON_HEADERS, ...toErrorHeaders(status) },
        content: {
          'application/problem+json': { schema },
          ...(endpoint.errorFormat === 'page' ? { 'text/html': { schema: { type: 'string' } } } : {}),
        },
      },
    ]),
  )
}

const named = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
const COMMON_HEADERS = named(Object.keys(commonAnswerHeaders))

const errorHeaderTexts = {
  'WWW-Authenticate': 'The authentication schemes that the endpoint accepts.',
  Allow: 'The methods that the path supports.',
  'Retry-After': 'Seconds to wait before the next request.',
  RateLimit: 'The remaining quota, and the seconds until it is reset.',
  'RateLimit-Policy': 'The quota and its window in seconds.',
}

function toErrorHeaders(status: number): Json {
  const [challenge, allow, retryAfter, ...pace] = Object.keys(errorHeaderTexts) as [
    string,
    string,
    string,
    ...string[],
  ]
  if (status === 401) return named([challenge])
  if (status === 405) return named([allow])
  if (status === 429) return named([retryAfter, ...pace])
  return status === 503 ? named([retryAfter]) : {}
}

interface Components {
  /** A schema, or the reference to it when it has a name. */
  of(schema: z.ZodType, io: Io): Json
  /** The schema itself, even when it has a name. */
  inline(schema: z.ZodType, io: Io): Json
  schemas(): Record<string, Json>
}

type Io = 'input' | 'output'

function createComponents(): Components {
  const named = new Map<string, Json>()

  /**
   * Moves the named parts of a schema to the components. Two different schemas with the same name
   * get two names.
   */
  const hoist = (
    { $defs = {}, $schema: _dialect, ...rest }: Json & { $defs?: Record<string, Json> },
    io: Io,
  ): Json => {
    const plain = new Map(
      Object.entries($defs).map(([name, { id: _id, ...definition }]) => [name, definition]),
    )
    const isTaken = (name: string) =>
      named.has(name) &&
      JSON.stringify(named.get(name)) !== JSON.stringify(rewriteReferences(plain.get(name), new Map()))
    const names = new Map(
      [...plain.keys()].map((name) => [
        name,
        isTaken(name) ? `${name}${io === 'input' ? 'Input' : 'Output'}` : name,
      ]),
    )
    for (const [name, definition] of plain)
      named.set(names.get(name) ?? name, rewriteReferences(definition, names) as Json)
    return rewriteReferences(rest, names) as Json
  }
  const convert = (schema: z.ZodType, io: Io) =>
    hoist(
      z.toJSONSchema(schema, {
        io,
        unrepresentable: 'any',
        target: 'draft-2020-12',
        override: expandRecord,
      }) as Json,
      io,
    )

  return {
    inline: convert,
    // A named schema inside another one becomes a reference; at the root it is written in full.
    of: (schema, io) => (convert(z.object({ schema }), io).properties as { schema: Json }).schema,
    schemas: () => Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Writes a record with a fixed set of keys as an object, so that its members are visible. */
function expandRecord({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { propertyNames, additionalProperties, required } = jsonSchema
  const names = typeof propertyNames === 'object' ? propertyNames.enum : undefined
  if (names === undefined || required === undefined || typeof additionalProperties !== 'object') return
  jsonSchema.properties = Object.fromEntries(names.map((name) => [String(name), additionalProperties]))
  jsonSchema.additionalProperties = false
  delete jsonSchema.propertyNames
}

/** Points every reference to the component of its schema. */
function rewriteReferences(value: unknown, names: ReadonlyMap<string, string>): unknown {
  return JSON.parse(JSON.stringify(value), (key, member: unknown) => {
    const [, name] = (key === '$ref' && typeof member === 'string' && /^#\/\$defs\/(.+)$/.exec(member)) || []
    return name === undefined ? member : `#/components/schemas/${names.get(name) ?? name}`
  })
}
