import { crc32, deflateSync } from 'node:zlib'

/** A PNG of one colour, with more chunks before its data if wanted. */
export function createPng(
  width = 8,
  height = 8,
  { colour = [10, 100, 72], before = [] }: { colour?: readonly number[]; before?: readonly Buffer[] } = {},
): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8)
  const line = Buffer.from([0, ...Array.from({ length: Math.min(width, 64) }, () => colour).flat()])
  const data = deflateSync(Buffer.concat(Array.from({ length: Math.min(height, 64) }, () => line)))
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    ...before,
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

export function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** The header of a WebP: `VP8 `, `VP8L` or `VP8X`. */
export function createWebp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number, flags = 0): Buffer {
  const data = Buffer.alloc(16)
  if (kind === 'VP8X') {
    data.writeUInt8(flags, 0)
    data.writeUIntLE(width - 1, 4, 3)
    data.writeUIntLE(height - 1, 7, 3)
  } else if (kind === 'VP8L') {
    data.writeUInt8(0x2f, 0)
    data.writeUInt32LE((width - 1) | ((height - 1) << 14), 1)
  } else {
    data.write('9d012a', 3, 'hex')
    data.writeUInt16LE(width, 6)
    data.writeUInt16LE(height, 8)
  }
  const head = Buffer.alloc(8)
  head.write(kind)
  head.writeUInt32LE(data.length, 4)
  const riff = Buffer.alloc(12)
  riff.write('RIFF')
  riff.writeUInt32LE(4 + head.length + data.length, 4)
  riff.write('WEBP', 8)
  return Buffer.concat([riff, head, data])
}

/** The first segments of a JPEG, with the frame header last. */
export function createJpeg(width: number, height: number): Buffer {
  const frame = Buffer.from('ffc0001108000000000301220002110103110100', 'hex')
  frame.writeUInt16BE(height, 5)
  frame.writeUInt16BE(width, 7)
  return Buffer.concat([
    Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex'),
    Buffer.from('ffffdb0003ff', 'hex'),
    frame,
    Buffer.from('ffda', 'hex'),
  ])
}

export const SVG = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><path d="M0 0h9v9z"/></svg>',
)
