import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { crc32, gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { combineCrc32 } from '../../../src/feed/snapshot/crc32-combine.ts'
import { deflateText, inflateText } from '../../../src/feed/snapshot/deflated-text.ts'
import { type TextPart, toGzip, toText } from '../../../src/feed/snapshot/gzip.ts'

const run = promisify(execFile)

async function join(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return Buffer.concat(all)
}

/** Some parts are compressed before, others are not. */
async function* toParts(texts: readonly (readonly [Uint8Array, boolean])[]): AsyncGenerator<TextPart> {
  for (const [text, isDeflated] of texts) yield isDeflated ? await deflateText(text) : text
}

/** Short texts, and texts that are longer than a block and than a chunk that is joined. */
const text = fc.oneof(
  fc.uint8Array({ maxLength: 100 }),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.integer({ min: 1, max: 3000 }))
    .map(([bytes, times]) => Buffer.concat(Array(times).fill(bytes))),
)
const texts = fc.array(fc.tuple(text, fc.boolean()), { maxLength: 8 })

it('combines the CRC-32 of two texts as zlib computes it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), fc.uint8Array({ maxLength: 5000 }), (one, other) => {
      expect(combineCrc32(crc32(one), crc32(other), other.length)).toBe(crc32(Buffer.concat([one, other])))
    }),
  )
  // Lengths beyond 32 bits: 2^33 zero bytes behind a text are two times 2^32 of them.
  const [first, zeros] = [crc32('a text'), crc32(Buffer.alloc(2 ** 20))]
  let gibibyte = zeros
  for (let bytes = 2 ** 20; bytes < 2 ** 32; bytes *= 2) gibibyte = combineCrc32(gibibyte, gibibyte, bytes)
  const twice = combineCrc32(combineCrc32(first, gibibyte, 2 ** 32), gibibyte, 2 ** 32)
  expect(combineCrc32(first, combineCrc32(gibibyte, gibibyte, 2 ** 32), 2 ** 33)).toBe(twice)
})

it('makes one gzip member that other readers accept, and the same text without gzip', async () => {
  await fc.assert(
    fc.asyncProperty(texts, async (all) => {
      const whole = Buffer.concat(all.map(([bytes]) => bytes))
      const gzip = await join(toGzip(toParts(all)))
      expect(gunzipSync(gzip).equals(whole)).toBe(true)
      expect(gzip.readUInt32LE(gzip.length - 8)).toBe(crc32(whole))
      expect(gzip.readUInt32LE(gzip.length - 4)).toBe(whole.length)
      expect((await join(toText(toParts(all)))).equals(whole)).toBe(true)
    }),
  )
})

it('makes something that is rejected when a part has other bytes than its CRC-32 says (control)', async () => {
  const part = await deflateText(Buffer.from('right'))
  const wrong = { ...(await deflateText(Buffer.from('wrong'))), crc32: part.crc32 }
  const gzip = async (bad: TextPart) =>
    join(
      toGzip(
        (async function* () {
          yield bad
        })(),
      ),
    )
  expect(gunzipSync(await gzip(part)).toString()).toBe('right')
  const member = await gzip(wrong)
  expect(() => gunzipSync(member)).toThrow(/check/)
})

it('is decoded by fetch and by curl', async () => {
  const lines = Array.from({ length: 20_000 }, (_, i) => Buffer.from(`{"line":${i}}\n`))
  const all = [Buffer.from('{"first":1}\n'), Buffer.concat(lines), Buffer.from('{"last":1}\n')]
  const whole = Buffer.concat(all).toString()
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    const parts = toParts(all.map((bytes, i) => [bytes, i === 1] as const))
    join(toGzip(parts)).then((bytes) => response.end(bytes))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  try {
    expect(await (await fetch(url)).text()).toBe(whole)
    const seen = await run('curl', ['-sS', '--compressed', url], { maxBuffer: 2 ** 24 }).catch(
      (fault: NodeJS.ErrnoException) => {
        if (fault.code !== 'ENOENT') throw fault
        return undefined
      },
    )
    if (seen !== undefined) expect(seen.stdout).toBe(whole)
  } finally {
    server.close()
  }
})

it('inflates no more than was stated', async () => {
  const part = await deflateText(Buffer.alloc(1_000_000))
  await expect(inflateText({ ...part, bytes: 999_999 })).rejects.toThrow()
  await expect(inflateText({ ...part, bytes: 1_000_001 })).rejects.toThrow(/bytes/)
  expect((await inflateText(part)).length).toBe(1_000_000)
})
