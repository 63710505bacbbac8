import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { canonicalJson } from '../../src/encoding/jcs.ts'
import { readJsonVector, readVector } from '../vectors.ts'

describe('RFC 8785: the files of the reference project', () => {
  test.each(['arrays', 'french', 'structures', 'unicode', 'values', 'weird'])(
    '%s.json gets its canonical form',
    (name) => {
      expect(canonicalJson(readJsonVector(`rfc8785/input/${name}.json`))).toBe(
        readVector(`rfc8785/output/${name}.json`).trimEnd(),
      )
    },
  )
})

describe('RFC 8785 appendix B: the published number sequence', () => {
  const count = Number(process.env.JCS_NUMBERS ?? 100_000)

  test(`spells the first ${count} numbers so that the text has the published SHA-256`, () => {
    const edges = readJsonVector<readonly string[]>('rfc8785/number-edges.json')
    const published = readJsonVector<Record<string, string>>('rfc8785/number-sha256.json')
    const numbers = numberSequence(edges)
    const hash = createHash('sha256')
    const found: Record<string, string> = {}
    let text = ''
    for (let line = 1; line <= count; line++) {
      const bits = numbers.next().value
      text += `${bits.toString(16)},${canonicalJson(toDouble(bits))}\n`
      if (line % 1000 !== 0) continue
      hash.update(text)
      text = ''
      if (published[line] !== undefined) found[line] = hash.copy().digest('hex')
    }
    const upTo = Object.entries(published).filter(([line]) => Number(line) <= count)
    expect(found).toEqual(Object.fromEntries(upTo))
    expect(Object.keys(found)).toContain(String(count))
  })
})

const cell = new DataView(new ArrayBuffer(8))

function toDouble(bits: bigint): number {
  cell.setBigUint64(0, bits)
  return cell.getFloat64(0)
}

const CONSECUTIVE_FROM = 0x0010000000000000n
const CONSECUTIVE = 2000n

/**
 * The edge cases, then 2000 doubles from the smallest normal one, then values from repeatedly
 * hashing 32 zero bytes.
 */
function* numberSequence(edges: readonly string[]): Generator<bigint, never> {
  for (const edge of edges) yield BigInt(`0x${edge}`)
  for (let i = 0n; i < CONSECUTIVE; i++) yield CONSECUTIVE_FROM + i
  for (let block: Buffer = Buffer.alloc(32); ; ) {
    block = createHash('sha256').update(block).digest()
    for (let at = 0; at < 32; at += 8) {
      const bits = block.readBigUInt64LE(at)
      const double = toDouble(bits)
      if (Number.isFinite(double) && double !== 0) yield bits
    }
  }
}
