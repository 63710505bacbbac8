import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import { importJWK, type JWK, jwtVerify } from 'jose'
import { KEEP_ALIVE_MS } from './bare.ts'
import type { Running, ServerOptions } from './server.ts'

/**
 * A route as many are guarded today: `jwtVerify` on the bearer token, with a key that was imported
 * once. Nothing can be revoked here.
 */
export async function serveJose({
  body,
  publicJwk,
  issuer,
  audience,
}: ServerOptions['jose']): Promise<Running> {
  const key = await importJWK({ ...publicJwk, alg: 'EdDSA' } as JWK)
  const fastify = Fastify({ keepAliveTimeout: KEEP_ALIVE_MS, forceCloseConnections: true })
  fastify.addHook('onRequest', async (request, reply) => {
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
    try {
      await jwtVerify(token ?? '', key, { issuer, audience, algorithms: ['EdDSA'] })
    } catch {
      return reply.code(401).send({ error: 'invalid_token' })
    }
  })
  fastify.post('/*', async () => body)
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { port: (fastify.server.address() as AddressInfo).port }, close: () => fastify.close() }
}
