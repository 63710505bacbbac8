import { join } from 'node:path'
import { credentialHeader } from '@countersign/core'
import { type ServerProcess, startLoad } from './processes.ts'
import { ISSUER, jwt, METHOD, required, type Sample, SITE, several } from './sample.ts'
import { atLeastOfAll, atLeastOfUnit, compareAll, type HttpRow, Stage, type StageOptions } from './stage.ts'
import type { Verdict } from './verdict.ts'

const JWTS = 1000
const ACT = '/api/protected/action'
const INTROSPECT = '/api/auth/introspect'

export interface ServiceHttpOptions extends StageOptions {
  readonly directory: string
}

/** CPU time for each request beside bare fastify, in processes of their own, with one sender. */
export async function benchServiceHttp(
  sample: Sample,
  options: ServiceHttpOptions,
): Promise<{ rows: HttpRow[]; verdicts: Verdict[] }> {
  const rows: HttpRow[] = []
  for (const compare of [compareWarm, compareCold, compareLogging, compareIntrospection]) {
    // Of each comparison only its own processes run.
    const stage = new Stage(await startLoad(), options)
    try {
      rows.push(...(await compare(sample, stage, options)))
    } finally {
      await stage.close()
    }
  }
  return { rows, verdicts: verdictsOn(rows) }
}

type Compare = (sample: Sample, stage: Stage, options: ServiceHttpOptions) => Promise<HttpRow[]>

const shown = (header: string) => `X-Service-Credential: ${header}\r\n`

/** What bare fastify answers is what ours has answered. */
const compareWarm: Compare = async (sample, stage, { directory }) => {
  const issuer = toIssuer(sample)
  const ours = await stage.startAll('ours', (n) => ({ dataDir: join(directory, `http-${n}`), issuer }))
  const header = shown(await sample.header(0))
  await requireRejection(required(ours[0]), shown(await spoiledHeader(sample)))
  const bearers = await Promise.all(ours.map((server) => bearerFor(server, sample)))
  const body = await ask(required(ours[0]), ACT, header)
  const http = await stage.startAll('http', () => ({ body }))
  const fastify = await stage.startAll('fastify', () => ({ body }))
  const act = (server: Served) => [post(server, ACT, header)]
  const actBearer = (server: Served, n: number) => [post(server, ACT, required(bearers[n]))]
  return [
    ...(await stage.compare(await stage.subject('bare fastify', fastify, act), [
      await stage.subject('bare node:http', http, act),
      await stage.subject('ours, warm', ours, act, 'the same credential again, all checks but the signature'),
    ])),
    ...(await stage.compare(await stage.subject('bare fastify, bearer', fastify, actBearer), [
      await stage.subject('ours, bearer', ours, actBearer, 'looked up, all checks'),
    ])),
  ]
}

/** New credentials are written down in the background, which counts. */
const compareCold: Compare = async (sample, stage, { directory, onProgress }) => {
  const issuer = toIssuer(sample)
  const headers: string[] = []
  for (let n = 0; n < stage.requestsEach; n++) {
    if (n % 1000 === 0) onProgress?.('signing credentials', n, stage.requestsEach)
    headers.push(await sample.header(n))
  }
  const ours = await stage.startAll('ours', (n) => ({ dataDir: join(directory, `http-cold-${n}`), issuer }))
  const header = shown(await sample.header(stage.requestsEach))
  const body = await ask(required(ours[0]), ACT, header)
  const fastify = await stage.startAll('fastify', () => ({ body }))
  const { d: _, ...publicJwk } = sample.privateJwk
  const keys = { publicJwk, issuer: ISSUER, audience: SITE }
  const jose = await stage.startAll('jose', () => ({ body, ...keys }))
  const verifying = await stage.startAll('verify', () => ({ body }))
  const jwts = await several(JWTS, (n) => jwt(sample, n))
  await requireRejection(required(jose[0]), `Authorization: Bearer ${jwts[0]?.slice(0, -8)}AAAAAAAA\r\n`)
  const act = (server: Served) => [post(server, ACT, header)]
  return stage.compare(await stage.subject('bare fastify, once more', fastify, act), [
    await stage.subject(
      'ours, cold',
      ours,
      (server) => headers.map((text) => post(server, ACT, shown(text))),
      'credentials never seen before',
      true,
    ),
    await stage.subject(
      'fastify + jose',
      jose,
      (server) => jwts.map((text) => post(server, ACT, `Authorization: Bearer ${text}\r\n`)),
      'jwtVerify',
    ),
    await stage.subject('fastify + one raw verification', verifying, act, 'the floor of cold'),
  ])
}

const compareLogging: Compare = async (sample, stage, { directory }) => {
  const issuer = toIssuer(sample)
  const ours = await stage.startAll('ours', (n) => ({
    dataDir: join(directory, `http-log-${n}`),
    issuer,
    logLevel: 'info',
  }))
  const header = shown(await sample.header(0))
  const body = await ask(required(ours[0]), ACT, header)
  const fastify = await stage.startAll('fastify', () => ({ body, log: true }))
  const act = (server: Served) => [post(server, ACT, header)]
  return stage.compare(await stage.subject('bare fastify, logging', fastify, act), [
    await stage.subject('ours, warm, logging', ours, act, 'one line for each request'),
  ])
}

const compareIntrospection: Compare = async (sample, stage, { directory }) => {
  const issuer = toIssuer(sample)
  const ours = await stage.startAll('ours', (n) => ({ dataDir: join(directory, `http-in-${n}`), issuer }))
  const tokens = await Promise.all(ours.map(async (server) => exchange(server, await sample.credential(0))))
  const keyHeader = (n: number) => `X-API-Key: ${required(ours[n]).ready.apiKey}\r\n`
  const toBody = (n: number) => JSON.stringify({ token: required(tokens[n]) })
  const body = await ask(required(ours[0]), INTROSPECT, keyHeader(0), toBody(0))
  if ((body as { active?: boolean }).active !== true) throw new Error('our own token is not active')
  const fastify = await stage.startAll('fastify', () => ({ body }))
  const oidc = await stage.startAll('oidc', () => ({ port: 0 }))
  const introspect = (server: Served, n: number) => [post(server, INTROSPECT, keyHeader(n), toBody(n))]
  return stage.compare(await stage.subject('bare fastify, introspection', fastify, introspect), [
    await stage.subject('ours, introspection', ours, introspect, 'SQLite'),
    await stage.subject(
      'oidc-provider, introspection',
      oidc,
      (server) => {
        const { token, authorization } = server.ready
        const form = new URLSearchParams({ token }).toString()
        const key = `Authorization: ${authorization}\r\n`
        return [post(server, '/token/introspection', key, form, 'application/x-www-form-urlencoded')]
      },
      'in memory',
    ),
  ])
}

async function spoiledHeader(sample: Sample): Promise<string> {
  return credentialHeader({ ...(await sample.credential(0)), validUntil: '2099-01-01T00:00:00Z' })
}

async function bearerFor(server: Served, sample: Sample): Promise<string> {
  return `Authorization: Bearer ${await exchange(server, await sample.credential(1))}\r\n`
}

function verdictsOn(rows: readonly HttpRow[]): Verdict[] {
  const costs = (name: string) =>
    required(rows.find((row) => row.name === name)).ratios.map((ratio) => 1 / ratio)
  return [
    atLeastOfUnit('protected route, warm ≥ 0.88 of bare fastify, CPU', 0.88, rows, 'ours, warm'),
    atLeastOfUnit('protected route, bearer ≥ 0.90 of bare fastify, CPU', 0.9, rows, 'ours, bearer'),
    atLeastOfUnit('protected route, cold ≥ 0.18 of bare fastify, CPU', 0.18, rows, 'ours, cold'),
    atLeastOfUnit('introspection ≥ 0.85 of bare fastify, CPU', 0.85, rows, 'ours, introspection'),
    atLeastOfAll(
      'introspection ≥ 3.2 × oidc-provider, CPU',
      3.2,
      compareAll(costs('oidc-provider, introspection'), costs('ours, introspection')),
    ),
  ]
}

/** The one key that everything in the benchmark is signed with. */
export function toIssuer({ key }: Sample) {
  return { did: ISSUER, keyId: METHOD.slice(ISSUER.length + 1), multikey: key.publicKey.multikey }
}

type Served = Pick<ServerProcess, 'ready'>

/** A request as it goes over the wire. */
export function post(
  { ready }: Served,
  path: string,
  headers: string,
  body = '',
  type = 'application/json',
): string {
  const ofBody = body === '' ? '' : `Content-Type: ${type}\r\n`
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${ready.port}\r\n${headers}${ofBody}Content-Length: ${body.length}\r\n\r\n${body}`
}

async function ask({ ready }: Served, path: string, header: string, body?: string): Promise<unknown> {
  const [name = '', value = ''] = header.trim().split(': ')
  const answer = await fetch(`http://127.0.0.1:${ready.port}${path}`, {
    method: 'POST',
    headers: { [name]: value, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body }),
  })
  if (answer.status !== 200) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
  return answer.json()
}

async function exchange(ours: Served, credential: unknown): Promise<string> {
  const answer = await ask(
    ours,
    '/api/auth/exchange-proof',
    'X-Bench: 1',
    JSON.stringify({ credential, ttl_seconds: 3600 }),
  )
  return required((answer as { access_token?: string }).access_token)
}

/** A server that would accept anything is fast, and no peer. */
async function requireRejection({ ready }: Served, header: string): Promise<void> {
  const [name = '', value = ''] = header.trim().split(': ')
  const { status } = await fetch(`http://127.0.0.1:${ready.port}/api/protected/action`, {
    method: 'POST',
    headers: { [name]: value },
  })
  if (status !== 401) throw new Error(`a spoiled credential was answered with ${status}`)
}
