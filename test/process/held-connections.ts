import { connect, type Socket } from 'node:net'

/** What a client can leave open: each is a way to keep a server waiting. */
export const heldKinds = [
  'a silent connection',
  'half a header',
  'half a body',
  'a reader that does not read',
] as const
export type HeldKind = (typeof heldKinds)[number]

const HOST = 'Host: id.example'
/** Together more than the buffers of both ends hold. */
const ANSWERS = 400

const SENT: Readonly<Record<HeldKind, string>> = {
  'a silent connection': '',
  'half a header': 'GET /heal',
  'half a body': `POST /api/auth/exchange-proof HTTP/1.1\r\n${HOST}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"credential"`,
  'a reader that does not read': `GET /openapi.json HTTP/1.1\r\n${HOST}\r\n\r\n`.repeat(ANSWERS),
}

/** Opens a connection of that kind and leaves it open. Resolves when the server has accepted it. */
export async function holdConnection(url: string, kind: HeldKind): Promise<Socket> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  await new Promise((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  // Without a listener for data nothing is read.
  if (SENT[kind] !== '') socket.write(SENT[kind])
  // Connections are accepted in order, so an answer on a later one means that this one has been
  // accepted.
  for (let i = 0; i < 2; i++)
    await (await fetch(`${url}/healthz`, { headers: { Connection: 'close' } })).text()
  return socket
}
