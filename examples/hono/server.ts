import { addAbortListener } from 'node:events'
import { readFileSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'
import { type CredentialVariables, getAccessSignal, requireCredential } from '@countersign/sdk/hono'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { streamSSE } from 'hono/streaming'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const guard = createGuard({ baseUrl: dev.base_url, siteId: dev.site_id, apiKey: dev.site_key })
const orders = [{ id: 1, item: 'tea' }]

const app = new Hono<{ Variables: CredentialVariables }>()

app.get('/orders', requireCredential(guard, { scope: 'orders:read' }), (c) => {
  return c.json({ orders, caller: c.get('credential').subject.ppid })
})

app.post('/orders', requireCredential(guard, { scope: 'orders:write' }), async (c) => {
  const { item } = await c.req.json()
  const order = { id: orders.length + 1, item }
  orders.push(order)
  return c.json(order, 201)
})

app.get('/orders/live', requireCredential(guard, { scope: 'orders:read' }), (c) => {
  const ended = getAccessSignal(c)
  return streamSSE(c, async (stream) => {
    await stream.writeSSE({ data: JSON.stringify(orders) })
    await new Promise((resolve) => addAbortListener(ended, resolve))
  })
})

await guard.ready()
serve({ fetch: app.fetch, hostname: '127.0.0.1', port: Number(process.env.PORT ?? 3003) }, ({ port }) => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
