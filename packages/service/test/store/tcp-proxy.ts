import { connect, createServer, type Socket } from 'node:net'

/** A wire that can be held, so that everything sent waits, or cut. */
export interface TcpProxy {
  readonly port: number
  hold(): void
  release(): void
  cut(): void
  close(): Promise<void>
}

/**
 * `target`: the port behind it, asked for again with every connection when it is a function.
 * `change`: what is written in place of the bytes of the client.
 */
export async function openProxy(
  target: number | (() => number),
  change = (bytes: Buffer): Buffer => bytes,
): Promise<TcpProxy> {
  const pairs = new Set<readonly [Socket, Socket]>()
  let isHeld = false
  const server = createServer((near) => {
    const far = connect(typeof target === 'function' ? target() : target, '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    for (const [from, to] of [pair, [far, near] as const]) {
      from.on('data', (bytes) => to.write(from === near ? change(bytes) : bytes))
      from.on('error', () => to.destroy())
      from.on('close', () => {
        to.destroy()
        pairs.delete(pair)
      })
      if (isHeld) from.pause()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const each = (what: (socket: Socket) => void) => {
    for (const pair of pairs) pair.forEach(what)
  }
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    hold() {
      isHeld = true
      each((socket) => socket.pause())
    },
    release() {
      isHeld = false
      each((socket) => socket.resume())
    },
    cut: () => each((socket) => socket.resetAndDestroy()),
    async close() {
      each((socket) => socket.destroy())
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
