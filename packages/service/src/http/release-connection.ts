import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { onTrackedClose } from './connections.ts'

/**
 * What Node keeps of the request on a connection. Not documented, so each part is used only if it
 * is there.
 */
interface Kept {
  parser?: { remove?: () => void; close?: () => void } | null
}

const OF_THE_SERVER = ['end', 'close', 'drain', 'timeout', 'error']

/**
 * Takes a connection whose answer has begun out of the hands of the web server, which will read no
 * more requests from it and keeps nothing of the one it had: a parser, the request and the answer
 * are five sixths of what a connection costs. It ends like any other connection. Not to be called
 * while the request is still being parsed.
 */
export function releaseConnection(response: ServerResponse, socket: Socket): void {
  const kept = socket as Kept
  socket.removeAllListeners('data')
  // A client that sends another request has mistaken this connection for another. Listening also
  // ends the parser's own way of reading.
  socket.on('data', destroy)
  for (const event of OF_THE_SERVER) socket.removeAllListeners(event)
  socket.on('close', onTrackedClose)
  socket.on('end', destroy)
  socket.on('error', destroy)
  socket.setTimeout(0)
  response.detachSocket(socket)
  const { parser } = kept
  if (typeof parser?.remove !== 'function' || typeof parser.close !== 'function') return
  kept.parser = null
  parser.remove()
  parser.close()
}

function destroy(this: Socket): void {
  this.destroy()
}
