import { createServer } from 'node:http'
import type { Meters } from '../meters.ts'

export interface MetricsServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves GET /metrics to this machine only. Rejects when the port is taken. */
export async function openMetricsServer(meters: Meters, port: number): Promise<MetricsServer> {
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end()
      return
    }
    try {
      const text = await meters.text()
      response.writeHead(200, { 'content-type': meters.contentType, 'cache-control': 'no-store' }).end(text)
    } catch {
      response.writeHead(500).end()
    }
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Exclusive: the workers of one service have one each.
    server.listen({ host: '127.0.0.1', port, exclusive: true }, resolve)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
