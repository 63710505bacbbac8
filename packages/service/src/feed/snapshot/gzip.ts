import { crc32 } from 'node:zlib'
import { combineCrc32 } from './crc32-combine.ts'
import { type DeflatedText, inflateText } from './deflated-text.ts'

/** Part of a text: short text as it is, and long text that was compressed before. */
export type TextPart = Uint8Array | DeflatedText

/** RFC 1952: DEFLATE, no flags, no time, an unknown system. */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
/** An empty final block. */
const FINAL_BLOCK = Buffer.from([3, 0])
const STORED_BYTES_MAX = 0xffff
/** Chunks are joined up to this size, so that a short text is one write. */
const JOINED_BYTES_MAX = 16 * 1024
/** Chunks are cut to this size, so that it shows early whether a client reads. */
const CHUNK_BYTES_MAX = 256 * 1024

/** The parts as one gzip member. Compresses nothing, and copies only short chunks. */
export function toGzip(parts: AsyncIterable<TextPart>): AsyncGenerator<Uint8Array> {
  return resize(toMember(parts))
}

/** The parts as text. */
export function toText(parts: AsyncIterable<TextPart>): AsyncGenerator<Uint8Array> {
  return resize(inflateParts(parts))
}

async function* toMember(parts: AsyncIterable<TextPart>): AsyncGenerator<Uint8Array> {
  let [crc, bytes] = [0, 0]
  yield HEADER
  for await (const part of parts) {
    const isShort = part instanceof Uint8Array
    const length = isShort ? part.length : part.bytes
    if (length === 0) continue
    if (isShort) yield* storedBlocks(part)
    else yield part.deflated
    crc = combineCrc32(crc, isShort ? crc32(part) : part.crc32, length)
    bytes += length
  }
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc)
  trailer.writeUInt32LE(bytes % 2 ** 32, 4)
  yield FINAL_BLOCK
  yield trailer
}

/** Blocks without compression, which begin and end at a byte boundary. */
function* storedBlocks(text: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < text.length; from += STORED_BYTES_MAX) {
    const bytes = text.subarray(from, from + STORED_BYTES_MAX)
    const header = Buffer.alloc(5)
    header.writeUInt16LE(bytes.length, 1)
    header.writeUInt16LE(~bytes.length & 0xffff, 3)
    yield header
    yield bytes
  }
}

async function* inflateParts(parts: AsyncIterable<TextPart>): AsyncGenerator<Uint8Array> {
  for await (const part of parts) yield part instanceof Uint8Array ? part : await inflateText(part)
}

/** Joins short chunks and cuts long ones. */
async function* resize(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let short: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of chunks) {
    if (bytes + chunk.length <= JOINED_BYTES_MAX) {
      short.push(chunk)
      bytes += chunk.length
      continue
    }
    if (bytes > 0) yield Buffer.concat(short, bytes)
    short = []
    bytes = 0
    for (let from = 0; from < chunk.length; from += CHUNK_BYTES_MAX)
      yield chunk.subarray(from, from + CHUNK_BYTES_MAX)
  }
  if (bytes > 0) yield Buffer.concat(short, bytes)
}
