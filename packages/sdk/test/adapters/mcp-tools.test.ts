import { createAdaptorServer } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { extractWWWAuthenticateParams } from '@modelcontextprotocol/sdk/client/auth.js'
import { McpServer as OldMcpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import express from 'express'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  getCredential,
  guardMcp,
  type McpOptions,
  protectedResource,
  requireCredential,
} from '../../src/adapters/mcp.ts'
import type { Guard } from '../../src/guard/guard.ts'
import {
  createTestSite,
  type TestAccessToken,
  type TestOAuthIssuer,
  type TestSite,
} from '../../src/testing/index.ts'
import { type Listening, listening } from '../listening.ts'
import { deniedCode } from './denied-code.ts'
import { type RawAsk, rawRequest } from './raw-request.ts'

const resource = protectedResource({
  resource: 'https://shop.example/mcp',
  authorizationServers: ['https://idp.example'],
  scopes: ['orders:read', 'orders:write', 'mcp:tools'],
})
const OPTIONS: McpOptions = {
  resource,
  bodyBytesMax: 4096,
  tools: { scopes: { who: 'orders:read', write: ['orders:write'] }, default: 'mcp:tools' },
}
const DEMAND = { scope: 'orders:read' }
const METADATA = 'https://shop.example/.well-known/oauth-protected-resource/mcp'
const TOOLS = ['who', 'write', 'other']

const answer = (name: string) => async (context: unknown) => ({
  content: [{ type: 'text' as const, text: `${name} for ${getCredential(context).presented}` }],
})

function newServer(): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  for (const name of TOOLS) server.registerTool(name, { description: name }, answer(name))
  return server
}

const kinds: readonly { name: string; serve(guard: Guard): Promise<Listening> }[] = [
  {
    name: 'web-standard requests',
    serve: (guard) =>
      listening(
        createAdaptorServer({
          fetch: guardMcp(guard, createMcpHandler(newServer), DEMAND, OPTIONS),
        }) as never,
      ),
  },
  {
    name: 'Node',
    serve: (guard) => {
      const serve = toNodeHandler(createMcpHandler(newServer))
      const app = express()
      app.use(resource)
      app.all(
        '/mcp',
        requireCredential(guard, DEMAND, OPTIONS),
        (request, response) => void serve(request as never, response),
      )
      return listening(app)
    },
  },
  {
    name: 'MCP 1.x behind a body parser',
    serve: (guard) => {
      const app = express()
      app.use(resource)
      app.use(express.json())
      app.all('/mcp', requireCredential(guard, DEMAND, OPTIONS), async (request, response) => {
        const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true } as never)
        const server = new OldMcpServer({ name: 'orders', version: '1.0.0' })
        for (const name of TOOLS) server.registerTool(name, { description: name }, answer(name))
        await server.connect(transport as never)
        await transport.handleRequest(request as never, response, request.body)
      })
      return listening(app)
    },
  },
]

describe.each(kinds)('the scopes of tools on $name', ({ name: kind, serve }) => {
  let site: TestSite
  let idp: TestOAuthIssuer
  let app: Listening
  let reader: TestAccessToken
  let writer: TestAccessToken
  beforeAll(async () => {
    site = await createTestSite({ siteId: 'shop.localhost' })
    idp = await site.trustOAuthIssuer()
    app = await serve(await site.guard())
    reader = await idp.sign({ scope: 'orders:read' })
    writer = await idp.sign({ scope: 'orders:read orders:write', bound: true })
  })
  afterAll(async () => {
    await app?.close()
    await site?.close()
  })

  const call = (name: unknown, method = 'tools/call') => ({
    jsonrpc: '2.0',
    id: 1,
    method,
    params: { name, arguments: {} },
  })
  const post = async (
    body: unknown,
    { token = reader, ...more }: Partial<RawAsk> & { token?: TestAccessToken } = {},
  ) =>
    rawRequest(app.origin, {
      method: 'POST',
      path: '/mcp',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...more,
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': '2025-06-18',
        ...(await token.headersFor('POST', `${app.origin}/mcp`)),
        ...more.headers,
      },
    })

  test('a call of a tool needs the scope of that tool, in addition to that of the server', async () => {
    const allowed = await post(call('who'))
    expect([allowed.status, allowed.text]).toEqual([200, expect.stringContaining('who for jwt')])
    const denied = await post(call('write'))
    expect(deniedCode(denied, { isChallenged: true })).toBe('scope_insufficient')
    expect(denied.json()).toMatchObject({
      required_scope: ['orders:read', 'orders:write'],
      error: { data: { code: 'scope_insufficient', needs: 'scope' } },
    })
    const written = await post(call('write'), { token: writer })
    expect([written.status, written.text]).toEqual([200, expect.stringContaining('write for jwt')])
  })

  test('the challenge is one that the client of the MCP SDK understands', async () => {
    const { headers } = await post(call('write'))
    const response = new Response(null, {
      headers: { 'www-authenticate': String(headers['www-authenticate']) },
    })
    expect(extractWWWAuthenticateParams(response)).toEqual({
      resourceMetadataUrl: new URL(METADATA),
      scope: 'orders:read orders:write',
      error: 'insufficient_scope',
    })
    const bare = await rawRequest(app.origin, { method: 'POST', path: '/mcp', body: '{}' })
    expect(deniedCode(bare)).toBe('credential_missing')
    expect(
      extractWWWAuthenticateParams(
        new Response(null, { headers: { 'www-authenticate': String(bare.headers['www-authenticate']) } }),
      ),
    ).toEqual({ resourceMetadataUrl: new URL(METADATA), scope: 'orders:read', error: undefined })
    const metadata = await rawRequest(app.origin, { path: '/.well-known/oauth-protected-resource/mcp' })
    expect(metadata.json()).toMatchObject({ authorization_servers: ['https://idp.example'] })
  })

  test('a tool that is not named needs the default scope, also one named like a member of objects', async () => {
    for (const name of ['other', 'unknown', 'constructor', '__proto__', 'toString', 'Write', 'write ', ''])
      expect(deniedCode(await post(call(name)), { isChallenged: true }), name).toBe('scope_insufficient')
    const token = await idp.sign({ scope: 'orders:read mcp:tools' })
    expect((await post(call('other'), { token })).status).toBe(200)
    expect(deniedCode(await post(call('write'), { token }), { isChallenged: true })).toBe(
      'scope_insufficient',
    )
  })

  test('every call of a batch is decided, and no more than 64', async () => {
    expect(deniedCode(await post([call('who'), call('write')]), { isChallenged: true })).toBe(
      'scope_insufficient',
    )
    expect(deniedCode(await post([call('write'), call('who')]), { isChallenged: true })).toBe(
      'scope_insufficient',
    )
    expect(deniedCode(await post(Array.from({ length: 65 }, () => 1)))).toBe('request_malformed')
    expect(deniedCode(await post([]))).toBe('request_malformed')
    expect(deniedCode(await post([call('who'), [call('write')]]))).toBe('request_malformed')
  })

  test.each([
    ['no name', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} }],
    ['no parameters', { jsonrpc: '2.0', id: 1, method: 'tools/call' }],
    ['a number for a name', call(7)],
    ['a list for a name', call(['write'])],
  ])('a call with %s is rejected', async (_name, body) => {
    expect(deniedCode(await post(body))).toBe('request_malformed')
  })

  test('a body that is no message is rejected', async () => {
    // A parser in front rejects what is not JSON by itself.
    if (kind.includes('parser')) return
    for (const body of ['', 'nonsense', '"text"', 'null', '1', '\ufeff{}', '{'])
      expect(deniedCode(await post(body)), body).toBe('request_malformed')
  })

  test('a body in another encoding, which the server could read differently, is rejected', async () => {
    if (kind.includes('parser')) return
    // In UTF-7 this names the tool `write`.
    const body = JSON.stringify(call('+AHc-rite'))
    const charsets = ['utf-7', 'UTF-16', 'utf-8; charset=utf-7', 'utf-7; charset=utf-8', '"utf-7"']
    // The second charset is inside of a quoted text.
    for (const charset of [...charsets, 'utf-7; x="; charset=utf-8"'])
      expect(
        deniedCode(await post(body, { headers: { 'content-type': `application/json; charset=${charset}` } })),
        charset,
      ).toBe('request_malformed')
    const plain = await post(call('who'), { headers: { 'content-type': 'application/json; charset=UTF-8' } })
    expect(plain.status).toBe(200)
  })

  test('a body that is too large is rejected', async () => {
    if (kind.includes('parser')) return
    const body = { ...call('who'), params: { name: 'who', arguments: { text: 'x'.repeat(4096) } } }
    expect(deniedCode(await post(body))).toBe('request_too_large')
  })

  test('headers that differ from the body are rejected, and those that agree are not', async () => {
    const asked = (headers: Record<string, string | string[]>, body: unknown = call('who')) =>
      post(body, { headers })
    for (const headers of [
      { 'mcp-name': 'write' },
      { 'mcp-name': 'WHO' },
      { 'mcp-name': '' },
      { 'mcp-name': ['who', 'who'] },
      { 'mcp-method': 'tools/list' },
      { 'mcp-method': 'tools/list', 'mcp-name': 'who' },
      { 'mcp-name': '=?base64?d3JpdGU=?=' },
      { 'mcp-name': '=?base64?///?=' },
    ])
      expect(deniedCode(await asked(headers)), JSON.stringify(headers)).toBe('request_malformed')
    expect(deniedCode(await asked({ 'mcp-name': 'who' }, call('who', 'tools/list')))).toBe(
      'request_malformed',
    )
    expect(deniedCode(await asked({ 'mcp-name': 'who' }, [call('who'), call('write')]))).toBe(
      'request_malformed',
    )
    expect((await asked({ 'mcp-name': 'who', 'mcp-method': 'tools/call' })).status).toBe(200)
    expect((await asked({ 'mcp-name': '=?base64?d2hv?=' })).status).not.toBe(403)
  })

  test('a caller without access is denied before its body is read', async () => {
    const body = 'nonsense'
    const { jwt } = await idp.sign({ ttlSeconds: 1, claims: { aud: 'https://other.example' } })
    const denied = await rawRequest(app.origin, {
      method: 'POST',
      path: '/mcp',
      body,
      headers: { authorization: `Bearer ${jwt}`, 'content-type': 'text/plain' },
    })
    expect(deniedCode(denied)).toBe('token_invalid')
  })

  test('a proof covers the request once, though the tools are decided after it', async () => {
    const headers = await writer.headersFor('POST', `${app.origin}/mcp`)
    expect((await post(call('write'), { headers, token: writer })).status).toBe(200)
    expect(deniedCode(await post(call('write'), { headers, token: writer }))).toBe('proof_replayed')
  })

  test('a credential that is bound to a key works too', async () => {
    const bound = await site.issue({ scope: ['orders:read', 'orders:write'], bound: true })
    const body = JSON.stringify(call('write'))
    const send = async (scoped: typeof bound) =>
      rawRequest(app.origin, {
        method: 'POST',
        path: '/mcp',
        body,
        headers: {
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
          'mcp-protocol-version': '2025-06-18',
          ...(await scoped.headersFor('POST', `${app.origin}/mcp`, body)),
        },
      })
    if (kind.includes('parser')) return
    expect((await send(bound)).text).toContain('write for credential')
    const narrow = await site.issue({ scope: 'orders:read', bound: true })
    expect(deniedCode(await send(narrow), { isChallenged: true })).toBe('scope_insufficient')
  })

  test('an unmodified client with a token calls its tools, until the user is revoked', async () => {
    const token = await idp.sign({ subject: 'dora', scope: 'orders:read' })
    const client = new Client({ name: 'agent', version: '1.0.0' })
    const authProvider = { token: async () => token.jwt }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${app.origin}/mcp`), {
        requestInit: { headers: { authorization: `Bearer ${await authProvider.token()}` } },
      }),
    )
    expect((await client.listTools()).tools.length).toBe(TOOLS.length)
    expect(await client.callTool({ name: 'who', arguments: {} })).toMatchObject({
      content: [{ text: 'who for jwt' }],
    })
    await expect(client.callTool({ name: 'write', arguments: {} })).rejects.toThrow()
    await idp.revokeUser('dora')
    await expect(client.callTool({ name: 'who', arguments: {} })).rejects.toThrow()
    await client.close()
  })
})

test('scopes of tools without a default, or that are none, are reported when the server is made', async () => {
  const site = await createTestSite()
  const guard = await site.guard()
  const handler = { fetch: async () => new Response() }
  for (const tools of [
    { scopes: { a: 'b' } },
    { default: 'b' },
    { scopes: { a: 'not a scope' }, default: 'b' },
    { scopes: { a: [] }, default: 'b' },
    { scopes: {}, default: '' },
    { scopes: {}, default: 'b', other: 1 },
    'b',
  ])
    expect(() => guardMcp(guard, handler, DEMAND, { tools } as never), JSON.stringify(tools)).toThrow(
      TypeError,
    )
  await site.close()
})
