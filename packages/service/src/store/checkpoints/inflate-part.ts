import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, deflateRaw, deflateRawSync, type InflateRaw, inflateRaw, inflateRawSync } from 'node:zlib'

/** A part of a DEFLATE stream: its last block is not final, and ends at a byte boundary. */
const finishFlush = constants.Z_SYNC_FLUSH

/** The least that zlib accepts. */
const PIECE_BYTES_MIN = 64

/**
 * A text that is known in this process only, in one final block with the fixed codes. The first
 * bits of such a block are not zero, so it is read correctly only at the place of a block.
 */
const PROBE = Buffer.from(randomUUID())
const PROBE_BLOCK = deflateRawSync(PROBE, { strategy: constants.Z_FIXED })

const deflate = promisify(deflateRaw)

/** Compresses a text so that other parts can follow it in the same stream. */
export function deflatePart(text: Uint8Array): Promise<Buffer> {
  return deflate(text, { finishFlush, chunkSize: Math.max(text.length, PIECE_BYTES_MIN) })
}

/**
 * The text of a stored part. Undefined for bytes that are damaged, that have more or less text than
 * `bytes`, or that other parts cannot follow: because they end the stream, or end inside a block or
 * a byte. Never needs more memory than that much text.
 */
export async function inflatePart(deflated: Uint8Array, bytes: number): Promise<Buffer | undefined> {
  const stream = toProbedStream(deflated)
  const read = await new Promise<Inflated | undefined>((resolve) => {
    inflateRaw(stream, toOptions(bytes), (fault, result) =>
      resolve(fault === null ? toInflated(result) : undefined),
    )
  })
  return removeProbe(read, stream, bytes)
}

/** The same at once, for transactions and for files that no service uses. */
export function inflatePartSync(deflated: Uint8Array, bytes: number): Buffer | undefined {
  const stream = toProbedStream(deflated)
  try {
    return removeProbe(toInflated(inflateRawSync(stream, toOptions(bytes))), stream, bytes)
  } catch {
    return undefined
  }
}

interface Inflated {
  readonly text: Buffer
  /** How many bytes belong to the stream. Those after its end do not. */
  readonly consumed: number
}

function toProbedStream(deflated: Uint8Array): Buffer {
  return Buffer.concat([deflated, PROBE_BLOCK])
}

function toOptions(bytes: number) {
  const maxOutputLength = bytes + PROBE.length
  // One piece for the whole text: many small ones take much longer.
  return { info: true, chunkSize: Math.max(maxOutputLength, PIECE_BYTES_MIN), maxOutputLength }
}

/** The types of Node do not know what `info` changes. */
function toInflated(result: unknown): Inflated {
  const { buffer, engine } = result as { buffer: Buffer; engine: InflateRaw }
  return { text: buffer, consumed: engine.bytesWritten }
}

/** Undefined when the text is not followed by the probe, or the stream by other bytes. */
function removeProbe(read: Inflated | undefined, stream: Buffer, bytes: number): Buffer | undefined {
  const isWhole =
    read?.consumed === stream.length &&
    read.text.length === bytes + PROBE.length &&
    read.text.subarray(bytes).equals(PROBE)
  return isWhole ? read.text.subarray(0, bytes) : undefined
}
