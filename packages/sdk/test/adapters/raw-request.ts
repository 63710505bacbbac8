import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'

export interface RawAsk {
  readonly method?: string
  /** Path and query, sent as they are. */
  readonly path: string
  /** A list is sent as so many lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Uint8Array
  /** Sent in pieces and without Content-Length. */
  readonly chunked?: boolean
}

export interface RawAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  json(): Record<string, unknown>
}

/** A request as it is written down here: no client tidies headers up or joins them. */
export async function rawRequest(origin: string, ask: RawAsk): Promise<RawAnswer> {
  const response = await rawStream(origin, ask)
  let text = ''
  response.setEncoding('utf8')
  for await (const part of response) text += part
  return { status: response.statusCode ?? 0, headers: response.headers, text, json: () => JSON.parse(text) }
}

/** The same for answers that take their time. */
export function rawStream(
  origin: string,
  { method = 'GET', path, headers = {}, body, chunked = false }: RawAsk,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(origin)
    const length = body === undefined || chunked ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request({
      hostname,
      port,
      method,
      path,
      headers: { ...length, ...headers } as never,
      agent: false,
    })
    outgoing.once('response', resolve)
    outgoing.once('error', reject)
    if (body !== undefined && chunked) {
      const bytes = Buffer.from(body as never)
      const middle = Math.ceil(bytes.length / 2)
      // The empty one is not written: it would be an end.
      for (const part of [bytes.subarray(0, middle), bytes.subarray(middle)])
        if (part.length > 0) outgoing.write(part)
      if (bytes.length === 0) outgoing.setHeader('transfer-encoding', 'chunked')
      outgoing.end()
    } else outgoing.end(body)
  })
}
