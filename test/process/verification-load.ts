import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type { JsonObject } from '@countersign/core'

/** Clients that keep their connections and ask again as soon as they are answered. */
export interface VerificationLoad {
  /** Answers so far, by status. */
  readonly answers: ReadonlyMap<number, number>
  stop(): void
}

/**
 * Posts credentials that the service has never seen to the protected route, over so many kept
 * connections, in a closed loop. Each needs a signature check, and fails it. The connections all
 * begin at once, so that they fill the accept queue.
 */
export function startVerificationLoad(
  url: string,
  credential: JsonObject,
  connections: number,
): VerificationLoad {
  const { hostname, port } = new URL(url)
  const text = JSON.stringify(credential)
  const id = String(credential.id)
  const answers = new Map<number, number>()
  let isOver = false
  const request = () => {
    const unseen = text.replaceAll(id, `did:service:cred_${randomBytes(13).toString('hex')}`)
    const header = Buffer.from(unseen).toString('base64url')
    return `POST /api/protected/action HTTP/1.1\r\nHost: id.example\r\nX-Service-Credential: ${header}\r\nContent-Length: 0\r\n\r\n`
  }
  const sockets: Socket[] = []
  for (let i = 0; i < connections; i++) {
    const socket = connect(Number(port), hostname)
    let received = ''
    socket.on('connect', () => socket.write(request()))
    socket.on('error', () => {})
    socket.on('data', (data) => {
      received += data.toString('latin1')
      for (;;) {
        const end = received.indexOf('\r\n\r\n')
        if (end < 0) return
        const length = Number(/content-length: (\d+)/i.exec(received.slice(0, end))?.[1] ?? 0)
        if (received.length < end + 4 + length) return
        const status = Number(received.slice(9, 12))
        answers.set(status, (answers.get(status) ?? 0) + 1)
        received = received.slice(end + 4 + length)
        if (!isOver) socket.write(request())
      }
    })
    sockets.push(socket)
  }
  return {
    answers,
    stop() {
      isOver = true
      for (const socket of sockets) socket.destroy()
    },
  }
}
