import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** What a proxy between a client and the service does wrong. */
export interface Faults {
  /** Keeps what is streamed until it ends; with `first` it lets the first piece through. */
  readonly buffers?: 'all' | 'first'
  readonly dropsFromRequest?: readonly string[]
  readonly dropsFromAnswer?: readonly string[]
  /** Answers 400 with a page of its own when a header is longer. */
  readonly headerCharsMax?: number
  readonly dateAheadMs?: number
  /** By path: answers with this status in place of the service. */
  readonly answers?: Readonly<Record<string, number>>
  readonly setsRequestId?: string
}

export interface FaultProxy {
  readonly url: string
  /** The headers of each request. */
  readonly seen: readonly IncomingHttpHeaders[]
  close(): void
}

/** A reverse proxy on a free port that has exactly these faults. */
export async function openFaultProxy(target: string, faults: Faults): Promise<FaultProxy> {
  const { hostname, port } = new URL(target)
  const seen: IncomingHttpHeaders[] = []
  const server = createServer((incoming, outgoing) => {
    seen.push(incoming.headers)
    const page = pageInstead(incoming, faults)
    if (page !== undefined) {
      outgoing.writeHead(page, { 'content-type': 'text/html' }).end('<h1>Proxy</h1>')
      return
    }
    const headers: Record<string, string | string[] | undefined> = {
      ...incoming.headers,
      ...(faults.setsRequestId === undefined ? {} : { 'x-request-id': faults.setsRequestId }),
    }
    for (const name of faults.dropsFromRequest ?? []) delete headers[name]
    const passed = send(
      { hostname, port, method: incoming.method, path: incoming.url, headers },
      (answer) => {
        const shown = { ...answer.headers }
        for (const name of faults.dropsFromAnswer ?? []) delete shown[name]
        if (faults.dateAheadMs !== undefined)
          shown.date = new Date(Date.now() + faults.dateAheadMs).toUTCString()
        outgoing.writeHead(answer.statusCode ?? 502, shown)
        outgoing.flushHeaders()
        const isStream = String(shown['content-type']).startsWith('text/event-stream')
        if (isStream && faults.buffers === 'first') answer.once('data', (piece) => outgoing.write(piece))
        if (isStream && faults.buffers !== undefined)
          void buffer(answer).then(
            (all) => outgoing.end(all),
            () => outgoing.destroy(),
          )
        else answer.pipe(outgoing)
        answer.on('error', () => outgoing.destroy())
      },
    )
    passed.on('error', () => outgoing.destroy())
    outgoing.on('close', () => passed.destroy())
    incoming.pipe(passed)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function pageInstead(
  { url = '/', headers }: IncomingMessage,
  { answers = {}, headerCharsMax = Number.POSITIVE_INFINITY }: Faults,
) {
  if (Object.values(headers).some((value) => String(value).length > headerCharsMax)) return 400
  return answers[url.split('?')[0] ?? '']
}
