import { createAdaptorServer } from '@hono/node-server'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import express from 'express'
import { Hono } from 'hono'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireCredential as guardExpress } from '../../src/adapters/express.ts'
import { denialResponse, requireCredential as guardFetch, verifyRequest } from '../../src/adapters/fetch.ts'
import { requireCredential as guardHono } from '../../src/adapters/hono.ts'
import { guardMcp, type McpOptions, requireCredential as requireMcp } from '../../src/adapters/mcp.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestSite } from '../../src/testing/index.ts'
import { type Listening, listening } from '../listening.ts'
import { deniedCode } from './denied-code.ts'
import { rawRequest } from './raw-request.ts'

const READ = { scope: 'orders:read' }
const WRITE = { scope: 'orders:write' }
const OPTIONS: McpOptions = { tools: { scopes: {}, default: 'orders:write' } }
const CALL = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name: 'order',
    arguments: {},
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'agent', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

function newServer(): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  server.registerTool('order', {}, async () => ({ content: [{ type: 'text', text: 'ordered' }] }))
  return server
}

type Guards = (guard: Guard) => readonly unknown[]

const onNode =
  (createGuards: Guards) =>
  (guard: Guard): Promise<Listening> => {
    const serve = toNodeHandler(createMcpHandler(newServer))
    const app = express()
    app.all('/mcp', ...(createGuards(guard) as express.RequestHandler[]), (request, response) => {
      serve(request as never, response)
    })
    return listening(app)
  }

const onWeb =
  (createFetch: (guard: Guard, server: (request: Request) => Promise<Response>) => unknown) =>
  (guard: Guard): Promise<Listening> => {
    const server = guardMcp(guard, createMcpHandler(newServer), READ, OPTIONS)
    return listening(createAdaptorServer({ fetch: createFetch(guard, server) as never }) as never)
  }

/** As body parsers of Express 4 do with a type that is not theirs. */
const emptyBody: express.RequestHandler = (request, _response, next) => {
  request.body = {}
  next()
}

describe.each<[string, (guard: Guard) => Promise<Listening>]>([
  ['express, then mcp', onNode((guard) => [guardExpress(guard), requireMcp(guard, READ, OPTIONS)])],
  ['mcp, then express', onNode((guard) => [requireMcp(guard, READ, OPTIONS), guardExpress(guard, WRITE)])],
  ['mcp, then mcp', onNode((guard) => [requireMcp(guard, READ, OPTIONS), requireMcp(guard, READ, OPTIONS)])],
  [
    'express, then a parser that leaves the body, then mcp',
    onNode((guard) => [guardExpress(guard), emptyBody, requireMcp(guard, READ, OPTIONS)]),
  ],
  [
    'hono, then mcp',
    onWeb((guard, server) => {
      const app = new Hono()
      app.all('/mcp', guardHono(guard), (c) => server(c.req.raw))
      return app.fetch
    }),
  ],
  ['fetch, then mcp', onWeb((guard, server) => guardFetch(guard, (request) => server(request)))],
  [
    'fetch, then verifyRequest, then mcp',
    onWeb((guard, server) =>
      guardFetch(guard, async (request) => {
        const verdict = await verifyRequest(guard, request, READ)
        return verdict.ok ? server(request) : denialResponse(verdict)
      }),
    ),
  ],
])('two guards in a row: %s', (_, serve) => {
  let site: TestSite
  let app: Listening
  beforeAll(async () => {
    site = await createTestSite({ siteId: 'shop.localhost' })
    app = await serve(await site.guard())
  })
  afterAll(async () => {
    await app.close()
    await site.close()
  })

  async function sign(scope: readonly string[], body = CALL) {
    const { headersFor } = await site.issue({ scope: [...scope], bound: true })
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-method': 'tools/call',
      'mcp-name': 'order',
      'mcp-protocol-version': '2026-07-28',
      ...(await headersFor('POST', `${app.origin}/mcp`, body)),
    }
  }
  const send = (headers: Record<string, string>, body = CALL) =>
    rawRequest(app.origin, { method: 'POST', path: '/mcp', headers, body })

  test('accept a proof once', async () => {
    const headers = await sign(['orders:read', 'orders:write'])
    const answer = await send(headers)
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining('ordered')])
    expect(deniedCode(await send(headers))).toBe('proof_replayed')
  })

  test('require the scopes of both, and the body that was signed', async () => {
    expect(deniedCode(await send(await sign(['orders:read'])))).toBe('scope_insufficient')
    expect(deniedCode(await send(await sign(['orders:write'])))).toBe('scope_insufficient')
    const headers = await sign(['orders:read', 'orders:write'])
    expect(deniedCode(await send(headers, CALL.replace('order', 'other')))).toBe('proof_invalid')
    expect(deniedCode(await send({ 'content-type': 'application/json' }))).toBe('credential_missing')
  })
})
