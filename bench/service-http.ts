import { join } from 'node:path'
import { credentialHeader } from '@countersign/core'
import type { MeasureOptions } from './measure.ts'
import { type ServerProcess, startLoad } from './processes.ts'
import { ISSUER, jwt, METHOD, required, type Sample, SITE, several } from './sample.ts'
import { type HttpRow, Stage } from './stage.ts'
import { atLeast, type Verdict } from './verdict.ts'

const COLD = 40_000
const JWTS = 1000

export interface ServiceHttpOptions {
  readonly directory: string
  readonly onProgress?: (what: string, done: number, all: number) => void
  readonly measure?: Omit<MeasureOptions, 'onRound'>
}

/**
 * Requests a second beside bare fastify, each server alone in a process, all behind the same
 * sender.
 */
export async function benchServiceHttp(
  sample: Sample,
  options: ServiceHttpOptions,
): Promise<{ rows: HttpRow[]; verdicts: Verdict[] }> {
  const stage = new Stage(await startLoad(), options)
  try {
    return await compare(sample, stage, options)
  } finally {
    await stage.close()
  }
}

async function compare(sample: Sample, stage: Stage, { directory, onProgress }: ServiceHttpOptions) {
  const issuer = toIssuer(sample)
  const ours = await stage.start('ours', { dataDir: join(directory, 'http'), issuer })
  // Credentials that are new are written down in the background; nothing else shall be measured
  // meanwhile.
  const oursCold = await stage.start('ours', { dataDir: join(directory, 'http-cold'), issuer })
  const oursLogging = await stage.start('ours', {
    dataDir: join(directory, 'http-log'),
    issuer,
    logLevel: 'info',
  })
  const headers: string[] = []
  for (let n = 0; n < COLD; n++) {
    if (n % 1000 === 0) onProgress?.('signing credentials', n, COLD)
    headers.push(await sample.header(n))
  }
  const shown = (header: string) => `X-Service-Credential: ${header}\r\n`
  const warmHeader = shown(await sample.header(COLD))
  const token = await exchange(ours, await sample.credential(COLD))
  const bearer = `Authorization: Bearer ${token}\r\n`
  const apiKey = `X-API-Key: ${ours.ready.apiKey}\r\n`
  const tokenBody = JSON.stringify({ token })

  // What bare fastify answers is what ours has answered.
  const action = await ask(ours, '/api/protected/action', warmHeader)
  const introspection = await ask(ours, '/api/auth/introspect', apiKey, tokenBody)
  if ((introspection as { active?: boolean }).active !== true) throw new Error('our own token is not active')
  const http = await stage.start('http', { body: action })
  const fastify = await stage.start('fastify', { body: action })
  const fastifyLogging = await stage.start('fastify', { body: action, log: true })
  const fastifyIntrospection = await stage.start('fastify', { body: introspection })
  const { d: _, ...publicJwk } = sample.privateJwk
  const jose = await stage.start('jose', { body: action, publicJwk, issuer: ISSUER, audience: SITE })
  const verifying = await stage.start('verify', { body: action })
  const oidc = await stage.start('oidc', { port: 0 })
  const jwts = await several(JWTS, (n) => jwt(sample, n))
  await requireRejection(jose, `Authorization: Bearer ${jwts[0]?.slice(0, -8)}AAAAAAAA\r\n`)
  await requireRejection(
    ours,
    shown(credentialHeader({ ...(await sample.credential(0)), validUntil: '2099-01-01T00:00:00Z' })),
  )

  const act = '/api/protected/action'
  const ask1 = '/api/auth/introspect'
  const oidcBody = new URLSearchParams({ token: oidc.ready.token }).toString()
  const rows = [
    ...(await stage.compare(await stage.subject('bare fastify', fastify, [post(fastify, act, warmHeader)]), [
      await stage.subject('bare node:http', http, [post(http, act, warmHeader)]),
      await stage.subject(
        'ours, warm',
        ours,
        [post(ours, act, warmHeader)],
        'the same credential again, all checks but the signature',
      ),
    ])),
    ...(await stage.compare(
      await stage.subject('bare fastify, once more', fastify, [post(fastify, act, warmHeader)]),
      [
        await stage.subject(
          'ours, cold',
          oursCold,
          headers.map((header) => post(oursCold, act, shown(header))),
          'credentials never seen before',
          true,
        ),
        await stage.subject(
          'fastify + jose',
          jose,
          jwts.map((text) => post(jose, act, `Authorization: Bearer ${text}\r\n`)),
          'jwtVerify',
        ),
        await stage.subject(
          'fastify + one raw verification',
          verifying,
          [post(verifying, act, warmHeader)],
          'the floor of cold',
        ),
      ],
    )),
    ...(await stage.compare(
      await stage.subject('bare fastify, bearer', fastify, [post(fastify, act, bearer)]),
      [await stage.subject('ours, bearer', ours, [post(ours, act, bearer)], 'looked up, all checks')],
    )),
    ...(await stage.compare(
      await stage.subject('bare fastify, logging', fastifyLogging, [post(fastifyLogging, act, warmHeader)]),
      [
        await stage.subject(
          'ours, warm, logging',
          oursLogging,
          [post(oursLogging, act, warmHeader)],
          'one line for each request',
        ),
      ],
    )),
    ...(await stage.compare(
      await stage.subject('bare fastify, introspection', fastifyIntrospection, [
        post(fastifyIntrospection, ask1, apiKey, tokenBody),
      ]),
      [
        await stage.subject('ours, introspection', ours, [post(ours, ask1, apiKey, tokenBody)], 'SQLite'),
        await stage.subject(
          'oidc-provider, introspection',
          oidc,
          [
            post(
              oidc,
              '/token/introspection',
              `Authorization: ${oidc.ready.authorization}\r\n`,
              oidcBody,
              'application/x-www-form-urlencoded',
            ),
          ],
          'in memory',
        ),
      ],
    )),
  ]
  return { rows, verdicts: verdictsOn(rows) }
}

/** The ratios are of times; the promises are of requests a second, so they are turned around. */
function verdictsOn(rows: readonly HttpRow[]): Verdict[] {
  const speed = (name: string) => {
    const { ratio, quietRatio } = required(rows.find((row) => row.name === name))
    return [1 / ratio, 1 / quietRatio] as const
  }
  const [introspect, introspectQuiet] = speed('ours, introspection')
  const [oidc, oidcQuiet] = speed('oidc-provider, introspection')
  return [
    atLeast('protected route, warm ≥ 0.72 of bare fastify', 0.72, ...speed('ours, warm')),
    atLeast('protected route, bearer ≥ 0.75 of bare fastify', 0.75, ...speed('ours, bearer')),
    atLeast('protected route, cold ≥ 0.20 of bare fastify', 0.2, ...speed('ours, cold')),
    atLeast('introspection ≥ 0.75 of bare fastify', 0.75, introspect, introspectQuiet),
    atLeast('introspection ≥ 3.2 × oidc-provider', 3.2, introspect / oidc, introspectQuiet / oidcQuiet),
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
