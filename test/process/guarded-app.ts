/**
 * An application, alone in its process: a route and a stream behind the SDK's guard. Takes what it
 * needs from the environment, says on which port it listens, and ends with its parent.
 */
import { createGuard, FAIL_OPEN } from '@countersign/sdk'
import { getAccessSignal, getCredential, requireCredential } from '@countersign/sdk/express'
import express, { type RequestHandler } from 'express'

const {
  BASE_URL = '',
  SITE_ID = '',
  API_KEY = '',
  VERIFIER_ID = '',
  STALENESS_SECONDS = '30',
  FAILS_OPEN,
} = process.env
const TICK_MS = 50

const guard = createGuard({
  baseUrl: BASE_URL,
  siteId: SITE_ID,
  apiKey: API_KEY,
  verifierId: VERIFIER_ID,
  maxStalenessSeconds: Number(STALENESS_SECONDS),
  onStateChange: () => {},
  ...(FAILS_OPEN === undefined ? {} : { [FAIL_OPEN]: true as const }),
})
const app = express()
app.get('/state', (_request, response) => {
  response.json(guard.state())
})
app.use(requireCredential(guard, { scope: 'orders:read' }) as unknown as RequestHandler)
app.get('/orders', (request, response) => {
  const credential = getCredential(request)
  const { subject, view } = credential
  const token = credential.presented === 'jwt' ? credential.token : undefined
  response.json({ ppid: subject.ppid, seq: view.seq, token })
})
app.get('/stream', (request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain' })
  const timer = setInterval(() => response.write('tick\n'), TICK_MS)
  response.write('tick\n')
  const end = () => {
    clearInterval(timer)
    response.end('ended\n')
  }
  getAccessSignal(request).addEventListener('abort', end, { once: true })
  response.once('close', () => clearInterval(timer))
})

await guard.ready()
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 })
})
process.once('disconnect', () => process.exit(0))
