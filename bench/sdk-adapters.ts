import { join } from 'node:path'
import { SignJWT } from 'jose'
import { startLoad } from './processes.ts'
import { ISSUER, READ, required, type Sample, SITE } from './sample.ts'
import type { FrameworkName } from './servers/server.ts'
import { post, toIssuer } from './service-http.ts'
import { type HttpRow, Stage, type StageOptions } from './stage.ts'
import { atLeast, type Verdict } from './verdict.ts'

const FRAMEWORKS: readonly FrameworkName[] = ['express', 'fastify', 'hono']
const ROUTE = '/orders'

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
  const stage = new Stage(await startLoad(), {
    ...options,
    measure: { rounds: 21, sliceMs: 200, warmUpMs: 3000, ...options.measure },
  })
  try {
    const ours = await stage.start('ours', {
      dataDir: join(options.directory, 'adapters'),
      issuer: toIssuer(sample),
    })
    const neighbour = `http://127.0.0.1:${ours.ready.port}/readyz`
    const guarded = {
      baseUrl: `http://127.0.0.1:${ours.ready.port}`,
      siteId: SITE,
      apiKey: ours.ready.apiKey,
      scope: READ,
    }
    const body = { orders: [{ id: 'order-1', total: 42, currency: 'EUR' }] }
    const shown = `X-Service-Credential: ${await sample.header(0)}\r\n`
    const rows: HttpRow[] = []
    for (const framework of FRAMEWORKS) {
      const bare = await stage.start('framework', { framework, body, neighbour })
      const behindGuard = await stage.start('framework', { framework, body, neighbour, guarded })
      await requireRejection(behindGuard.ready.port)
      const subjects = [
        await stage.subject(`${framework} + guard`, behindGuard, [post(behindGuard, ROUTE, shown)], 'warm'),
      ]
      if (framework === 'express') {
        const secret = 'a secret of the benchmark, 32 bytes or more'
        const jwt = { issuer: `https://${SITE}/`, audience: ISSUER, secret }
        const peer = await stage.start('framework', { framework, body, neighbour, jwt })
        await requireRejection(peer.ready.port)
        const bearer = `Authorization: Bearer ${await token(jwt)}\r\n`
        subjects.push(
          await stage.subject(
            'express + express-oauth2-jwt-bearer',
            peer,
            [post(peer, ROUTE, bearer)],
            'HS256, no revocation',
          ),
        )
      }
      rows.push(
        ...(await stage.compare(
          await stage.subject(`${framework}, bare`, bare, [post(bare, ROUTE, shown)]),
          subjects,
        )),
      )
    }
    return { rows, verdicts: FRAMEWORKS.map((framework) => verdictOn(framework, rows)) }
  } finally {
    await stage.close()
  }
}

function verdictOn(framework: FrameworkName, rows: readonly HttpRow[]): Verdict {
  const { ratio, cpuRatio } = required(rows.find(({ name }) => name === `${framework} + guard`))
  return atLeast(
    `a route of ${framework} behind the guard ≥ 0.90 of the bare one`,
    0.9,
    1 / ratio,
    1 / cpuRatio,
  )
}

function token({
  issuer,
  audience,
  secret,
}: {
  issuer: string
  audience: string
  secret: string
}): Promise<string> {
  return new SignJWT({ scope: READ })
    .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject('user-1')
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(secret))
}

async function requireRejection(port: number): Promise<void> {
  const { status } = await fetch(`http://127.0.0.1:${port}${ROUTE}`, {
    method: 'POST',
    headers: { authorization: 'Bearer junk.junk.junk' },
  })
  if (status !== 401) throw new Error(`junk was answered with ${status}`)
}
