import { addAbortListener } from 'node:events'
import { readFileSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'
import { getAccessSignal, getCredential, requireCredential } from '@countersign/sdk/express'
import express from 'express'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const guard = createGuard({ baseUrl: dev.base_url, siteId: dev.site_id, apiKey: dev.site_key })
const orders = [{ id: 1, item: 'tea' }]

const app = express()

app.get('/orders', requireCredential(guard, { scope: 'orders:read' }), (request, response) => {
  response.json({ orders, caller: getCredential(request).subject.ppid })
})

// The guard first: then it sees the bytes that were signed, and the parser can still read them.
app.post(
  '/orders',
  requireCredential(guard, { scope: 'orders:write' }),
  express.json(),
  (request, response) => {
    const order = { id: orders.length + 1, item: String(request.body.item) }
    orders.push(order)
    response.status(201).json(order)
  },
)

app.get('/orders/live', requireCredential(guard, { scope: 'orders:read' }), (request, response) => {
  const ended = getAccessSignal(request)
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  response.write(`data: ${JSON.stringify(orders)}\n\n`)
  addAbortListener(ended, () => response.end(`event: ended\ndata: ${ended.reason.denial.code}\n\n`))
})

// Without this the first request would wait for it.
await guard.ready()
const server = app.listen(Number(process.env.PORT ?? 3001), '127.0.0.1', (error) => {
  if (error) throw error
  const { port } = server.address() as { port: number }
  console.log(`listening on http://127.0.0.1:${port}`)
})
