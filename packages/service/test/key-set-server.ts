import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Jwk } from './jwks.ts'

interface Answer {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Never ends its response. */
  readonly isSlow?: boolean
}

/** An OAuth issuer on this machine, whose documents the test decides on. */
export interface KeySetServer {
  readonly issuer: string
  readonly url: string
  /** What `/keys` answers. */
  keys: readonly Jwk[]
  /** The answers of other paths: a status, and a body that is sent as JSON unless it is text. */
  readonly answers: Map<string, Answer>
  /** The paths that were requested. */
  readonly requested: string[]
  close(): Promise<void>
}

export async function openKeySetServer(path = '', keys: readonly Jwk[] = []): Promise<KeySetServer> {
  const server: Server = createServer((request, response) => {
    const asked = request.url ?? ''
    opened.requested.push(asked)
    const found = opened.answers.get(asked)
    const standard: Answer = asked === '/keys' ? { body: { keys: opened.keys } } : { status: 404, body: {} }
    const { status = 200, headers = {}, body = '', isSlow = false } = found ?? standard
    if (isSlow) {
      response.writeHead(200, { 'content-type': 'application/json' }).write('{')
      return
    }
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const opened: KeySetServer = {
    issuer: `${url}${path}`,
    url,
    keys,
    answers: new Map(),
    requested: [],
    async close() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
  return opened
}
