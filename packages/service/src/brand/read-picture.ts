/** The facts that the first bytes of a picture state. */
export interface Picture {
  readonly type: 'image/png' | 'image/webp' | 'image/jpeg'
  readonly width: number
  readonly height: number
  readonly isAnimated: boolean
}

/**
 * Recognises a PNG, WebP or JPEG by its first bytes. Undefined for anything else, also for a file
 * that ends before it states its size.
 */
export function readPicture(bytes: Buffer): Picture | undefined {
  try {
    const found = readPng(bytes) ?? readWebp(bytes) ?? readJpeg(bytes)
    return found !== undefined && found.width > 0 && found.height > 0 ? found : undefined
  } catch (thrown) {
    // A header that points beyond the end.
    if (thrown instanceof RangeError) return undefined
    throw thrown
  }
}

const PNG = '89504e470d0a1a0a'

/** PNG §5.3: chunks of length, type, data and checksum. IHDR is the first one. */
function readPng(bytes: Buffer): Picture | undefined {
  if (bytes.toString('hex', 0, 8) !== PNG || name(bytes, 12) !== 'IHDR' || bytes.readUInt32BE(8) !== 13)
    return undefined
  let isAnimated = false
  for (let at = 8; ; at += 12 + bytes.readUInt32BE(at)) {
    const chunk = name(bytes, at + 4)
    if (chunk === 'acTL') isAnimated = true
    if (chunk !== 'IDAT') continue
    return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20), isAnimated }
  }
}

/** RFC 9649 §2: a RIFF file whose first chunk states the size. */
function readWebp(bytes: Buffer): Picture | undefined {
  if (name(bytes, 0) !== 'RIFF' || name(bytes, 8) !== 'WEBP') return undefined
  const still = { type: 'image/webp', isAnimated: false } as const
  const chunk = name(bytes, 12)
  if (chunk === 'VP8X') {
    const isAnimated = (bytes.readUInt8(20) & 0x02) !== 0
    return { ...still, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1, isAnimated }
  }
  if (chunk === 'VP8L' && bytes.readUInt8(20) === 0x2f) {
    const size = bytes.readUInt32LE(21)
    return { ...still, width: (size & 0x3fff) + 1, height: ((size >>> 14) & 0x3fff) + 1 }
  }
  if (chunk === 'VP8 ' && bytes.toString('hex', 23, 26) === '9d012a')
    return { ...still, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  return undefined
}

/** ITU-T T.81 §B.2: segments up to the frame header, which states the size. */
function readJpeg(bytes: Buffer): Picture | undefined {
  if (bytes.toString('hex', 0, 3) !== 'ffd8ff') return undefined
  for (let at = 2; ; at += 2 + bytes.readUInt16BE(at + 2)) {
    while (bytes.readUInt8(at) === 0xff && bytes.readUInt8(at + 1) === 0xff) at++
    const marker = bytes.readUInt8(at + 1)
    if (bytes.readUInt8(at) !== 0xff || marker < 0xc0 || marker === 0xda) return undefined
    const isFrame = marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (!isFrame) continue
    const [height, width] = [bytes.readUInt16BE(at + 5), bytes.readUInt16BE(at + 7)]
    return { type: 'image/jpeg', width, height, isAnimated: false }
  }
}

function name(bytes: Buffer, at: number): string {
  return bytes.toString('latin1', at, at + 4)
}
