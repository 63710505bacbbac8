import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, ListenOptions } from 'node:net'
import { limits } from '@countersign/core/contract'
import { keepShapes } from './keep-shapes.ts'
import { disableNodeDefaults, type OnClientError, serverOptions } from './server-limits.ts'

/** An idle connection is closed after this time. Proxies in front should use a shorter time. */
const KEEP_ALIVE_MS = 30_000

/** Passes every request to `onRequest`, and to `onClientError` what Node's parser cannot read. */
export function createServer(onRequest: RequestListener, onClientError: OnClientError): Server {
  const server = createHttpServer(serverOptions, onRequest)
  server.requestTimeout = limits.request_arrive_seconds_max * 1000
  server.keepAliveTimeout = KEEP_ALIVE_MS
  disableNodeDefaults(server)
  server.on('clientError', onClientError)
  return server
}

/**
 * Resolves with the port. Rejects when the port is taken. `localhost` is 127.0.0.1, also where the
 * system resolves the name to ::1 first: the addresses that the service prints are IPv4.
 */
export async function listen(server: Server, options: ListenOptions): Promise<number> {
  void keepShapes()
  server.listen(options.host === 'localhost' ? { ...options, host: '127.0.0.1' } : options)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** Stops accepting, and resolves when the last connection is closed. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
