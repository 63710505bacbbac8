import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { webhookBodySchema, webhookHeadersSchema, webhookTestBodySchema } from '@countersign/core/contract'
import { expect } from 'vitest'
import { certificate, certificateKey } from '../did-web/certificate.ts'

/** What a receiver was sent. */
export interface Received {
  readonly id: string
  readonly seq: number
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type AnswerOf = (request: IncomingMessage, response: ServerResponse, received: Received) => void

/** A receiver of webhooks, on this machine. */
export interface Receiver {
  readonly url: string
  readonly port: number
  readonly got: Received[]
  readonly seqs: () => readonly number[]
  readonly connections: () => number
  /** The most requests that were open at a time. */
  readonly most: () => number
  /** How it answers from now on: with a status, or in its own way. */
  answer(how: number | AnswerOf): void
  close(): Promise<void>
}

const open = new Set<Receiver>()

/** Closes all receivers that are still open. */
export async function closeReceivers(): Promise<void> {
  await Promise.all([...open].map((receiver) => receiver.close()))
}

export async function openReceiver(
  how: number | AnswerOf = 204,
  { tls = false, host = '127.0.0.1', port = 0 }: { tls?: boolean; host?: string; port?: number } = {},
): Promise<Receiver> {
  const got: Received[] = []
  const sockets = new Set<Socket>()
  let answering = how
  let connections = 0
  let running = 0
  let most = 0
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    most = Math.max(most, ++running)
    response.once('close', () => running--)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const received = receivedOf(request, Buffer.concat(chunks).toString('utf8'))
      got.push(received)
      if (typeof answering === 'number') response.writeHead(answering).end()
      else answering(request, response, received)
    })
  }
  const server: Server = tls
    ? createHttpsServer({ cert: certificate, key: certificateKey }, listener)
    : createServer(listener)
  server.on('connection', (socket: Socket) => {
    connections++
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((done, fail) => server.once('error', fail).listen(port, host, done))
  const { port: taken } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${taken}/in`,
    port: taken,
    got,
    seqs: () => got.map(({ seq }) => seq),
    connections: () => connections,
    most: () => most,
    answer(next) {
      answering = next
    },
    async close() {
      open.delete(receiver)
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    },
  }
  open.add(receiver)
  return receiver
}

/** Fails for anything that the contract does not know. */
function receivedOf(request: IncomingMessage, body: string): Received {
  const headers = request.headers as Record<string, string>
  expect(webhookHeadersSchema.safeParse(headers).error).toBeUndefined()
  const { method, url: path } = request
  const id = headers['webhook-id'] ?? ''
  if (webhookTestBodySchema.safeParse(JSON.parse(body)).success)
    return { id, seq: 0, method, path, headers, body }
  const parsed = webhookBodySchema.parse(JSON.parse(body))
  const { site_id, epoch, seq } = parsed.data
  expect(id).toBe(`${site_id}.${epoch}.${seq}`)
  return { id, seq, method, path, headers, body }
}
