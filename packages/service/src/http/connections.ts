import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The open connections of one or more servers. */
export interface Connections {
  track(server: Server): void
  /**
   * Call it when the servers stop accepting. Immediately destroys every connection that has no
   * complete request: silent ones, half a header, a body that is still to come. The others are
   * closed when they are answered, and destroyed after `msMax`. Resolves when none is left.
   */
  drain(msMax: number): Promise<void>
}

/** How often answered connections are looked for while the server stops. */
const SWEEP_MS = 20

/**
 * Node's own `close` waits for connections without a request, and stops the timers that would end
 * them.
 */
export function createConnections(): Connections {
  const open = new Set<Socket>()
  let isDraining = false
  let onEmpty = () => {}
  const forget = (socket: Socket) => {
    open.delete(socket)
    if (open.size === 0) onEmpty()
  }
  const onConnection = (socket: Socket) => {
    if (isDraining) {
      socket.destroy()
      return
    }
    open.add(socket)
    FORGET.set(socket, forget)
    socket.on('close', onTrackedClose)
  }

  return {
    track: (server) => void server.on('connection', onConnection),
    async drain(msMax) {
      isDraining = true
      const destroyIf = (isDone: (socket: Socket) => boolean) => {
        for (const socket of [...open]) if (isDone(socket)) socket.destroy()
      }
      destroyIf(isUnused)
      const sweeping = setInterval(() => destroyIf(isUnused), SWEEP_MS)
      const deadline = setTimeout(() => destroyIf(() => true), msMax)
      await new Promise<void>((resolve) => {
        onEmpty = resolve
        if (open.size === 0) resolve()
      })
      clearInterval(sweeping)
      clearTimeout(deadline)
    },
  }
}

/** By connection, so that `detachSocket` can add the listener again. */
const FORGET = new WeakMap<Socket, (socket: Socket) => void>()

/**
 * Listens on every tracked connection. Code that removes all listeners of a connection must add
 * this one again.
 */
export function onTrackedClose(this: Socket): void {
  FORGET.get(this)?.(this)
}

/**
 * Whether nothing is being answered on a connection. Node keeps the current response there,
 * undocumented; `detach-socket.ts` removes it from a feed. A connection whose last bytes
 * have been written closes by itself.
 */
function isUnused(socket: Socket): boolean {
  if (socket.writableEnded) return false
  const { _httpMessage: response } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return response == null || (!response.req.complete && !response.headersSent)
}
