import { readFileSync } from 'node:fs'
import { createGuard } from '@countersign/sdk'
import { getCredential, requireCredential } from '@countersign/sdk/express'
import express from 'express'

const dev = JSON.parse(readFileSync(process.env.COUNTERSIGN_DEV ?? 'data/dev.json', 'utf8'))
const guard = createGuard({ baseUrl: dev.base_url, siteId: dev.site_id, apiKey: dev.site_key })

const app = express()
app.get('/orders', requireCredential(guard, { scope: 'orders:read' }), (request, response) => {
  response.json({ orders: ['tea'], caller: getCredential(request).subject.ppid })
})
const port = Number(process.env.PORT ?? 3000)
app.listen(port, '127.0.0.1', (error) => {
  if (error) throw error
  console.log(`listening on http://127.0.0.1:${port}`)
})
