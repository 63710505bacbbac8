import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DigestMemo } from '../../src/verify/digest-memo.ts'

const texts = fc.string({ maxLength: 5000, size: 'max' })

test('gives the digest of exactly the text it was kept under', () => {
  fc.assert(
    fc.property(
      fc.array(texts, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 64 }),
      (all, slots) => {
        const memo = new DigestMemo(slots)
        for (const text of all) {
          memo.keep(text, `digest of ${text}`)
          for (const other of all) expect([undefined, `digest of ${other}`]).toContain(memo.find(other))
        }
      },
    ),
    { numRuns: 50 },
  )
})

test('one character more, less or other is another text, wherever it stands', () => {
  const text = 'abcdefghij'.repeat(120)
  const memo = new DigestMemo(1)
  memo.keep(text, 'digest')
  expect(memo.find(text)).toBe('digest')
  for (let at = 0; at <= text.length; at++) {
    expect(memo.find(`${text.slice(0, at)}X${text.slice(at + 1)}`)).toBeUndefined()
    expect(memo.find(`${text.slice(0, at)}X${text.slice(at)}`)).toBeUndefined()
    if (at < text.length) expect(memo.find(text.slice(0, at) + text.slice(at + 1))).toBeUndefined()
  }
})

test('holds no more than it has slots for, and the newest of a slot', () => {
  const memo = new DigestMemo(4)
  const all = Array.from({ length: 100 }, (_, i) => `text number ${i} `.repeat(20))
  for (const text of all) memo.keep(text, text)
  expect(all.filter((text) => memo.find(text) !== undefined).length).toBeLessThanOrEqual(4)
  expect(memo.find(all.at(-1) as string)).toBe(all.at(-1))
})

test('a text that is too long to be held is not', () => {
  const memo = new DigestMemo(1)
  memo.keep('x'.repeat(4097), 'digest')
  expect(memo.find('x'.repeat(4097))).toBeUndefined()
  memo.keep('x'.repeat(4096), 'digest')
  expect(memo.find('x'.repeat(4096))).toBe('digest')
})

test('a new one knows nothing, of the empty text either', () => {
  expect(new DigestMemo(1).find('')).toBeUndefined()
})

test('what is cleared is gone (A236)', () => {
  const memo = new DigestMemo(4)
  memo.keep('some text', 'digest')
  memo.clear()
  expect(memo.find('some text')).toBeUndefined()
  memo.keep('some text', 'digest')
  expect(memo.find('some text')).toBe('digest')
})
