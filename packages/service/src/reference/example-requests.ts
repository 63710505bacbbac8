import { type Auth, type EndpointId, examples } from '@countersign/core/contract'
import type * as z from 'zod'
import type { ListedEndpoint } from './areas.ts'
import { commands } from './commands.ts'
import { prettyJson } from './pretty-json.ts'

/** The same request, in several forms. */
export interface ExampleRequest {
  readonly curl: string
  readonly cli: string | undefined
  readonly node: string | undefined
}

/** A request to the endpoint that its schemas accept. */
export function createExampleRequest(endpoint: ListedEndpoint, baseUrl: string): ExampleRequest {
  return {
    curl: toCurl(endpoint, baseUrl),
    cli: commands[endpoint.id],
    node: hasClientMethod(endpoint) ? toClientCall(endpoint, baseUrl) : undefined,
  }
}

/** The parameters in the path, with their values. */
export function examplePathParameters({
  path,
}: Pick<ListedEndpoint, 'path'>): Readonly<Record<string, string>> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))
  return Object.fromEntries(names.map((name) => [name, examples.parameters[name] ?? name]))
}

/** Query parameters that make a useful first request where none is required. */
const USEFUL = ['status', 'state', 'window', 'kind']

/** The query parameters of the example: the required ones, one that is useful, or all. */
export function exampleQuery({ id, request }: ListedEndpoint): Query {
  const all: Query = examples.queries[id] ?? {}
  const required = requiredNames(request)
  const useful = USEFUL.filter((name) => name in all).slice(0, 1)
  const few = {
    ...pick(all, required.length > 0 ? required : useful),
    ...('limit' in shape(request) ? { limit: '20' } : {}),
  }
  const isEnough = !('query' in request) || request.query.safeParse(few).success
  return isEnough ? few : all
}

type Query = Readonly<Record<string, string | readonly string[]>>

function pick<Value>(from: Readonly<Record<string, Value>>, names: readonly string[]): Record<string, Value> {
  return Object.fromEntries(Object.entries(from).filter(([name]) => names.includes(name)))
}

const shape = (request: object): Readonly<Record<string, z.ZodType>> =>
  (('query' in request && (request.query as { shape?: Record<string, z.ZodType> }).shape) || {}) as Readonly<
    Record<string, z.ZodType>
  >

function requiredNames(request: object): readonly string[] {
  return Object.entries(shape(request))
    .filter(([, schema]) => !schema.safeParse(undefined).success)
    .map(([name]) => name)
}

const KEY = `-H "X-API-Key: $COUNTERSIGN_API_KEY"`
const CREDENTIAL = `-H "X-Service-Credential: $CREDENTIAL"`
const SESSION = `-H 'Countersign-Console: 1' --cookie cookies.txt`

const authentication: Readonly<Record<Auth, readonly string[]>> = {
  none: [],
  page: [],
  credential: [CREDENTIAL],
  credential_in_body: [],
  api_key: [KEY],
  oauth_client: [KEY],
  api_key_optional: [KEY],
  api_key_or_credential: [KEY],
  api_key_and_credential: [KEY, CREDENTIAL],
  operator_key: [KEY],
  sender_token: ['-H "Authorization: Bearer $SENDER_TOKEN"'],
  console: [`-H 'Countersign-Console: 1'`],
  session: [SESSION],
}

function toCurl(endpoint: ListedEndpoint, baseUrl: string): string {
  const { method, request, auth } = endpoint
  const query = Object.entries(exampleQuery(endpoint)).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}=${encodeURIComponent(one)}`),
  )
  const url = `${baseUrl}${fillPath(endpoint)}${query.length > 0 ? `?${query.join('&')}` : ''}`
  const lines = [
    // Quoted where a shell would read its signs.
    ...(method === 'GET' ? [] : [`curl -X ${method}`]),
    `${method === 'GET' ? 'curl ' : ''}${/[?&=]/.test(url) ? `'${url}'` : url}`,
    ...authentication[auth],
    ...preferences(request),
    ...toBody(endpoint),
  ]
  return lines.join(' \\\n  ')
}

function preferences(request: object): readonly string[] {
  const headers = 'headers' in request ? (request.headers as { shape?: object }).shape : undefined
  return headers !== undefined && 'prefer' in headers ? [`-H 'Prefer: wait=10'`] : []
}

function toBody({ id, bodyTypes }: ListedEndpoint): readonly string[] {
  const [type] = bodyTypes as readonly string[]
  const body = examples.bodies[id]
  if (type === 'application/json' && body !== undefined)
    return [`-H 'Content-Type: application/json'`, `-d '${prettyJson(body, '  ').replaceAll("'", "'\\''")}'`]
  if (type === 'application/x-www-form-urlencoded') return formFields(id)
  if (type === 'application/secevent+jwt')
    return [`-H 'Content-Type: application/secevent+jwt'`, '--data-binary @event.jwt']
  return []
}

function formFields(id: EndpointId): readonly string[] {
  return id === 'receive_logout' || id === 'receive_provider_logout'
    ? ['--data-urlencode logout_token@logout.jwt']
    : ['-d state=…', '-d payload=…']
}

const fillPath = (endpoint: ListedEndpoint): string =>
  Object.entries(examplePathParameters(endpoint)).reduce(
    (path, [name, value]) => path.replace(`{${name}}`, value),
    endpoint.path as string,
  )

/** Endpoints that programs call in another way than with the typed client. */
const WITHOUT_METHOD: ReadonlySet<EndpointId> = new Set([
  'protected_action',
  'forward_auth',
  'start_sign_in_by_link',
  'sign_in_callback',
  'sign_in_callback_by_form',
  'snapshot',
  'feed',
  'acknowledge',
  'report_verdicts',
  'did_document',
  'jwks',
  'context',
  'openapi',
  'site_logo',
])

/** Whether the typed client of the SDK has a method for the endpoint. */
export function hasClientMethod({ id, tag, auth, answers }: ListedEndpoint): boolean {
  const { mediaType } = (answers as Readonly<Record<number, { mediaType?: string }>>)[200] ?? {}
  const isPage = auth === 'page' || mediaType === 'text/html'
  return !isPage && !['console', 'signals', 'health'].includes(tag) && !WITHOUT_METHOD.has(id)
}

/** The name of the method of the typed client. */
export function toMethodName(id: EndpointId): string {
  return id.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function toClientCall(endpoint: ListedEndpoint, baseUrl: string): string {
  const { id, request, auth } = endpoint
  const query = Object.entries(exampleQuery(endpoint)).map(([name, value]) => [
    name,
    typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value,
  ])
  const input = {
    ...examplePathParameters(endpoint),
    ...Object.fromEntries(query),
    ...('body' in request ? examples.bodies[id] : {}),
  }
  const options = preferences(request).length > 0 ? ', { waitSeconds: 10 }' : ''
  const given = Object.keys(input).length === 0 && options === '' ? '' : toSource(input)
  const key = ['none', 'credential_in_body'].includes(auth)
    ? ''
    : `\n  apiKey: process.env.COUNTERSIGN_API_KEY,`
  return `import { createClient } from '@countersign/sdk'

const client = createClient({
  baseUrl: '${baseUrl}',${key}
})
const answer = await client.${toMethodName(id)}(${given}${options})`
}

/** A value as it is written in TypeScript. */
function toSource(value: unknown): string {
  return prettyJson(value)
    .replaceAll(/"([A-Za-z_]\w*)": /g, '$1: ')
    .replaceAll(/"((?:[^"\\']|\\[^"])*)"/g, "'$1'")
}
