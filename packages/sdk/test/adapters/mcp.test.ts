import { createAdaptorServer } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer as OldMcpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import express from 'express'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import {
  captureRawBody,
  getAccessSignal,
  getCredential,
  guardMcp,
  requireCredential,
  requireScope,
} from '../../src/adapters/mcp.ts'
import { agentFetch } from '../../src/agent/agent-fetch.ts'
import type { Guard } from '../../src/guard/guard.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/index.ts'
import { type Listening, listening } from '../listening.ts'
import { rawRequest } from './raw-request.ts'
import { refusal } from './suite.ts'

/** What the tools tell the test. */
interface Told {
  /** The reasons of signals that fired inside of tools. */
  readonly ended: unknown[]
  /** Called when the tool that never ends has begun. */
  begun(): void
}

interface Caller {
  tools(): Promise<string[]>
  call(
    name: string,
    args?: Record<string, unknown>,
  ): Promise<{ isError?: boolean; content?: unknown; _meta?: Record<string, unknown> }>
  close(): Promise<void>
}

interface Kind {
  readonly name: string
  serve(guard: Guard, told: Told): Promise<Listening>
  connect(url: URL, fetch: typeof globalThis.fetch): Promise<Caller>
}

/** The tools of both SDKs, which differ in how they are registered only. */
function tools(told: Told) {
  const text = (value: unknown) => ({ content: [{ type: 'text' as const, text: JSON.stringify(value) }] })
  return {
    who: async (context: unknown) => text(getCredential(context).subject.ppid),
    write: requireScope('orders:write', async (context: unknown) =>
      text({ wrote: getCredential(context).presented }),
    ),
    endless: requireScope('orders:read', async (context: unknown) => {
      const signal = getAccessSignal(context)
      signal.addEventListener('abort', () => told.ended.push(signal.reason))
      told.begun()
      return new Promise<ReturnType<typeof text>>(() => undefined)
    }),
    stubborn: async () => {
      told.begun()
      return new Promise<ReturnType<typeof text>>(() => undefined)
    },
  }
}

function newServer(told: Told): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  for (const [name, tool] of Object.entries(tools(told)))
    server.registerTool(name, { description: name }, tool)
  const schema = fromJsonSchema<{ item: string }>({
    type: 'object',
    properties: { item: { type: 'string' } },
    required: ['item'],
  })
  server.registerTool(
    'order',
    { inputSchema: schema },
    requireScope('orders:write', async ({ item }, ctx) => ({
      content: [{ type: 'text', text: `${item} for ${getCredential(ctx).subject.ppid}` }],
    })),
  )
  return server
}

const connect = async (url: URL, fetch: typeof globalThis.fetch): Promise<Caller> => {
  const client = new Client({ name: 'agent', version: '1.0.0' })
  await client.connect(new StreamableHTTPClientTransport(url, { fetch }))
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args = {}) => client.callTool({ name, arguments: args }) as never,
    close: () => client.close(),
  }
}

const kinds: readonly Kind[] = [
  {
    name: 'MCP 2.x on web-standard requests',
    serve: (guard, told) => {
      const handler = createMcpHandler(() => newServer(told))
      return listening(
        createAdaptorServer({ fetch: guardMcp(guard, handler, { scope: 'orders:read' }) }) as never,
      )
    },
    connect,
  },
  {
    name: 'MCP 2.x on Node',
    serve: (guard, told) => {
      const serve = toNodeHandler(createMcpHandler(() => newServer(told)))
      const app = express()
      app.all(
        '/mcp',
        requireCredential(guard, { scope: 'orders:read' }),
        (request, response) => void serve(request as never, response),
      )
      return listening(app)
    },
    connect,
  },
  {
    name: 'MCP 1.x with sessions',
    serve: (guard, told) => {
      const sessions = new Map<string, StreamableHTTPServerTransport>()
      const app = express()
      app.use(express.json({ verify: captureRawBody }))
      app.all('/mcp', requireCredential(guard, { scope: 'orders:read' }), async (request, response) => {
        let transport = sessions.get(String(request.headers['mcp-session-id']))
        if (transport === undefined) {
          const made = new StreamableHTTPServerTransport({
            sessionIdGenerator: () => crypto.randomUUID(),
            onsessioninitialized: (id) => void sessions.set(id, made),
          })
          transport = made
          const server = new OldMcpServer({ name: 'orders', version: '1.0.0' })
          for (const [name, tool] of Object.entries(tools(told)))
            server.registerTool(name, { description: name }, tool)
          server.registerTool(
            'order',
            {},
            requireScope('orders:write', async (_extra) => ({ content: [{ type: 'text', text: 'tea' }] })),
          )
          await server.connect(made as never)
        }
        await transport.handleRequest(request as never, response, request.body)
      })
      return listening(app)
    },
    async connect(url, fetch) {
      const client = new OldClient({ name: 'agent', version: '1.0.0' })
      await client.connect(new OldClientTransport(url, { fetch }) as never)
      return {
        tools: async () => (await client.listTools()).tools.map(({ name }) => name),
        call: (name, args = {}) => client.callTool({ name, arguments: args }) as never,
        close: () => client.close(),
      }
    },
  },
]

describe.each(kinds)('$name', ({ serve, connect }) => {
  let site: TestSite
  let app: Listening
  let url: URL
  let begun = () => {}
  const told: Told = { ended: [], begun: () => begun() }
  beforeAll(async () => {
    site = await createTestSite({ siteId: 'shop.localhost' })
    app = await serve(await site.guard(), told)
    url = new URL(`${app.origin}/mcp`)
  })
  afterAll(async () => {
    await app?.close()
    await site?.close()
  })

  const issue = (user: string, scope = ['orders:read', 'orders:write'], bound = true) =>
    site.issue({ user, scope, bound })
  const createFetch = ({ credential, holderKey }: TestCredential) =>
    agentFetch({
      credential,
      origins: url.origin,
      nowMs: () => site.clock.nowMs,
      ...(holderKey && { holderKey }),
    }) as typeof globalThis.fetch
  const listTools = { method: 'POST', path: '/mcp', body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' }

  test.each([true, false])(
    'a client with a credential (bound: %s) lists and calls tools, and they know who calls',
    async (bound) => {
      const credential = await issue('alice', undefined, bound)
      const caller = await connect(url, createFetch(credential))
      expect(await caller.tools()).toEqual(['who', 'write', 'endless', 'stubborn', 'order'])
      expect(await caller.call('who')).toMatchObject({ content: [{ text: JSON.stringify(credential.ppid) }] })
      expect(await caller.call('write')).toMatchObject({ content: [{ text: '{"wrote":"credential"}' }] })
      expect(await caller.call('order', { item: 'tea' })).toMatchObject({
        content: [{ text: expect.stringMatching(/^tea/) }],
      })
      await caller.close()
    },
  )

  test('a tool that needs more scope says so to the model', async () => {
    const caller = await connect(url, createFetch(await issue('bob', ['orders:read'])))
    expect(await caller.call('who')).not.toHaveProperty('isError', true)
    expect(await caller.call('write')).toEqual(
      expect.objectContaining({
        isError: true,
        content: [
          {
            type: 'text',
            text:
              'scope_insufficient: This tool needs the scope orders:write, and the credential lacks orders:write. Request one that has it. ' +
              'Ask for a credential with the scope orders:write. Trying again as it is will not help.',
          },
        ],
        _meta: {
          'countersign/denial': {
            code: 'scope_insufficient',
            needs: 'scope',
            retryable: false,
            required_scope: ['orders:write'],
          },
        },
      }),
    )
    await caller.close()
  })

  test('a caller without access cannot even connect, and reads why', async () => {
    await expect(connect(url, fetch)).rejects.toThrow(/credential_missing/)
    const lost = await issue('carol')
    await site.revoke(lost)
    await expect(connect(url, createFetch(lost))).rejects.toThrow(/credential_revoked.*Access was revoked/)
    await expect(connect(url, createFetch(await issue('dan', ['other'])))).rejects.toThrow(
      /scope_insufficient.*orders:read/,
    )
  })

  test('a refusal is problem+json and a JSON-RPC error at once', async () => {
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const answer = await rawRequest(app.origin, { ...listTools, headers })
    const { jsonrpc, id, error, ...problem } = answer.json() as { error: object; [member: string]: unknown }
    expect(refusal({ ...answer, text: JSON.stringify(problem) })).toBe('credential_missing')
    expect({ jsonrpc, id, error }).toEqual({
      jsonrpc: '2.0',
      id: null,
      error: {
        code: -32_001,
        message: expect.stringMatching(/^credential_missing: .*Present a credential/),
        data: { code: 'credential_missing', needs: 'credential', retryable: false },
      },
    })
  })

  test('a changed body, a replay and two credentials are refused', async () => {
    const bound = await issue('erin')
    const headers = {
      'content-type': 'application/json',
      ...(await bound.headersFor('POST', url.href, listTools.body)),
    }
    const code = async (more: object) =>
      (await rawRequest(app.origin, { ...listTools, headers, ...more })).json().code
    expect(await code({ body: listTools.body.replace('list', 'call') })).toBe('proof_invalid')
    expect(await code({})).not.toBe('proof_invalid')
    expect(await code({})).toBe('proof_replayed')
    expect(
      await code({ headers: { ...headers, 'x-service-credential': [bound.header, bound.header] } }),
    ).toBe('auth_ambiguous')
  })

  test('a call that is running when access ends is told so in its answer, and the next one is refused', async () => {
    const lost = await issue('frank')
    const caller = await connect(url, createFetch(lost))
    const running = new Promise<void>((resolve) => {
      begun = resolve
    })
    const answer = caller.call('endless')
    await running
    await site.revoke(lost)
    expect(await answer).toMatchObject({
      isError: true,
      _meta: { 'countersign/denial': { code: 'credential_revoked', needs: 'none' } },
    })
    expect(told.ended.at(-1)).toMatchObject({ name: 'AccessEnded', denial: { code: 'credential_revoked' } })
    await expect(caller.call('who')).rejects.toThrow(/credential_revoked/)
    await caller.close().catch(() => undefined)
  })

  test('a call to a tool that does not listen is cut off', async () => {
    const noise = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const [lost, kept] = [await issue('grace'), await issue('heidi')]
    let tell = (_end: string) => {}
    const cut = new Promise<string>((resolve) => {
      tell = resolve
    })
    /** Sees how the answer to the call ends, whatever the client above makes of it. */
    const listeningFetch = async (input: never, init: RequestInit) => {
      const isCall = String(init.body).includes('stubborn')
      const response = await createFetch(lost)(input, init).catch((error: unknown) => {
        if (isCall) tell('broken off')
        throw error
      })
      if (!isCall) return response
      const [one, other] = response.body?.tee() ?? []
      const end = new Response(other ?? null).text().then(
        () => 'whole',
        () => 'broken off',
      )
      end.then((how) => tell(`${response.status} ${how}`))
      return new Response(one ?? null, response)
    }
    const caller = await connect(url, listeningFetch as never)
    const other = await connect(url, createFetch(kept))
    const running = new Promise<void>((resolve) => {
      begun = resolve
    })
    caller.call('stubborn').catch(() => undefined)
    await running
    await site.revoke(lost)
    // What has not begun to answer is answered with the refusal; a stream that has begun ends,
    // though its tool never does.
    expect(['401 whole', '200 whole', '200 broken off', 'broken off']).toContain(await cut)
    expect(await other.call('who')).toMatchObject({ content: [{ text: JSON.stringify(kept.ppid) }] })
    await Promise.all([caller.close(), other.close()].map((closing) => closing.catch(() => undefined)))
    expect(noise).not.toHaveBeenCalled()
    noise.mockRestore()
  })
})

test('a tool without a guard in front has no credential to ask for', async () => {
  await expect(requireScope('orders:read', async (_context: unknown) => 'in')({})).rejects.toThrow(
    'no guard protects',
  )
  expect(() => getCredential({ http: { authInfo: { token: 'x', clientId: 'y', scopes: [] } } })).toThrow(
    TypeError,
  )
  expect(() => requireScope('not a scope', () => 'in')).toThrow(TypeError)
})

describe('a guarded MCP server whose access has ended', () => {
  const url = 'https://shop.example/mcp'
  const ask = async (credential: TestCredential, body = '{}') =>
    new Request(url, { method: 'POST', body, headers: await credential.headersFor('POST', url, body) })
  const gate = () => {
    let open = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    return { open, opened }
  }
  const open = async () => {
    const site = await createTestSite({ siteId: 'shop.example' })
    const credential = await site.issue({ user: 'alice', scope: 'orders:read' })
    return { site, guard: await site.guard(), credential }
  }

  test('I-1: starts no tool, however late a handler calls it', async () => {
    const { site, guard, credential } = await open()
    let ran = 0
    const tool = requireScope('orders:read', async (_context: unknown) => {
      ran++
      return { content: [] }
    })
    const [begun, revoked, over] = [gate(), gate(), gate()]
    let result: unknown
    const handler = {
      async fetch(_request: Request, { authInfo }: { authInfo: unknown }) {
        begun.open()
        await revoked.opened
        result = await tool({ http: { authInfo } })
        over.open()
        return Response.json(result)
      },
    }
    const answer = guardMcp(guard, handler, { scope: 'orders:read' })(await ask(credential))
    await begun.opened
    await site.revokeUser('alice')
    expect((await answer).status).toBe(401)
    revoked.open()
    await over.opened
    expect(ran).toBe(0)
    expect(result).toMatchObject({ isError: true })
    await site.close()
  })

  test('I-1: ends streams and tools also when the adapter is another copy than the guard', async () => {
    const { site, guard, credential } = await open()
    vi.resetModules()
    const copy = await import('../../src/adapters/mcp.ts')
    expect(copy.guardMcp).not.toBe(guardMcp)
    let ended: unknown
    const handler = {
      async fetch(_request: Request, { authInfo }: { authInfo: unknown }) {
        const tool = copy.requireScope('orders:read', (_context: unknown) => new Promise(() => {}))
        void tool({ http: { authInfo } }).then((result) => {
          ended = result
        })
        return new Response(
          new ReadableStream({
            start: (controller) => controller.enqueue(new TextEncoder().encode('open\n')),
          }),
        )
      },
    }
    const response = await copy.guardMcp(guard, handler, { scope: 'orders:read' })(await ask(credential))
    const text = response.text()
    await site.revokeUser('alice')
    expect(await text).toBe('open\n')
    expect(ended).toMatchObject({ isError: true })
    const tools = { scopes: {}, default: 'orders:read' }
    const other = await site.issue({ user: 'bob', scope: 'orders:read' })
    const guarded = copy.guardMcp(guard, handler, { scope: 'orders:read' }, { tools })
    expect((await guarded(await ask(other, 'no JSON'))).status).toBe(400)
    await site.close()
  })

  test('passes on an answer that is no instance of the global Response', async () => {
    const { site, guard, credential } = await open()
    const answer = new Response('the answer of another server')
    class OtherResponse extends Response {}
    vi.stubGlobal('Response', OtherResponse)
    expect(answer instanceof Response).toBe(false)
    const guarded = guardMcp(guard, { fetch: async () => answer }, { scope: 'orders:read' })
    const response = await guarded(await ask(credential))
    vi.unstubAllGlobals()
    expect(await response.text()).toBe('the answer of another server')
    await site.close()
  })
})
