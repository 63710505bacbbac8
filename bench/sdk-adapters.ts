import { join } from 'node:path'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { type ServerProcess, startLoad } from './processes.ts'
import { READ, required, type Sample, SITE } from './sample.ts'
import type { FrameworkName } from './servers/server.ts'
import { post, toIssuer } from './service-http.ts'
import { atLeastOfUnit, type HttpRow, Stage, type StageOptions } from './stage.ts'
import type { Verdict } from './verdict.ts'

const FRAMEWORKS: readonly FrameworkName[] = ['express', 'fastify', 'hono']
const ROUTE = '/orders'
const NAMES = { issuer: 'https://idp.example', audience: 'https://api.example' }
const SECRET = 'a secret of the benchmark, 32 bytes or more'

export interface BenchAdaptersOptions extends StageOptions {
  readonly directory: string
}

/**
 * What a guard costs a route of each framework when the credential has been seen before; beside it
 * what a common middleware for JWTs costs.
 */
export async function benchAdapters(
  sample: Sample,
  options: BenchAdaptersOptions,
): Promise<{ rows: HttpRow[]; verdicts: Verdict[] }> {
  const rows: HttpRow[] = []
  for (const framework of FRAMEWORKS) {
    const stage = new Stage(await startLoad(), options)
    try {
      rows.push(...(await compareFramework(framework, sample, stage, options)))
    } finally {
      await stage.close()
    }
  }
  return { rows, verdicts: FRAMEWORKS.map((framework) => verdictOn(framework, rows)) }
}

async function compareFramework(
  framework: FrameworkName,
  sample: Sample,
  stage: Stage,
  { directory }: BenchAdaptersOptions,
): Promise<HttpRow[]> {
  const ours = await stage.start('ours', {
    dataDir: join(directory, `adapters-${framework}`),
    issuer: toIssuer(sample),
  })
  const baseUrl = `http://127.0.0.1:${ours.ready.port}`
  const guarded = { baseUrl, siteId: SITE, apiKey: ours.ready.apiKey, scope: READ }
  const body = { orders: [{ id: 'order-1', total: 42, currency: 'EUR' }] }
  const same = { framework, body, neighbour: `${baseUrl}/readyz` }
  const shown = `X-Service-Credential: ${await sample.header(0)}\r\n`
  const show = (headers: string) => (server: ServerProcess) => [post(server, ROUTE, headers)]
  const bare = await stage.startAll('framework', () => same)
  const guard = await stage.startAll('framework', () => ({ ...same, guarded }))
  await requireRejection(required(guard[0]).ready.port)
  const subjects = [await stage.subject(`${framework} + guard`, guard, show(shown), 'warm')]
  if (framework === 'express') {
    const { jwk, bearer, hmacBearer } = await createTokens()
    await trust(ours, jwk)
    const keySet = await stage.start('http', { body: { keys: [jwk] } })
    const jwksUri = `http://127.0.0.1:${keySet.ready.port}/`
    const rs256 = await stage.startAll('framework', () => ({ ...same, jwt: { ...NAMES, jwksUri } }))
    const hs256 = await stage.startAll('framework', () => ({ ...same, jwt: { ...NAMES, secret: SECRET } }))
    for (const contestant of [rs256, hs256]) await requireRejection(required(contestant[0]).ready.port)
    const peer = 'express + express-oauth2-jwt-bearer'
    subjects.push(
      await stage.subject('express + guard, RS256', guard, show(bearer), 'warm'),
      await stage.subject(`${peer}, RS256`, rs256, show(bearer), 'the same token, no revocation'),
      await stage.subject(`${peer}, HS256`, hs256, show(hmacBearer), 'no revocation'),
    )
  }
  return stage.compare(await stage.subject(`${framework}, bare`, bare, show(shown)), subjects)
}

function verdictOn(framework: FrameworkName, rows: readonly HttpRow[]): Verdict {
  const promise = `a route of ${framework} behind the guard ≥ 0.90 of the bare one, CPU`
  return atLeastOfUnit(promise, 0.9, rows, `${framework} + guard`)
}

/** One access token with two signatures, and the key of the first. */
async function createTokens(): Promise<{ jwk: JWK; bearer: string; hmacBearer: string }> {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const toBearer = async (alg: string, key: Parameters<SignJWT['sign']>[0]) => {
    const token = await new SignJWT({ scope: READ, client_id: 'bench', jti: 'bench' })
      .setProtectedHeader({ alg, typ: 'at+jwt', kid: 'bench' })
      .setIssuer(NAMES.issuer)
      .setAudience(NAMES.audience)
      .setSubject('user-1')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(key)
    return `Authorization: Bearer ${token}\r\n`
  }
  return {
    jwk: { ...(await exportJWK(publicKey)), alg: 'RS256', kid: 'bench', use: 'sig' },
    bearer: await toBearer('RS256', privateKey),
    hmacBearer: await toBearer('HS256', new TextEncoder().encode(SECRET)),
  }
}

async function trust({ ready }: ServerProcess<'ours'>, jwk: JWK): Promise<void> {
  const { issuer, audience } = NAMES
  const { status } = await fetch(`http://127.0.0.1:${ready.port}/api/sites/${SITE}/issuers`, {
    method: 'POST',
    headers: { 'x-api-key': ready.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'oauth', issuer, audience: [audience], jwks: { keys: [jwk] } }),
  })
  if (status !== 201) throw new Error(`the issuer was answered with ${status}`)
}

async function requireRejection(port: number): Promise<void> {
  const { status } = await fetch(`http://127.0.0.1:${port}${ROUTE}`, {
    method: 'POST',
    headers: { authorization: 'Bearer junk.junk.junk' },
  })
  if (status !== 401) throw new Error(`junk was answered with ${status}`)
}
