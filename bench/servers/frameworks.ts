import type { AddressInfo } from 'node:net'
import { createGuard, type Guard } from '@countersign/sdk'
import { requireCredential as forExpress } from '@countersign/sdk/express'
import { requireCredential as forFastify } from '@countersign/sdk/fastify'
import { requireCredential as forHono } from '@countersign/sdk/hono'
import { serve } from '@hono/node-server'
import express, { type RequestHandler } from 'express'
import { auth } from 'express-oauth2-jwt-bearer'
import Fastify from 'fastify'
import { Hono } from 'hono'
import { KEEP_ALIVE_MS } from './bare.ts'
import type { FrameworkName, Running, ServerOptions } from './server.ts'

/** A web framework answering the same body to every request, or to those that the guard accepts. */
export async function serveFramework({
  framework,
  body,
  neighbour,
  guarded,
  jwt,
}: ServerOptions['framework']): Promise<Running> {
  await (await fetch(neighbour)).text()
  const { scope = '', ...options } = guarded ?? {}
  const guard = guarded && createGuard(options as Omit<typeof guarded, 'scope'>)
  await guard?.ready()
  const { port, close } = await servers[framework](body, guard, scope, jwt)
  return {
    ready: { port },
    async close() {
      await guard?.close()
      await close()
    },
  }
}

type Serve = (
  body: object,
  guard: Guard | undefined,
  scope: string,
  jwt: ServerOptions['framework']['jwt'],
) => Promise<{ readonly port: number; close(): Promise<void> }>

const servers: Readonly<Record<FrameworkName, Serve>> = {
  async express(body, guard, scope, jwt) {
    const app = express()
    app.set('env', 'test') // Otherwise it writes the stack of each rejection to the console.
    if (guard !== undefined) app.use(forExpress(guard, { scope }) as unknown as RequestHandler)
    if (jwt !== undefined) app.use(auth('secret' in jwt ? { ...jwt, tokenSigningAlg: 'HS256' } : jwt))
    app.post('/{*path}', (_request, response) => {
      response.json(body)
    })
    const server = await new Promise<ReturnType<typeof app.listen>>((resolve) => {
      const listening = app.listen(0, '127.0.0.1', () => resolve(listening))
    })
    server.keepAliveTimeout = KEEP_ALIVE_MS
    return {
      port: (server.address() as AddressInfo).port,
      async close() {
        server.closeAllConnections()
        server.close()
      },
    }
  },
  async fastify(body, guard, scope) {
    const app = Fastify({ keepAliveTimeout: KEEP_ALIVE_MS, forceCloseConnections: true })
    if (guard !== undefined) app.addHook('preParsing', forFastify(guard, { scope }) as never)
    app.post('/*', async () => body)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
  },
  async hono(body, guard, scope) {
    const app = new Hono()
    if (guard !== undefined) app.use(forHono(guard, { scope }) as never)
    app.post('*', (c) => c.json(body))
    const server = await new Promise<ReturnType<typeof serve>>((resolve) => {
      const listening = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(listening))
    })
    if ('keepAliveTimeout' in server) server.keepAliveTimeout = KEEP_ALIVE_MS
    return {
      port: (server.address() as AddressInfo).port,
      async close() {
        if ('closeAllConnections' in server) server.closeAllConnections()
        server.close()
      },
    }
  },
}
