import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { limits, parseRequestId } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import { Problem } from '../problem.ts'
import { fieldLines } from './field-lines.ts'

/** A request as it came, before anything about it is believed. */
export class Incoming {
  readonly raw: IncomingMessage
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
  /** When it came, on a clock that never runs back and says nothing of the time of day. */
  readonly startedMs: number
  /** What has arrived of the body. */
  bodyBytes = 0
  /** In how many pieces it arrived: packets, or chunks of the transfer coding. */
  bodyPieces = 0
  /** Once that is known. */
  caller: Caller | undefined = undefined

  constructor(raw: IncomingMessage, address: string, startedMs: number) {
    const url = raw.url ?? '/'
    const mark = url.indexOf('?')
    this.raw = raw
    this.method = raw.method ?? 'GET'
    this.path = mark < 0 ? url : url.slice(0, mark)
    this.query = mark < 0 ? '' : url.slice(mark)
    this.requestId = parseRequestId(raw.headers['x-request-id']) ?? newRequestId()
    this.address = address
    this.startedMs = startedMs
    this.lines = (name) => fieldLines(raw.rawHeaders, name)
  }
}

const PROCESS = randomBytes(9).toString('base64url')
let count = 0

/**
 * Different for every request of every process, and quickly made: it names a request and guards
 * nothing.
 */
export function newRequestId(): string {
  count++
  return `${PROCESS}-${count.toString(36)}`
}

/** What can be wrong with any request, whatever it is about. */
export function refuseUnfit({ raw, lines }: Incoming): void {
  if ((raw.url ?? '').length > limits.url_bytes_max) throw new Problem('uri_too_long')
  // RFC 9112 §3.2: a request of HTTP/1.1 without Host, or with two, is to be refused.
  const hosts = lines('host')?.length ?? 0
  if (hosts > 1 || (hosts === 0 && raw.httpVersion === '1.1')) {
    throw new Problem('request_malformed', 'The request must have exactly one Host header.')
  }
  // RFC 9112 §6.1: where others may disagree about where the body ends, the connection must not be
  // used any further.
  const coding = raw.headers['transfer-encoding']
  if (coding !== undefined && (raw.httpVersion !== '1.1' || coding.toLowerCase() !== 'chunked')) {
    const detail = 'The only transfer coding that this service understands is chunked, in HTTP/1.1.'
    throw new Problem('request_malformed', detail, { headers: { connection: 'close' } })
  }
}
