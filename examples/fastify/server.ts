import { addAbortListener } from 'node:events'
import { readFileSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'
import { getAccessSignal, getCredential, requireCredential } from '@countersign/sdk/fastify'
import Fastify from 'fastify'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const guard = createGuard({ baseUrl: dev.base_url, siteId: dev.site_id, apiKey: dev.site_key })
const orders = [{ id: 1, item: 'tea' }]

const app = Fastify()
// preParsing: there the body is still as it was sent.
const read = { preParsing: requireCredential(guard, { scope: 'orders:read' }) }
const write = { preParsing: requireCredential(guard, { scope: 'orders:write' }) }

app.get('/orders', read, async (request) => ({ orders, caller: getCredential(request).subject.ppid }))

app.post<{ Body: { item: string } }>('/orders', write, async (request, reply) => {
  const order = { id: orders.length + 1, item: request.body.item }
  orders.push(order)
  return reply.code(201).send(order)
})

app.get('/orders/live', read, (request, reply) => {
  const ended = getAccessSignal(request)
  reply.hijack()
  reply.raw.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
  reply.raw.write(`data: ${JSON.stringify(orders)}\n\n`)
  addAbortListener(ended, () => reply.raw.end(`event: ended\ndata: ${ended.reason.denial.code}\n\n`))
})

await guard.ready()
console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3002) })}`)
