import { executionAsyncResource } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { duplexPair } from 'node:stream'
import {
  beginVerification,
  credentialHeader,
  generatePrivateKey,
  issueCredential,
  type SiteId,
  SiteView,
} from '@countersign/core'
import { endpointList } from '@countersign/core/contract'
import { toDemand } from '../access/guard.ts'
import { LiveRevocationData } from '../log/live-revocation-data.ts'
import { toConsolePlace } from './console-place.ts'
import { createExchange, type Origin, toHolderRequest, toRouteRequest } from './exchange.ts'
import { RawRequest } from './raw-request.ts'
import { disableNodeDefaults, serverOptions } from './server-limits.ts'

const SITE = 'shop.example' as SiteId
const ISSUER = 'did:web:issuer.example'
const ORIGIN: Origin = { authority: SITE, scheme: 'http' }
/** Like the times of requests no whole number, because V8 stores whole numbers in another way. */
const AT_MS = 0.5

let kept: Promise<readonly object[]> | undefined

/**
 * Keeps one of each object alive that a request and the verification of a credential need, until
 * the process ends.
 *
 * When a process is idle for eight seconds, V8 collects all garbage, forgets the shapes of which no
 * object is left, and throws away the compiled code of 150 functions that name them; with these
 * objects, of 30. Each of the 1,500 new credentials after such a pause took 446 µs of processor
 * time, and takes 407 (docs/decisions/0106-what-a-request-costs.md).
 *
 * The service makes these objects itself, from its own request and its own credential: those of a
 * client would keep the credential of a user in memory. Never rejects.
 */
export function keepShapes(): Promise<readonly object[]> {
  // Without them the service only needs more time after a pause.
  kept ??= makeObjects().catch(() => [])
  return kept
}

async function makeObjects(): Promise<readonly object[]> {
  const { message, response } = await answerOne()
  const raw = new RawRequest(message, '', AT_MS)
  const [endpoint] = endpointList
  const exchange = createExchange(raw, endpoint as (typeof endpointList)[number], {})
  exchange.callerKnownAtMs = AT_MS
  const request = toRouteRequest(exchange, ORIGIN, toConsolePlace(`http://${SITE}`), {
    confirmCaller: () => Promise.resolve(),
    waitOutside: () => undefined,
    releaseWhile: (waiting) => waiting,
  })
  const demand = toDemand(
    { scope: [], nowMs: Date.now(), nonces: { consume: () => 'fresh' } },
    toHolderRequest(exchange, ORIGIN),
  )
  const data = new LiveRevocationData(new SiteView({ siteId: SITE }), () => AT_MS, AT_MS, undefined)
  const verification = beginVerification(await issueOne(), demand, data)
  return [await findTick(), message, response, raw, exchange, request, demand, data, ...verification]
}

/** A request, over a connection in memory, and its response. */
async function answerOne(): Promise<{ message: IncomingMessage; response: ServerResponse }> {
  const server = createServer(serverOptions)
  disableNodeDefaults(server)
  const [near, far] = duplexPair()
  server.emit('connection', near)
  far.resume()
  far.write(`POST / HTTP/1.1\r\nHost: ${SITE}\r\nContent-Length: 0\r\n\r\n`)
  const [message, response] = (await once(server, 'request')) as [IncomingMessage, ServerResponse]
  response.writeHead(200, ['content-type', 'application/json', 'content-length', '2'])
  response.end('{}')
  await once(response, 'close')
  near.destroy()
  return { message, response }
}

async function issueOne(): Promise<string> {
  const createdMs = Date.now()
  const grant = {
    credentialId: 'cred_00000000',
    ppid: 'did:service:ppid_00000000',
    siteId: SITE,
    scope: ['orders:read'],
    permissionId: 'perm_orders',
    validFromMs: createdMs,
    validUntilMs: createdMs + 1000,
  }
  const key = await generatePrivateKey('Ed25519')
  const signer = { issuer: ISSUER, verificationMethod: `${ISSUER}#key-1`, key, createdMs }
  return credentialHeader(await issueCredential(grant, signer))
}

/**
 * The object that Node makes for each `process.nextTick`. Node gives these objects members with
 * computed names, which V8 adds through its runtime once it has forgotten their shape: a warm
 * request took 135 µs instead of 117, until the process ended.
 */
function findTick(): Promise<object> {
  return new Promise((resolve) => process.nextTick(() => resolve(executionAsyncResource())))
}
