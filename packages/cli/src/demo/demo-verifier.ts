import { createServer } from 'node:http'
import { credentialHeader } from '@countersign/core'
import { createGuard } from '@countersign/sdk'
import { getCredential, requireCredential } from '@countersign/sdk/express'
import type { DemoVerifier, DevFile } from '@countersign/service'

const VISIT_MS_MIN = 1500
const VISIT_MS_MAX = 6000

/**
 * Opens a small application with one protected route, on a free port of this machine. It follows
 * the log of the demo site, and calls its own route with the demo credential from time to time.
 * Rejects when its guard is not ready in time.
 */
export async function openDemoVerifier(dev: DevFile, verifierId: string): Promise<DemoVerifier> {
  const guard = createGuard({
    baseUrl: dev.base_url,
    siteId: dev.site_id,
    apiKey: dev.site_key,
    verifierId,
    onStateChange: () => {},
  })
  const protect = requireCredential(guard, { scope: 'orders:read' })
  const server = createServer((request, response) => {
    void protect(request, response, (fault) => {
      response.writeHead(fault === undefined ? 200 : 500, { 'content-type': 'application/json' })
      const body =
        fault === undefined ? { verifier: verifierId, caller: getCredential(request).subject.ppid } : {}
      response.end(`${JSON.stringify(body)}\n`)
    })
  })
  try {
    await guard.ready({ timeoutMs: 15_000 })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(0, '127.0.0.1', resolve)
    })
  } catch (fault) {
    await guard.close()
    throw fault
  }
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}/orders`
  const visits = startVisits(url, credentialHeader(dev.credential))
  return {
    verifierId,
    url,
    async close() {
      visits.stop()
      server.closeAllConnections()
      server.close()
      await guard.close()
    },
  }
}

/** Calls the route at irregular times, as people and agents do. */
function startVisits(url: string, header: string): { stop(): void } {
  let timer: NodeJS.Timeout
  const wait = () => {
    timer = setTimeout(visit, VISIT_MS_MIN + Math.random() * (VISIT_MS_MAX - VISIT_MS_MIN)).unref()
  }
  const visit = () => {
    const answer = fetch(url, { headers: { 'X-Service-Credential': header } })
    void answer.then(({ body }) => body?.cancel()).catch(() => {})
    wait()
  }
  wait()
  return { stop: () => clearTimeout(timer) }
}
