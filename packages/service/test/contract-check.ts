import {
  type Endpoint,
  type EndpointId,
  endpointList,
  forwardAuthStatus,
  generalProblems,
  type ProblemCode,
  problemDetailsSchema,
  problems,
} from '@countersign/core/contract'
import { expect } from 'vitest'

/** An answer, as any client sees it. */
export interface SeenAnswer {
  readonly method: string
  /** With its query. */
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly text: string
}

/**
 * Fails unless the answer is one that the contract knows: status, headers, media type and every
 * member of the body.
 */
export function checkContract(answer: SeenAnswer): void {
  const { status, headers } = answer
  const where = `${answer.method} ${answer.path} → ${status} ${answer.text.slice(0, 300)}`
  expect(headers['x-request-id'], where).toMatch(/^[A-Za-z0-9._-]{1,128}$/)
  expect(headers['service-version'], where).toMatch(/^\d+\.\d+\.\d+/)
  expect(headers['x-powered-by'], where).toBeUndefined()
  const endpoint = endpointOf(answer)
  // A189
  if (endpoint?.noStore) expect(headers['cache-control'], where).toMatch(/^no-store(?:, no-transform)?$/)
  if (status >= 400 && headers['content-type'] === 'text/html; charset=utf-8')
    checkProblemPage(answer, endpoint, where)
  else if (status >= 400) checkProblem(answer, endpoint, where)
  else if (endpoint !== undefined) checkAnswer(answer, endpoint, where)
}

const paths = endpointList.map((endpoint) => ({
  endpoint,
  pattern: new RegExp(`^${endpoint.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}))

function endpointOf({ method, path }: SeenAnswer): (Endpoint & { id: EndpointId }) | undefined {
  const plain = path.split('?')[0] ?? ''
  const asked = method === 'HEAD' ? 'GET' : method
  return paths.find(({ endpoint, pattern }) => endpoint.method === asked && pattern.test(plain))?.endpoint
}

/** A refusal as a browser is shown it. */
function checkProblemPage(
  { status, headers }: SeenAnswer,
  endpoint: Endpoint | undefined,
  where: string,
): void {
  expect(endpoint?.errorFormat ?? 'page', where).toBe('page')
  expect(headers['content-security-policy'], where).toMatch(
    /^default-src 'none';.* frame-ancestors 'none'(?:; require-trusted-types-for 'script')?$/,
  )
  expect(headers['content-security-policy'], where).not.toContain('unsafe')
  expect(headers['referrer-policy'], where).toBe('no-referrer')
  expect(headers['cache-control'], where).toBe('no-store')
  expect(headers['www-authenticate'] !== undefined, where).toBe(status === 401)
  expect(headers['retry-after'] !== undefined, where).toBe(status === 429 || status === 503)
}

function checkProblem(
  { status, headers, text }: SeenAnswer,
  endpoint: Endpoint | undefined,
  where: string,
): void {
  expect(headers['content-type'], where).toBe('application/problem+json')
  if (text === '') return // HEAD
  const body = problemDetailsSchema.parse(JSON.parse(text))
  expect(body.status, where).toBe(status)
  expect(body.request_id, where).toBe(headers['x-request-id'])
  expect(body.type, where).toMatch(new RegExp(`^https?://[^/]+/problems/${body.code}$`))
  expect(status, where).toBe(
    endpoint?.errorFormat === 'proxy' ? forwardAuthStatus(body.code) : problems[body.code].status,
  )
  if (endpoint !== undefined)
    expect([...endpoint.problems, ...(generalProblems as readonly ProblemCode[])], where).toContain(body.code)
  expect(headers['www-authenticate'] !== undefined, where).toBe(status === 401)
  expect(headers['retry-after'] !== undefined, where).toBe(status === 429 || status === 503)
  if (headers['retry-after'] !== undefined)
    expect(body.retry_after, where).toBe(Number(headers['retry-after']))
  if (status === 429) {
    expect(headers['ratelimit-policy'], where).toMatch(/^"[a-z_]+";q=\d+;w=\d+$/)
    expect(headers.ratelimit, where).toMatch(/^"[a-z_]+";r=0;t=\d+$/)
  }
  if (status === 405) expect(headers.allow, where).toMatch(/^[A-Z]+(?:, [A-Z]+)*$/)
}

function checkAnswer({ method, status, headers, text }: SeenAnswer, endpoint: Endpoint, where: string): void {
  const described = endpoint.answers[status]
  expect(described, where).toBeDefined()
  if (method === 'HEAD') return
  if (described?.body === undefined) {
    if (described?.mediaType === undefined) expect(text, where).toBe('')
    return
  }
  const [type = ''] = String(headers['content-type']).split(';')
  if (described.otherMediaTypes?.includes(type)) return
  expect(headers['content-type'], where).toBe(described.mediaType ?? 'application/json')
  for (const value of valuesIn(text, described.mediaType))
    expect(described.body.safeParse(value).error, where).toBeUndefined()
}

/** What the schema of an answer speaks of: the whole of it, or each line or event. */
function valuesIn(text: string, mediaType: string | undefined): readonly unknown[] {
  const lines = text.split('\n').filter((line) => line !== '')
  if (mediaType === 'application/x-ndjson') return lines.map((line) => JSON.parse(line))
  if (mediaType === 'text/event-stream')
    return lines.flatMap((line) => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
  return [JSON.parse(text)]
}
