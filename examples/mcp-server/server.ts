import { readFileSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'
import { getCredential, guardMcp, requireScope } from '@countersign/sdk/mcp'
import { serve } from '@hono/node-server'
import { createMcpHandler, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const guard = createGuard({ baseUrl: dev.base_url, siteId: dev.site_id, apiKey: dev.site_key })
const orders = ['tea']

function ordersServer(): McpServer {
  const server = new McpServer({ name: 'orders', version: '1.0.0' })
  server.registerTool('list_orders', { description: 'All orders.' }, async (context) => ({
    content: [
      { type: 'text', text: `${orders.join(', ')} (asked by ${getCredential(context).subject.ppid})` },
    ],
  }))
  const order = fromJsonSchema<{ item: string }>({
    type: 'object',
    properties: { item: { type: 'string' } },
    required: ['item'],
  })
  server.registerTool(
    'place_order',
    { description: 'Orders an item. Needs the scope orders:write.', inputSchema: order },
    requireScope('orders:write', async ({ item }) => {
      orders.push(item)
      return { content: [{ type: 'text', text: `ordered ${item}` }] }
    }),
  )
  return server
}

// A caller that may not read orders cannot even connect.
const fetch = guardMcp(guard, createMcpHandler(ordersServer), { scope: 'orders:read' })

await guard.ready()
serve({ fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3004) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}/mcp`)
})
