import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { contentDigest, matchesDigest, parseContentDigest } from '../../src/holder/content-digest.ts'
import { BODY, toDigest } from './forged-proof.ts'

test('gives the digest of RFC 9530 for its example', async () => {
  expect(await contentDigest(BODY)).toBe('sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:')
})

test('is read back, alone, beside others and over several lines', async () => {
  const own = await contentDigest(BODY)
  const bytes = new Uint8Array(createHash('sha256').update(BODY).digest())
  for (const lines of [
    [own],
    [`${toDigest(BODY, 'sha-512')}, ${own}`],
    [own, 'unixsum=:AAAA:'],
    [` ${own}\t`],
  ])
    expect(parseContentDigest(lines)).toEqual(bytes)
})

test.each([
  ['none at all', []],
  ['another algorithm', [toDigest(BODY, 'sha-512')]],
  ['two', [toDigest(BODY), toDigest(BODY)]],
  ['one too short', ['sha-256=:AAAA:']],
  ['one too long', [toDigest(BODY, 'sha-512').replace('512', '256')]],
  ['a parameter', [`${toDigest(BODY)};a`]],
  ['a string', [toDigest(BODY).replaceAll(':', '"')]],
  ['a list', [toDigest(BODY).replace('=', '=(').concat(')')]],
  ['hexadecimal', [`sha-256=${createHash('sha256').update(BODY).digest('hex')}`]],
  ['capitals', [toDigest(BODY).replace('sha', 'SHA')]],
  ['the old Digest form', [toDigest(BODY).replaceAll(':', '')]],
  ['unused bits', [toDigest(BODY).replace('PE=', 'PF=')]],
])('is not read with %s', (_, lines) => expect(parseContentDigest(lines)).toBeUndefined())

test('belongs to its own bytes and to no others', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uint8Array({ maxLength: 64 }),
      fc.uint8Array({ maxLength: 64 }),
      async (one, other) => {
        const digest = parseContentDigest([await contentDigest(one)]) as Uint8Array
        expect(await matchesDigest(digest, one)).toBe(true)
        expect(await matchesDigest(digest, other)).toBe(Buffer.compare(one, other) === 0)
      },
    ),
  )
})

test('differs in every byte, and in its length', async () => {
  const digest = parseContentDigest([await contentDigest(BODY)]) as Uint8Array
  for (let i = 0; i < digest.length; i++)
    expect(
      await matchesDigest(
        digest.map((byte, at) => (at === i ? byte ^ 1 : byte)),
        BODY,
      ),
    ).toBe(false)
  expect(await matchesDigest(digest.slice(0, 31), BODY)).toBe(false)
  expect(await matchesDigest(Uint8Array.of(...digest, 0), BODY)).toBe(false)
  expect(await matchesDigest(new Uint8Array(), BODY)).toBe(false)
})
