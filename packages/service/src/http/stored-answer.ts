import { hash } from 'node:crypto'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import type { RouteAnswer } from '../answer.ts'
import type { RouteRequest } from '../route.ts'

/** An answer that is the same for every request: compressed once, with a strong ETag. */
export interface StoredAnswer {
  /** In the best encoding that the client accepts; 304 if the client has it already. */
  answer(lines: RouteRequest['lines']): RouteAnswer
}

type Encoding = 'br' | 'gzip' | 'identity'

/** Stores an answer whose body is text or bytes. */
export function storeAnswer({ body, headers, ...rest }: RouteAnswer): StoredAnswer {
  const whole = Buffer.from(body as string | Uint8Array)
  const digest = hash('sha256', whole, 'base64url').slice(0, 22)
  const bodies = new Map<Encoding, Buffer>([['identity', whole]])
  const isSmall = whole.length < COMPRESSED_BYTES_MIN
  return {
    answer(lines) {
      const encoding = isSmall ? 'identity' : chooseEncoding(lines('accept-encoding')?.join(',') ?? '')
      const etag = `"${digest}${encoding === 'identity' ? '' : `-${encoding}`}"`
      const all = {
        ...headers,
        etag,
        vary: headers?.vary === undefined ? 'accept-encoding' : `${headers.vary}, accept-encoding`,
      }
      if (matches(lines('if-none-match')?.join(',') ?? '', etag)) return { status: 304, headers: all }
      const known = bodies.get(encoding) ?? compress(whole, encoding)
      bodies.set(encoding, known)
      const encoded = encoding === 'identity' ? {} : { 'content-encoding': encoding }
      return { ...rest, headers: { ...all, ...encoded }, body: known }
    },
  }
}

/** Smaller bodies fit into one packet anyway. */
const COMPRESSED_BYTES_MIN = 512

/** Nearly as small as with the highest quality, in a tenth of its time. */
const BROTLI_QUALITY = 9

function compress(body: Buffer, encoding: Encoding): Buffer {
  if (encoding === 'gzip') return gzipSync(body, { level: 9 })
  return brotliCompressSync(body, {
    params: {
      [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_SIZE_HINT]: body.length,
    },
  })
}

/** RFC 9110 §12.5.3. Brotli is smaller, so it is preferred whatever the weights are. */
function chooseEncoding(accepted: string): Encoding {
  const isAccepted = (name: string) =>
    new RegExp(`(?:^|,)\\s*${name}\\s*(?:;(?!\\s*q=0(?:\\.0*)?\\s*(?:,|$))[^,]*)?(?:,|$)`, 'i').test(accepted)
  return isAccepted('br') ? 'br' : isAccepted('gzip') ? 'gzip' : 'identity'
}

/** RFC 9110 §13.1.2: compared weakly. */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === etag)
}

const STORED_MAX = 5000
const stored = new Map<string, StoredAnswer>()

/**
 * The stored answer with that key, which must name everything that the answer depends on. It is
 * created at the first request.
 */
export function findStored(key: string, create: () => RouteAnswer): StoredAnswer {
  const known = stored.get(key)
  if (known !== undefined) return known
  if (stored.size >= STORED_MAX) stored.clear()
  const created = storeAnswer(create())
  stored.set(key, created)
  return created
}
