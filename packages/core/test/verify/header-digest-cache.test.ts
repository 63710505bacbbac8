import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeaderDigestCache } from '../../src/verify/header-digest-cache.ts'
import { issue, newParty, shown } from '../sample.ts'

const texts = fc.string({ maxLength: 5000, size: 'max' })

test('gives the digest of exactly the text it was kept under', () => {
  fc.assert(
    fc.property(
      fc.array(texts, { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 64 }),
      (all, slots) => {
        const cache = new HeaderDigestCache(slots)
        for (const text of all) {
          cache.set(text, `digest of ${text}`)
          for (const other of all) expect([undefined, `digest of ${other}`]).toContain(cache.find(other))
        }
      },
    ),
    { numRuns: 50 },
  )
})

test('one character more, less or other is another text, wherever it stands', () => {
  const text = 'abcdefghij'.repeat(120)
  const cache = new HeaderDigestCache(1)
  cache.set(text, 'digest')
  expect(cache.find(text)).toBe('digest')
  for (let at = 0; at <= text.length; at++) {
    expect(cache.find(`${text.slice(0, at)}X${text.slice(at + 1)}`)).toBeUndefined()
    expect(cache.find(`${text.slice(0, at)}X${text.slice(at)}`)).toBeUndefined()
    if (at < text.length) expect(cache.find(text.slice(0, at) + text.slice(at + 1))).toBeUndefined()
  }
})

test('texts that differ in one character, and so may have the same slots, never share a digest', () => {
  const text = 'abcdefghij'.repeat(120)
  const cache = new HeaderDigestCache(64)
  for (let at = 0; at < text.length; at++) {
    const other = `${text.slice(0, at)}X${text.slice(at + 1)}`
    cache.set(text, 'digest')
    cache.set(other, 'other digest')
    expect(cache.find(other)).toBe('other digest')
    expect([undefined, 'digest']).toContain(cache.find(text))
  }
})

test('holds no more than it has slots for, and the newest of a slot', () => {
  const cache = new HeaderDigestCache(4)
  const all = Array.from({ length: 100 }, (_, i) => `text number ${i} `.repeat(20))
  for (const text of all) cache.set(text, text)
  expect(all.filter((text) => cache.find(text) !== undefined).length).toBeLessThanOrEqual(4)
  expect(cache.find(all.at(-1) as string)).toBe(all.at(-1))
})

test('a thousand texts that are sent in turn do not displace each other', () => {
  const cache = new HeaderDigestCache(2048)
  const all = Array.from({ length: 1000 }, (_, i) => `${(i * 7919) % 1000} `.padStart(900, `text ${i} `))
  const sendAll = () =>
    all.filter((text) => {
      const isKnown = cache.find(text) === text
      if (!isKnown) cache.set(text, text)
      return isKnown
    }).length
  for (let round = 0; round < 20; round++) sendAll()
  // With one slot for each text it would be about 610.
  expect(sendAll()).toBeGreaterThan(900)
})

// Each instance reads other characters: a few of the signature, and many that are the same in all
// credentials.
test('nor do a thousand credentials of one issuer, wherever the characters are that are read', async () => {
  const issuer = await newParty()
  const all: string[] = []
  while (all.length < 1000) all.push(shown(await issue(issuer)).header)
  for (let instance = 0; instance < 60; instance++) {
    const cache = new HeaderDigestCache(2048)
    const isKnown = (text: string) => cache.find(text) === text
    for (let round = 0; round < 10; round++) for (const text of all) if (!isKnown(text)) cache.set(text, text)
    expect(all.filter(isKnown).length).toBeGreaterThan(900)
  }
})

test('a text that is set again stays in its slot', () => {
  const cache = new HeaderDigestCache(2)
  for (let i = 0; i < 20; i++) {
    cache.set('some text', `digest ${i}`)
    expect(cache.find('some text')).toBe(`digest ${i}`)
  }
})

test('a text that is too long to be held is not', () => {
  const cache = new HeaderDigestCache(1)
  cache.set('x'.repeat(4097), 'digest')
  expect(cache.find('x'.repeat(4097))).toBeUndefined()
  cache.set('x'.repeat(4096), 'digest')
  expect(cache.find('x'.repeat(4096))).toBe('digest')
})

test('a new one knows nothing, of the empty text either', () => {
  expect(new HeaderDigestCache(1).find('')).toBeUndefined()
})

test('what is cleared is gone (A236)', () => {
  const cache = new HeaderDigestCache(4)
  cache.set('some text', 'digest')
  cache.clear()
  expect(cache.find('some text')).toBeUndefined()
  cache.set('some text', 'digest')
  expect(cache.find('some text')).toBe('digest')
})
