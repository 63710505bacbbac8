import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** One event of a feed on its way to a verifier. */
interface RelayedEvent {
  readonly kind: string
  // biome-ignore lint/suspicious/noExplicitAny: the relay looks into whatever the service sent.
  readonly data: any
  /** The event as it came, with the empty line behind it. */
  readonly text: string
}

/** What a relay changes. Whatever a member does not replace passes through unchanged. */
export interface Forgery {
  /** Gives the JSON that the verifier gets in place of the service's answer to a small request. */
  answer?(path: string, answered: unknown, sent: unknown): unknown
  /** Gives the text that the verifier gets in place of an event. */
  event?(event: RelayedEvent, write: (text: string) => void): string
  /**
   * Serves a feed itself: `refuse` answers 409 as if the cursor belonged to another log, a function
   * makes the text of a heartbeat that the relay sends every second. Undefined passes the request
   * on.
   */
  feed?(cursor: string): 'refuse' | (() => Promise<string>) | undefined
  /** Gives the lines that the verifier gets in place of a snapshot's. */
  snapshot?(lines: readonly string[]): readonly string[] | Promise<readonly string[]>
}

/**
 * A relay between a verifier and the service that is past TLS: it reads everything and can change
 * everything except signatures.
 */
export interface ForgingRelay {
  readonly url: string
  /** The relay forges from now on; without an argument it becomes honest. */
  become(forgery?: Forgery): void
  /** Ends every connection of a feed. */
  cut(): void
  close(): Promise<void>
}

export async function openForgingRelay(target: string, first: Forgery = {}): Promise<ForgingRelay> {
  let forgery = first
  const feeds = new Set<ServerResponse>()

  const pass = (
    incoming: IncomingMessage,
    body: Buffer,
    answer: (upstream: IncomingMessage) => void,
    failed: () => void,
  ) => {
    // Uncompressed, so that the relay can read what passes.
    const { host: _host, 'accept-encoding': _encoding, ...headers } = incoming.headers
    const upstream = request(`${target}${incoming.url}`, { method: incoming.method, headers }, answer)
    upstream.on('error', failed)
    incoming.on('close', () => upstream.destroy())
    upstream.end(body)
  }

  const relayFeed = (upstream: IncomingMessage, response: ServerResponse) => {
    response.writeHead(upstream.statusCode ?? 502, upstream.headers)
    feeds.add(response)
    response.on('close', () => feeds.delete(response))
    let rest = ''
    upstream.setEncoding('utf8')
    upstream.on('data', (text: string) => {
      const events = (rest + text).split(/(?<=\n\n)/)
      rest = events.at(-1)?.endsWith('\n\n') ? '' : (events.pop() ?? '')
      for (const event of events) response.write(forgedEvent(event, forgery, (more) => response.write(more)))
    })
    upstream.on('close', () => response.destroy())
  }

  const relayWhole = async (
    upstream: IncomingMessage,
    incoming: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ) => {
    const text = (await read(upstream)).toString('utf8')
    const path = (incoming.url ?? '').split('?')[0] ?? ''
    const { 'content-length': _length, 'transfer-encoding': _coding, ...headers } = upstream.headers
    const isSnapshot = path.endsWith('/snapshot') && upstream.statusCode === 200
    let sent = text
    if (isSnapshot && forgery.snapshot !== undefined)
      sent = `${(await forgery.snapshot(text.trimEnd().split('\n'))).join('\n')}\n`
    else if (!isSnapshot && forgery.answer !== undefined)
      sent = await forgedAnswer(path, text, body.toString('utf8'), forgery.answer)
    response.writeHead(upstream.statusCode ?? 502, headers).end(sent)
  }

  const server = createServer(async (incoming, response) => {
    response.on('error', () => {})
    const body = await read(incoming)
    const failed = () => response.destroy()
    const isFeed = /\/feed(\?|$)/.test(incoming.url ?? '')
    const own = isFeed ? forgery.feed?.(String(incoming.headers['last-event-id'])) : undefined
    if (own !== undefined) return serveFeed(own, response, feeds)
    pass(
      incoming,
      body,
      (upstream) => {
        upstream.on('error', failed)
        if (upstream.headers['content-type']?.startsWith('text/event-stream')) relayFeed(upstream, response)
        else relayWhole(upstream, incoming, body, response).catch(failed)
      },
      failed,
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    become(next = {}) {
      forgery = next
    },
    cut() {
      for (const response of feeds) response.destroy()
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function serveFeed(
  own: 'refuse' | (() => Promise<string>),
  response: ServerResponse,
  feeds: Set<ServerResponse>,
): void {
  if (own === 'refuse') {
    response.writeHead(409, { 'content-type': 'application/problem+json' }).end('{"code":"cursor_ahead"}')
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  feeds.add(response)
  const beat = () => own().then((text) => response.write(text))
  const beating = setInterval(() => void beat().catch(() => {}), 1000)
  beat().catch(() => {})
  response.on('close', () => {
    clearInterval(beating)
    feeds.delete(response)
  })
}

/** The text of an event as the service writes it. */
export function eventText(kind: string, data: { readonly epoch: string; readonly seq: number }): string {
  const id = kind === 'heartbeat' ? '' : `id: ${data.epoch}.${data.seq}\n`
  return `${id}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`
}

function forgedEvent(text: string, { event }: Forgery, write: (text: string) => void): string {
  const kind = /^event: (.*)$/m.exec(text)?.[1]
  const data = /^data: (.*)$/m.exec(text)?.[1]
  if (event === undefined || kind === undefined || data === undefined) return text
  return event({ kind, data: JSON.parse(data), text }, write)
}

async function forgedAnswer(
  path: string,
  answered: string,
  sent: string,
  answer: NonNullable<Forgery['answer']>,
): Promise<string> {
  try {
    const forged = await answer(path, JSON.parse(answered), sent === '' ? undefined : JSON.parse(sent))
    return forged === undefined ? answered : JSON.stringify(forged)
  } catch {
    return answered
  }
}

async function read(stream: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
