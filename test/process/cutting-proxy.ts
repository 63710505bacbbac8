import { connect, createServer, type Socket } from 'node:net'

/**
 * How a connection ends, and when: after so many bytes towards the client, or so many milliseconds,
 * whichever comes first.
 */
export interface Cut {
  readonly how: 'reset' | 'end' | 'silence'
  readonly afterBytes: number
  readonly afterMs: number
}

/**
 * A wire on which connections end badly. `silence`: nothing more comes through, and neither side is
 * told.
 */
export interface CuttingProxy {
  readonly port: number
  /** Of each kind so far. */
  readonly made: Readonly<Record<Cut['how'], number>>
  /** Connections that will be cut, unless they end before. */
  readonly pending: number
  close(): Promise<void>
}

/** Only feeds are cut: a verifier that never gets its snapshot follows nothing. */
const ASKS_FOR_FEED = /^GET \/api\/sites\/[^/ ]+\/feed[ ?]/m

/**
 * `nextCut` is asked for every connection on which the feed is asked for, at that moment; undefined
 * leaves it alone.
 */
export async function openCuttingProxy(
  targetPort: number,
  nextCut: () => Cut | undefined,
): Promise<CuttingProxy> {
  const sockets = new Set<Socket>()
  const made = { reset: 0, end: 0, silence: 0 }
  let pending = 0

  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ port: targetPort, host: '127.0.0.1', noDelay: true })
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    let left = Number.POSITIVE_INFINITY
    let cut: Cut | undefined
    near.on('data', (bytes) => {
      far.write(bytes)
      if (cut !== undefined || !ASKS_FOR_FEED.test(bytes.toString('latin1'))) return
      cut = nextCut()
      if (cut === undefined) return
      left = cut.afterBytes
      pending++
      setTimeout(strike, cut.afterMs).unref()
    })
    near.on('close', () => {
      if (cut === undefined || left < 0) return
      left = -1
      pending--
    })
    const strike = () => {
      if (cut === undefined || left < 0) return
      left = -1
      pending--
      made[cut.how]++
      if (cut.how === 'reset') near.resetAndDestroy()
      // The last bytes still go out: the client sees an answer that simply stops.
      else if (cut.how === 'end') near.end()
      if (cut.how !== 'silence') far.destroy()
    }
    far.on('data', (bytes) => {
      if (left < 0) return
      near.write(bytes.subarray(0, Math.min(bytes.length, left)))
      left -= bytes.length
      if (left < 0) {
        left = 0
        strike()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    made,
    get pending() {
      return pending
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
