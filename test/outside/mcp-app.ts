/**
 * An MCP server behind the SDK's guard, alone in its process. It describes itself to OAuth clients,
 * so that these find their authorization server, and reports when its longest tool begins.
 */
import { createGuard } from '@countersign/sdk'
import { getAccessSignal, getCredential, guardMcp, protectedResource } from '@countersign/sdk/mcp'
import { serve } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { readForkOptions } from '../process/forked.ts'
import type { McpAppOptions, McpAppReport } from './mcp-app-process.ts'

const { baseUrl, siteId, apiKey, authorizationServer } = readForkOptions<McpAppOptions>()
const guard = createGuard({ baseUrl, siteId, apiKey, verifierId: 'mcp', onStateChange: () => {} })
const report = (what: McpAppReport) => process.send?.(what)
const say = (text: string) => ({ content: [{ type: 'text' as const, text }] })

function ordersServer(): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  server.registerTool('who', {}, async (context) => {
    const credential = getCredential(context)
    return say(credential.presented === 'jwt' ? credential.token.subject : credential.subject.ppid)
  })
  server.registerTool('order', {}, async () => say('ordered'))
  server.registerTool('watch', {}, async (context) => {
    const signal = getAccessSignal(context)
    report({ watch: 'begun' })
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return say(`ended: ${signal.reason.denial.code}`)
  })
  return server
}

await guard.ready()
// Its own address is part of what it says about itself, so it listens first.
let handle: (request: Request) => Promise<Response> = async () => new Response(null, { status: 503 })
serve({ fetch: (request) => handle(request), hostname: '127.0.0.1', port: 0 }, ({ port }) => {
  const url = `http://127.0.0.1:${port}/mcp`
  const resource = protectedResource({
    resource: url,
    authorizationServers: [authorizationServer],
    scopes: ['orders:read', 'orders:write'],
  })
  const tools = { scopes: { who: 'orders:read', watch: 'orders:read' }, default: 'orders:write' }
  handle = guardMcp(guard, createMcpHandler(ordersServer), { scope: 'orders:read' }, { resource, tools })
  report({ url })
})
