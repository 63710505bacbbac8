import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { Running } from './server.ts'

/**
 * The floor of a broadcast: on a line from the one who tells, the line goes to all who listen, as
 * it is, in one loop. No HTTP, no store, nothing checked. A connection that first sends `L`
 * listens; the others tell.
 */
export async function servePlainSockets(): Promise<Running> {
  const listeners = new Set<Socket>()
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (first) => {
      if (first.toString('latin1').startsWith('L')) {
        listeners.add(socket)
        socket.once('close', () => listeners.delete(socket))
        socket.write('listening\n')
        return
      }
      const tell = (line: Buffer) => {
        for (const listener of listeners) listener.write(line)
        socket.write('told\n')
      }
      tell(first)
      socket.on('data', tell)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 8192, resolve))
  return {
    ready: { port: (server.address() as AddressInfo).port },
    async close() {
      for (const listener of listeners) listener.destroy()
      server.close()
    },
  }
}
