import { type Answer, examples, type ProblemCode, problemBody, problems } from '@countersign/core/contract'
import type { ExampleNames } from '../documents/examples.ts'
import type { ListedEndpoint } from './areas.ts'
import type { CodeTab } from './code-tabs.ts'
import { createExampleRequest } from './example-requests.ts'
import { prettyJson } from './pretty-json.ts'

/**
 * The same request in several forms, a response that the schema of the endpoint accepts, and
 * problems that callers should expect. They name this service and its site.
 */
export function createExampleTabs(
  endpoint: ListedEndpoint,
  names: ExampleNames,
): { readonly request: readonly CodeTab[]; readonly response: readonly CodeTab[] } {
  const { curl, cli, node } = createExampleRequest(endpoint, names.baseUrl)
  const request: CodeTab[] = [{ name: 'curl', language: 'sh', text: curl }]
  if (node !== undefined) request.push({ name: 'Node', language: 'ts', text: node })
  if (cli !== undefined) request.push({ name: 'CLI', language: 'sh', text: cli })
  const response = [...exampleAnswers(endpoint), ...exampleProblems(endpoint, names.baseUrl)]
  const fill = (tab: CodeTab) => ({ ...tab, text: fillNames(tab.text, endpoint, names) })
  return { request: request.map(fill), response: response.map(fill) }
}

/** A site is created under a name of its own: that of this service exists. */
function fillNames(text: string, { id }: ListedEndpoint, { baseUrl, siteId }: ExampleNames): string {
  const filled = text.replaceAll('https://auth.example', baseUrl)
  return id === 'create_site' ? filled : filled.replaceAll(/(?<![.\w])shop\.example/g, siteId)
}

const REQUEST_ID = 'req_01k9x3v0h2e8y6q4'
const ERRORS_SHOWN = 2

function exampleAnswers({ id, answers }: ListedEndpoint): readonly CodeTab[] {
  const [[status = '200', answer] = ['200', undefined]] = Object.entries(
    answers as Readonly<Record<string, Answer>>,
  )
  const { body, mediaType } = answer ?? {}
  const name = `✓ ${status}`
  const mark = 'ok'
  if (body === undefined)
    return [
      {
        name,
        mark,
        language: 'text',
        text: mediaType === undefined ? `${status} without a body` : describeText(mediaType),
      },
    ]
  const value = examples.answers[id]?.[0]
  const text = prettyJson(value)
  if (mediaType === 'text/event-stream')
    return [{ name, mark, language: 'text', text: `event: heartbeat\ndata: ${JSON.stringify(value)}` }]
  if (mediaType === 'application/x-ndjson')
    return [{ name, mark, language: 'json', text: JSON.stringify(value) }]
  return [{ name, mark, language: 'json', text }]
}

const describeText = (mediaType: string): string =>
  mediaType === 'text/html' ? 'A page for browsers' : `A text of the type ${mediaType}`

/** Common to all endpoints with a key, so not the most useful ones. */
const COMMON: readonly ProblemCode[] = [
  'auth_ambiguous',
  'api_key_missing',
  'api_key_invalid',
  'idempotency_conflict',
]

function exampleProblems({ problems: own }: ListedEndpoint, baseUrl: string): readonly CodeTab[] {
  const codes = own as readonly ProblemCode[]
  const specific = codes.filter((code) => !COMMON.includes(code))
  const byStatus = new Map<number, ProblemCode>()
  for (const code of [...specific].reverse()) byStatus.set(problems[code].status, code)
  const chosen = [403, 401, 409, 404, 400, 422, 503]
    .flatMap((status) => byStatus.get(status) ?? [])
    .slice(0, ERRORS_SHOWN)
  const listed = chosen.length === 0 ? (['rate_limited'] as const) : chosen
  return listed.map((code) => ({
    name: `✕ ${problems[code].status}`,
    mark: 'no',
    language: 'json',
    text: prettyJson(exampleProblem(code, baseUrl)),
  }))
}

/** The body of a problem, with the members that it usually has. */
export function exampleProblem(code: ProblemCode, baseUrl: string): object {
  const { status } = problems[code]
  return problemBody(code, {
    baseUrl,
    requestId: REQUEST_ID,
    ...(status === 429 || status === 503 ? { retryAfterSeconds: 1 } : {}),
    ...(code === 'scope_insufficient' ? { requiredScope: ['orders:write'] } : {}),
    ...(code === 'validation_failed' ? { errors: [{ path: '/scope/0', message: 'must be a scope' }] } : {}),
  })
}
