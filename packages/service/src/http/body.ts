import type { IncomingMessage } from 'node:http'
import { type CredentialBody, readCredentialBody } from '@countersign/core'
import { limits, parseParameters } from '@countersign/core/contract'
import { Problem } from '../problem.ts'
import type { RawRequest } from './raw-request.ts'
import type { MountedEndpoint } from './respond.ts'

/** The format of a body; `none` when there is no body. */
export type BodyForm = 'json' | 'form' | 'secevent' | 'none'

const BODY_FORMS: Readonly<Record<string, BodyForm>> = {
  'application/json': 'json',
  'application/x-www-form-urlencoded': 'form',
  'application/secevent+jwt': 'secevent',
}

const CHARSET = /^charset\s*=\s*(?:utf-8|"utf-8")$/

/**
 * The format of the body by its headers, before it is read. Throws `unsupported_media_type` or
 * `request_too_large`.
 */
export function requireBodyForm({ lines }: Pick<RawRequest, 'lines'>, endpoint: MountedEndpoint): BodyForm {
  const [length] = lines('content-length') ?? []
  const isEmpty = lines('transfer-encoding') === undefined && (length === undefined || length === '0')
  const contentType = lines('content-type')?.join(', ')
  const takesBody = endpoint.bodyTypes.length > 0
  if (isEmpty && (!takesBody || (endpoint.request.bodyOptional && contentType === undefined))) return 'none'
  if (!takesBody)
    throw new Problem(
      'unsupported_media_type',
      'This endpoint accepts no body. Send the request without one.',
    )
  const encoding = lines('content-encoding')?.join(', ')
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') {
    throw new Problem('unsupported_media_type', 'The body is compressed. Send it uncompressed.')
  }
  const mediaType = parseMediaType(contentType ?? '')
  if (mediaType === undefined || !endpoint.bodyTypes.includes(mediaType)) {
    throw new Problem(
      'unsupported_media_type',
      `Send the body as ${endpoint.bodyTypes.join(' or ')}, in UTF-8.`,
    )
  }
  if (Number(length ?? 0) > endpoint.bodyBytesMax) throw tooLarge(endpoint)
  return BODY_FORMS[mediaType] ?? 'none'
}

/**
 * The media type, if its only parameter is the charset UTF-8. Split at the semicolons, because a
 * regular expression with optional blanks would take quadratic time on 16 KiB of blanks.
 */
function parseMediaType(contentType: string): string | undefined {
  const parts = contentType.toLowerCase().split(';', 4)
  const [mediaType, charset = '', end = '', more] = parts.map((part) => part.trim())
  return end === '' && more === undefined && (charset === '' || CHARSET.test(charset)) ? mediaType : undefined
}

/**
 * Whether more of the body may follow than is worth reading: then the connection has to be closed
 * after a rejection. Node discards the rest of a short body and keeps the connection.
 */
export function hasLongBody({ complete, headers }: IncomingMessage): boolean {
  return (
    !complete &&
    (headers['transfer-encoding'] !== undefined ||
      Number(headers['content-length'] ?? 0) > limits.request_body_bytes_max)
  )
}

/**
 * All bytes of the body. Stops at the limit, whatever Content-Length says, and rejects with
 * `request_too_large`. Counts bytes and pieces in `raw` as they arrive, so that a rejected body is
 * counted too.
 */
export function readBody(
  raw: Pick<RawRequest, 'message' | 'bodyBytes' | 'bodyPieces'>,
  endpoint: MountedEndpoint,
): Promise<Uint8Array> {
  const { message } = raw
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    const done = () => {
      message.off('data', onData).off('end', onEnd).off('error', onCut).off('close', onCut)
    }
    const onData = (chunk: Uint8Array) => {
      raw.bodyBytes += chunk.length
      raw.bodyPieces++
      if (raw.bodyBytes <= endpoint.bodyBytesMax) {
        chunks.push(chunk)
        return
      }
      done()
      message.pause()
      reject(tooLarge(endpoint))
    }
    const onEnd = () => {
      done()
      resolve(chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks, raw.bodyBytes))
    }
    const onCut = () => {
      done()
      reject(new Problem('request_malformed', 'The body ended too early. Send all of it.'))
    }
    // Nothing more will come.
    if (message.destroyed) return onCut()
    message.on('data', onData).on('end', onEnd).on('error', onCut).on('close', onCut)
  })
}

function tooLarge({ bodyBytesMax }: MountedEndpoint): Problem {
  return new Problem('request_too_large', `The body has more than ${bodyBytesMax} bytes. Send a smaller one.`)
}

/** Parses JSON with the strict parser. The member `credential` is parsed as a credential too. */
export function parseJsonBody(bytes: Uint8Array): CredentialBody {
  const parsed = readCredentialBody(bytes)
  if ('code' in parsed) throw new Problem(parsed.code, parsed.detail)
  return parsed
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Parses a form. Throws when a parameter is repeated. */
export function parseFormBody(bytes: Uint8Array): Record<string, unknown> {
  return parseQuery(decodeText(bytes), [])
}

/** Throws `request_malformed` unless the body is UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new Problem('request_malformed', 'The body is not UTF-8. Send UTF-8.')
  }
}

/** Parses the parameters of a query or form; only those in `lists` may be repeated. */
export function parseQuery(text: string, lists: readonly string[]): Record<string, unknown> {
  // Before the parameters are decoded.
  if (hasMore(text, '&', limits.request_parameters_max - 1)) {
    throw new Problem(
      'request_malformed',
      `There are more than ${limits.request_parameters_max} parameters. Send fewer.`,
    )
  }
  const parsed = parseParameters(new URLSearchParams(text), lists)
  if (parsed === undefined)
    throw new Problem('request_malformed', 'A parameter was sent more than once. Send it once.')
  return parsed
}

/** Whether a text contains a letter more than `max` times. */
function hasMore(text: string, letter: string, max: number): boolean {
  let count = 0
  for (let at = text.indexOf(letter); at >= 0; at = text.indexOf(letter, at + 1))
    if (++count > max) return true
  return false
}
