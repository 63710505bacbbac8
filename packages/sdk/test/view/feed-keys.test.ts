import { generatePrivateKey } from '@countersign/core'
import { beforeAll, describe, expect, test } from 'vitest'
import { createTestClock } from '../../src/testing/test-clock.ts'
import { createFeedKeys } from '../../src/view/feed-keys.ts'

const { signal } = new AbortController()
let multikeys: string[]
let p256: string
beforeAll(async () => {
  multikeys = await Promise.all([1, 2, 3].map(async () => (await generatePrivateKey('Ed25519')).publicKey.multikey))
  p256 = (await generatePrivateKey('P-256')).publicKey.multikey
})

const listing = (keys: Record<string, string | undefined>) => ({
  feed: { version: 1, keys: Object.entries(keys).map(([kid, public_key_multibase]) => ({ kid, public_key_multibase })) },
})

function keysBy(answers: (unknown | Error)[], pinned?: Record<string, string>) {
  const clock = createTestClock(0)
  let asked = 0
  const keys = createFeedKeys({
    pinned,
    clock,
    discovery: async () => {
      const answer = answers[Math.min(asked++, answers.length - 1)]
      if (answer instanceof Error) throw answer
      return answer
    },
  })
  return { clock, asked: () => asked, find: async (kid: string) => (await keys.find(kid, signal))?.multikey }
}

describe('the keys that sign for a log', () => {
  test('come from discovery at first contact, and are not asked for again', async () => {
    const { find, asked } = keysBy([listing({ a: multikeys[0], b: multikeys[1] })])
    expect(await find('a')).toBe(multikeys[0])
    expect(await find('b')).toBe(multikeys[1])
    expect(asked()).toBe(1)
  })

  test('are asked for once more when an unknown one has signed; what is no longer listed no longer counts', async () => {
    const { find, asked, clock } = keysBy([listing({ a: multikeys[0] }), listing({ b: multikeys[1] })])
    expect(await find('a')).toBe(multikeys[0])
    await clock.advance(10_000)
    expect(await find('b')).toBe(multikeys[1])
    expect(await find('a')).toBeUndefined()
    expect(asked()).toBe(2)
  })

  test('are not asked for again and again by whoever invents names', async () => {
    const { find, asked, clock } = keysBy([listing({ a: multikeys[0] })])
    await find('a')
    for (let i = 0; i < 50; i++) expect(await find(`invented-${i}`)).toBeUndefined()
    expect(asked()).toBe(1)
    await clock.advance(10_000)
    for (let i = 0; i < 50; i++) expect(await find(`invented-${i}`)).toBeUndefined()
    expect(asked()).toBe(2)
  })

  test('are asked for again at once when the answer was lost', async () => {
    const { find, asked } = keysBy([new Error('no answer'), listing({ a: multikeys[0] })])
    await expect(find('a')).rejects.toThrow('no answer')
    expect(await find('a')).toBe(multikeys[0])
    expect(asked()).toBe(2)
  })

  test('that are pinned count alone: nothing is ever asked', async () => {
    const { find, asked } = keysBy([listing({ b: multikeys[1] })], { a: multikeys[0] as string })
    expect(await find('a')).toBe(multikeys[0])
    expect(await find('b')).toBeUndefined()
    expect(asked()).toBe(0)
  })

  test('are Ed25519 keys; a listed one of another kind is passed over', async () => {
    const { find } = keysBy([listing({ a: p256, b: 'z6nothing', c: multikeys[2], d: undefined })])
    expect(await find('a')).toBeUndefined()
    expect(await find('b')).toBeUndefined()
    expect(await find('c')).toBe(multikeys[2])
  })

  test.each([null, [], {}, { feed: null }, { feed: { keys: {} } }, { feed: { keys: [null, 1] } }])('are none in %j', async (answer) => {
    expect(await keysBy([answer]).find('a')).toBeUndefined()
  })

  test.each([{}, { a: 'z6nothing' }])('cannot be pinned as %j', (pinned) => {
    expect(() => keysBy([], pinned as Record<string, string>)).toThrow(/feedKeys/)
  })
})
