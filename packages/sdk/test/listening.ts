import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Listening {
  readonly origin: string
  readonly port: number
  close(): Promise<void>
}

/** A server on a free port of loopback. Closing it ends what is still open. */
export async function listening(listener: RequestListener | Server): Promise<Listening> {
  const server = typeof listener === 'function' ? createServer(listener) : listener
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise<void>((resolve) => {
        // Answers learn of it a turn after the server does.
        server.close(() => setImmediate(() => setImmediate(resolve)))
        server.closeAllConnections()
      }),
  }
}
