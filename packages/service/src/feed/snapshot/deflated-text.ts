import { promisify } from 'node:util'
import { constants, crc32, deflateRaw, inflateRaw } from 'node:zlib'

const deflate = promisify(deflateRaw)
const inflate = promisify(inflateRaw)

/**
 * Compressed text: raw DEFLATE blocks that end at a byte boundary. None of them is final, so that
 * such parts can be put one behind the other.
 */
export interface DeflatedText {
  readonly deflated: Uint8Array
  /** The length and the CRC-32 of the text. */
  readonly bytes: number
  readonly crc32: number
}

/** Ids do not compress, and the rest compresses well at any level. */
const LEVEL = 1

/** Compresses text outside of the event loop. */
export async function deflateText(text: Uint8Array): Promise<DeflatedText> {
  const deflated = await deflate(text, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH })
  return { deflated, bytes: text.length, crc32: crc32(text) }
}

/** Rejects when the text is longer than it should be, or when the blocks cannot be read. */
export async function inflateText({
  deflated,
  bytes,
}: Pick<DeflatedText, 'deflated' | 'bytes'>): Promise<Buffer> {
  if (bytes === 0) return Buffer.alloc(0)
  const text = await inflate(deflated, { maxOutputLength: bytes, finishFlush: constants.Z_SYNC_FLUSH })
  if (text.length !== bytes) throw new Error(`a compressed text has ${text.length} bytes and not ${bytes}`)
  return text
}
