import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { limits, parseRequestId } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import { Problem } from '../problem.ts'
import { findFieldLines } from './field-lines.ts'

/** A request as it arrived; nothing of it has been checked. */
export class RawRequest {
  readonly message: IncomingMessage
  readonly method: string
  /** Raw, undecoded. */
  readonly path: string
  /** '' or '?…', raw. */
  readonly query: string
  readonly requestId: string
  /** The address of the client, behind trusted proxies too. */
  readonly address: string
  /** Every field line of a lower-case name. */
  readonly lines: (name: string) => readonly string[] | undefined
  /** Arrival time, from the monotonic clock. */
  readonly startedMs: number
  /** How many bytes of the body have arrived. */
  bodyBytes = 0
  /** In how many pieces it arrived: packets, or chunks of the transfer coding. */
  bodyPieces = 0
  /** Set by the pipeline once the caller is authenticated; for the access log. */
  caller: Caller | undefined = undefined
  /** The same for a person in the console. */
  personId: string | undefined = undefined

  constructor(message: IncomingMessage, address: string, startedMs: number) {
    const url = message.url ?? '/'
    const mark = url.indexOf('?')
    this.message = message
    this.method = message.method ?? 'GET'
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark)
    this.lines = (name) => findFieldLines(message.rawHeaders, name)
    this.requestId = parseRequestId(findOnly(this.lines('x-request-id'))) ?? newRequestId()
    this.address = address
    this.startedMs = startedMs
  }
}

/** The only field line; undefined when there is none, or more than one. */
function findOnly(lines: readonly string[] | undefined): string | undefined {
  return lines?.length === 1 ? lines[0] : undefined
}

const PROCESS = randomBytes(9).toString('base64url')
let count = 0

/** Unique for every request of every process. It is not a secret. */
export function newRequestId(): string {
  count++
  return `${PROCESS}-${count.toString(36)}`
}

const VERSIONS = ['1.1', '1.0']

/** Rejects what is wrong at any endpoint: the version, the target, Host, the transfer coding. */
export function rejectMalformed({ message, lines }: RawRequest): void {
  // The parser accepts more, and a proxy in front may read those requests in another way.
  if (!VERSIONS.includes(message.httpVersion)) {
    const detail = 'The version of HTTP is not supported. Use HTTP/1.1.'
    throw new Problem('request_malformed', detail, { headers: { connection: 'close' } })
  }
  if ((message.url ?? '').length > limits.url_bytes_max) throw new Problem('uri_too_long')
  // RFC 9112 §3.2: a request target has no fragment. The router would leave it out.
  if (message.url?.includes('#'))
    throw new Problem(
      'request_malformed',
      'The request target contains #. Send the URL without its fragment.',
    )
  // RFC 9112 §3.2: a request of HTTP/1.1 without Host, or with two, is rejected.
  const hosts = lines('host')?.length ?? 0
  if (hosts > 1 || (hosts === 0 && message.httpVersion === '1.1')) {
    throw new Problem('request_malformed', 'The request does not have exactly one Host header. Send one.')
  }
  // RFC 9112 §6.1: where others may disagree about where the body ends, the connection must not be
  // used any further.
  const codings = lines('transfer-encoding')
  if (
    codings !== undefined &&
    (message.httpVersion !== '1.1' || findOnly(codings)?.toLowerCase() !== 'chunked')
  ) {
    const detail = 'The transfer coding is not supported. Use chunked, in HTTP/1.1.'
    throw new Problem('request_malformed', detail, { headers: { connection: 'close' } })
  }
}
