import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import { rawVerify } from '../raw-verify.ts'
import type { Running, ServerOptions } from './server.ts'

/** Longer than any pause between two turns. */
export const KEEP_ALIVE_MS = 600_000

/**
 * Node alone: the most that any server in JavaScript can do here, and the proof that the sender can
 * do more.
 */
export async function serveHttp({ body }: ServerOptions['http']): Promise<Running> {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    request.resume()
    const text = JSON.stringify(body)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    response.end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ready: { port: (server.address() as AddressInfo).port },
    async close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/**
 * Fastify answering the same body to every request. It reads a body that is sent, as any route
 * would.
 */
export function serveFastify({ body, log = false }: ServerOptions['fastify']): Promise<Running> {
  return listen(
    Fastify({ keepAliveTimeout: KEEP_ALIVE_MS, forceCloseConnections: true, logger: log }),
    async () => body,
  )
}

/**
 * The least that a guard can do who looks at a signature: one bare verification for each request,
 * and no other check.
 */
export async function serveVerifying({ body }: ServerOptions['verify']): Promise<Running> {
  const signature = rawVerify(generateKeyPairSync('ed25519'))
  return listen(Fastify({ keepAliveTimeout: KEEP_ALIVE_MS, forceCloseConnections: true }), async () => {
    signature.run(1)
    return body
  })
}

async function listen(fastify: FastifyInstance, answer: () => Promise<unknown>): Promise<Running> {
  fastify.post('/*', answer)
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { port: (fastify.server.address() as AddressInfo).port }, close: () => fastify.close() }
}
