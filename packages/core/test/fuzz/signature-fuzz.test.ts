import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { ed25519Point } from '../../src/proof/curves.ts'
import type { PublicKey } from '../../src/proof/keys.ts'
import { backends } from '../proof/backends.ts'
import { hex } from '../vectors.ts'
import { BASE, decodeNumber, encodePoint, L, LOW_ORDER, P, plus, times } from './edwards.ts'
import { fuzzSignatures } from './signature-fuzz.ts'

const verifiers = Object.fromEntries(backends.map((backend) => [backend.ed25519Library, backend.verify]))

test('A353: the libraries for Ed25519 give the same answers', async () => {
  const report = await fuzzSignatures({ count: 1400, seed: 20_261_116, verifiers })
  expect(report.disagreements).toEqual([])
  expect(report.answers.good?.rejected).toBe(0)
  const accepted = Object.entries(report.answers).filter(([, answers]) => answers.accepted > 0)
  expect(accepted.map(([kind]) => kind).sort()).toEqual(
    [
      'S and a multiple of L',
      'a key and a point of low order',
      'good',
      'R and a point of low order',
      'the key of another',
      'the R of another',
    ].sort(),
  )
})

test('A354: control arm: the equation alone accepts what the libraries must reject', {
  tags: 'long',
}, async () => {
  const verify = (key: PublicKey, data: Uint8Array, signature: Uint8Array) => {
    const point = ed25519Point(key.bytes)
    if (point === undefined || signature.length !== 64) return false
    const R = signature.subarray(0, 32)
    const hash = createHash('sha512').update(R).update(key.bytes).update(data).digest()
    const negative = { ...point, x: P - point.x, t: P - point.t }
    const sum = plus(
      times(BASE, decodeNumber(signature.subarray(32))),
      times(negative, decodeNumber(hash) % L),
    )
    return hex(encodePoint(sum)) === hex(R)
  }
  const report = await fuzzSignatures({ count: 140, seed: 1, verifiers: { ...verifiers, equation: verify } })
  expect(new Set(report.disagreements.map(({ kind }) => kind))).toEqual(
    new Set(['R of low order', 'S and a multiple of L', 'a key of low order']),
  )
})

test('the points of these tests have their orders', () => {
  const neutral = `01${'00'.repeat(31)}`
  expect(hex(encodePoint(times(BASE, L)))).toBe(neutral)
  expect(hex(encodePoint(BASE))).toBe(`58${'66'.repeat(31)}`)
  expect(LOW_ORDER.map((point) => hex(encodePoint(times(point, 8n))))).toEqual(Array(8).fill(neutral))
  expect(new Set(LOW_ORDER.map((point) => hex(encodePoint(point)))).size).toBe(8)
})
