import {
  type FeedKeyStatement,
  feedKeySha256,
  formatTime,
  generatePrivateKey,
  signFeedKeyStatement,
} from '@countersign/core'
import { beforeEach, describe, expect, test } from 'vitest'
import { createFeedKeys } from '../../src/feed/feed-keys.ts'
import { createTestClock, rest, type TestClock } from '../../src/testing/test-clock.ts'
import { createTestFeedKeys, type FeedKey, type TestFeedKeys } from '../../src/testing/test-feed-keys.ts'

const { signal } = new AbortController()
const HOUR = 3_600_000
let clock: TestClock
let own: TestFeedKeys
beforeEach(async () => {
  clock = createTestClock(Date.UTC(2026, 10, 14, 12))
  own = await createTestFeedKeys(clock.nowMs)
})

const listing = (chain: readonly FeedKeyStatement[]) => ({ feed: { version: 1, keys: [], chain } })
const toPin = ({ kid, key }: FeedKey) => ({ [kid]: key.publicKey.multikey })
const toHashPin = async ({ key }: FeedKey) => `sha256:${await feedKeySha256(key.publicKey)}`
const rotate = (options?: { compromised?: boolean }) => own.rotate(clock.nowMs, options)

/** `answer` is what discovery says at the moment. */
function keysBy(answer: () => unknown = () => listing(own.chain), pinned?: Record<string, string>) {
  let asked = 0
  const keys = createFeedKeys({
    pinned,
    clock,
    discovery: async () => {
      asked++
      const said = answer()
      if (said instanceof Error) throw said
      return said
    },
  })
  return {
    asked: () => asked,
    isTrusted: async ({ kid, key }: FeedKey) => {
      const found = await keys.find(kid, signal)
      if (found !== undefined) expect(found.multikey).toBe(key.publicKey.multikey)
      return found !== undefined
    },
    problem: () => keys.problem?.code,
  }
}

/** A statement that is right in everything but what is given. */
async function statement(
  key: FeedKey,
  previous: FeedKey | undefined,
  changes: Partial<FeedKeyStatement> = {},
  signers = { key, previous },
) {
  const fields = {
    kid: key.kid,
    public_key_multibase: key.key.publicKey.multikey,
    next_sha256: '0'.repeat(64),
    previous_kid: previous?.kid ?? null,
    previous_compromised: false,
    at: formatTime(clock.nowMs),
    ...changes,
  }
  return signFeedKeyStatement(fields, signers.key.key, signers.previous?.key)
}
const newKey = async (kid: string): Promise<FeedKey> => ({ kid, key: await generatePrivateKey('Ed25519') })

describe('without pins', () => {
  test('the first answer of discovery is trusted, and is not asked for again at once', async () => {
    const { isTrusted, asked, problem } = keysBy()
    expect(await isTrusted(own.current)).toBe(true)
    expect(await isTrusted(own.current)).toBe(true)
    expect(asked()).toBe(1)
    expect(problem()).toBeUndefined()
  })

  test('A254 keys that were swapped in discovery later are rejected, reported and never accepted', async () => {
    const foreign = await createTestFeedKeys(clock.nowMs)
    let answer = own.chain
    const { isTrusted, problem } = keysBy(() => listing(answer))
    expect(await isTrusted(own.current)).toBe(true)
    answer = foreign.chain
    for (let i = 0; i < 10; i++) {
      await clock.advance(10_000)
      expect(await isTrusted(foreign.current)).toBe(false)
      expect(problem()).toBe('feed_key_untrusted')
      expect(await isTrusted(own.current)).toBe(true)
      expect(problem()).toBeUndefined()
    }
    await foreign.rotate(clock.nowMs)
    answer = [...own.chain, ...foreign.chain]
    await clock.advance(10_000)
    expect(await isTrusted(foreign.current)).toBe(false)
  })

  test('control: before first contact, the same answer is believed', async () => {
    const foreign = await createTestFeedKeys(clock.nowMs)
    const { isTrusted } = keysBy(() => listing(foreign.chain))
    expect(await isTrusted(foreign.current)).toBe(true)
    expect(await isTrusted(own.current)).toBe(false)
  })

  test('a rotation is followed, over several keys at once too, up to 16', async () => {
    const { isTrusted } = keysBy()
    expect(await isTrusted(own.current)).toBe(true)
    for (const steps of [1, 3, 15]) {
      for (let i = 0; i < steps; i++) await rotate()
      await clock.advance(10_000)
      expect(await isTrusted(own.current)).toBe(true)
    }
  })

  test('a guard that is more than 16 rotations behind finds no way, and says so', async () => {
    const { isTrusted, problem } = keysBy()
    expect(await isTrusted(own.current)).toBe(true)
    for (let i = 0; i < 17; i++) await rotate()
    await clock.advance(10_000)
    expect(await isTrusted(own.current)).toBe(false)
    expect(problem()).toBe('feed_key_untrusted')
  })

  const forged: [string, (stolen: FeedKey, mine: FeedKey) => Promise<readonly FeedKeyStatement[]>][] = [
    ['names another successor', async (stolen, mine) => [await statement(mine, stolen)]],
    [
      'states itself again with another commitment',
      async (stolen, mine) => [
        await statement(stolen, undefined, { next_sha256: await feedKeySha256(mine.key.publicKey) }),
        await statement(mine, stolen),
      ],
    ],
    [
      'states the committed successor with a commitment of its own',
      async (stolen, mine) => [
        await statement(
          own.next,
          stolen,
          { next_sha256: await feedKeySha256(mine.key.publicKey) },
          { key: mine, previous: stolen },
        ),
        await statement(mine, own.next, {}, { key: mine, previous: mine }),
      ],
    ],
  ]
  test.each(forged)('S6 A254 a thief of the current key who %s achieves nothing', async (_, forge) => {
    let answer: readonly FeedKeyStatement[] = own.chain
    const { isTrusted } = keysBy(() => listing(answer))
    const stolen = own.current
    const mine = await newKey('mine')
    expect(await isTrusted(stolen)).toBe(true)
    answer = await forge(stolen, mine)
    await clock.advance(60_000)
    expect(await isTrusted(mine)).toBe(false)
    expect(await isTrusted(own.next)).toBe(false)
    // The operator replaces the key, and the guard follows.
    await rotate({ compromised: true })
    answer = own.chain
    await clock.advance(10_000)
    expect(await isTrusted(own.current)).toBe(true)
    expect(await isTrusted(stolen)).toBe(false)
    answer = [...own.chain, ...(await forge(stolen, mine))]
    await clock.advance(60_000)
    expect(await isTrusted(stolen)).toBe(false)
    expect(await isTrusted(mine)).toBe(false)
    expect(await isTrusted(own.current)).toBe(true)
  })

  test('control: the successor itself may be stated with any commitment, by both keys', async () => {
    let answer: readonly FeedKeyStatement[] = own.chain
    const { isTrusted } = keysBy(() => listing(answer))
    const after = await newKey('after')
    expect(await isTrusted(own.current)).toBe(true)
    answer = [
      await statement(own.next, own.current, { next_sha256: await feedKeySha256(after.key.publicKey) }),
      await statement(after, own.next),
    ]
    await clock.advance(10_000)
    expect(await isTrusted(after)).toBe(true)
  })
})

describe('S6 a superseded key', () => {
  test('is trusted for one hour after its successor began to sign', async () => {
    const { isTrusted, problem } = keysBy()
    const old = own.current
    expect(await isTrusted(old)).toBe(true)
    await rotate()
    await clock.advance(60_000)
    expect(await isTrusted(own.current)).toBe(true)
    await clock.advance(HOUR - 60_001)
    expect(await isTrusted(old)).toBe(true)
    await clock.advance(1)
    expect(await isTrusted(old)).toBe(false)
    expect(problem()).toBe('feed_key_withdrawn')
    expect(await isTrusted(own.current)).toBe(true)
  })

  test('is not trusted for longer because the clock is set back', async () => {
    const { isTrusted } = keysBy()
    const old = own.current
    expect(await isTrusted(old)).toBe(true)
    await rotate()
    await clock.advance(10_000)
    expect(await isTrusted(own.current)).toBe(true)
    clock.jump(-24 * HOUR)
    await clock.advance(HOUR)
    expect(await isTrusted(old)).toBe(false)
  })

  test('is dropped at once when it is compromised, and all before it', async () => {
    const { isTrusted } = keysBy()
    const first = own.current
    await rotate()
    const second = own.current
    expect(await isTrusted(first)).toBe(true)
    expect(await isTrusted(second)).toBe(true)
    await rotate({ compromised: true })
    await clock.advance(10_000)
    expect(await isTrusted(own.current)).toBe(true)
    expect(await isTrusted(second)).toBe(false)
    expect(await isTrusted(first)).toBe(false)
  })

  test('is dropped within a minute though its thief goes on signing', async () => {
    const { isTrusted } = keysBy()
    const stolen = own.current
    expect(await isTrusted(stolen)).toBe(true)
    await rotate({ compromised: true })
    await clock.advance(59_999)
    expect(await isTrusted(stolen)).toBe(true)
    await clock.advance(1)
    await isTrusted(stolen)
    await rest()
    expect(await isTrusted(stolen)).toBe(false)
  })
})

describe('with pins', () => {
  test('A254 S3 discovery that was swapped from the start is rejected, and the pinned key is accepted', async () => {
    const foreign = await createTestFeedKeys(clock.nowMs)
    const { isTrusted, problem } = keysBy(() => listing(foreign.chain), toPin(own.current))
    expect(await isTrusted(foreign.current)).toBe(false)
    expect(problem()).toBe('feed_key_untrusted')
    expect(await isTrusted(own.current)).toBe(true)
  })

  test('a pinned key is trusted while discovery does not answer', async () => {
    const { isTrusted } = keysBy(() => new Error('cut'), toPin(own.current))
    expect(await isTrusted(own.current)).toBe(true)
  })

  test.each<[string, () => Promise<Record<string, string>>]>([
    ['the current key', async () => toPin(own.current)],
    [
      'the current key and the hash of the next',
      async () => ({ ...toPin(own.current), next: await toHashPin(own.next) }),
    ],
    ['the current key and the next', async () => ({ ...toPin(own.current), ...toPin(own.next) })],
    ['the hash of the next key', async () => ({ next: await toHashPin(own.next) })],
  ])('of %s a guard follows two rotations', async (_, pins) => {
    const { isTrusted } = keysBy(undefined, await pins())
    await isTrusted(own.current)
    for (let i = 0; i < 2; i++) {
      await rotate()
      await clock.advance(10_000)
      expect(await isTrusted(own.current)).toBe(true)
    }
  })

  test('of current and next, a thief of the current key cannot name another successor, even at the start', async () => {
    const [stolen, mine] = [own.current, await newKey('mine')]
    const forged = [
      await statement(stolen, undefined, { next_sha256: await feedKeySha256(mine.key.publicKey) }),
      await statement(mine, stolen),
    ]
    const pins = { ...toPin(own.current), next: await toHashPin(own.next) }
    let answer: readonly FeedKeyStatement[] = forged
    const { isTrusted } = keysBy(() => listing(answer), pins)
    expect(await isTrusted(mine)).toBe(false)
    await rotate({ compromised: true })
    answer = own.chain
    await clock.advance(10_000)
    expect(await isTrusted(own.current)).toBe(true)
    expect(await isTrusted(stolen)).toBe(false)
    const alone = keysBy(() => listing(forged), toPin(stolen))
    // Control: with one pin, the key itself says what follows.
    expect(await alone.isTrusted(mine)).toBe(true)
  })

  test('are anchors, not exceptions: a pinned key is withdrawn like any other', async () => {
    const old = own.current
    await rotate({ compromised: true })
    const { isTrusted } = keysBy(undefined, { ...toPin(old), ...toPin(own.current) })
    expect(await isTrusted(own.current)).toBe(true)
    await rest()
    expect(await isTrusted(old)).toBe(false)
  })

  test.each<Record<string, unknown>>([
    {},
    { a: 'z6nothing' },
    { a: 'sha256:' },
    { a: `sha256:${'A'.repeat(64)}` },
    { a: `sha256:${'a'.repeat(63)}` },
    { a: 7 },
  ])('of %j there is no guard', (pinned) => {
    expect(() => keysBy(undefined, pinned as Record<string, string>)).toThrow(/feedKeys/)
  })

  test('of a P-256 key there is no guard', async () => {
    const { multikey } = (await generatePrivateKey('P-256')).publicKey
    expect(() => keysBy(undefined, { a: multikey })).toThrow(/feedKeys/)
  })
})

describe('discovery', () => {
  test('is not asked for each name that a caller makes up', async () => {
    const { isTrusted, asked } = keysBy()
    await isTrusted(own.current)
    const madeUp = await newKey('made-up')
    for (let i = 0; i < 50; i++) expect(await isTrusted({ ...madeUp, kid: `made-up-${i}` })).toBe(false)
    expect(asked()).toBe(1)
    await clock.advance(10_000)
    for (let i = 0; i < 50; i++) expect(await isTrusted({ ...madeUp, kid: `made-up-${i}` })).toBe(false)
    expect(asked()).toBe(2)
  })

  test('is asked again every minute while the key is known, without waiting for the answer', async () => {
    const { isTrusted, asked } = keysBy()
    await isTrusted(own.current)
    for (let s = 0; s < 300; s += 5) {
      await clock.advance(5_000)
      expect(await isTrusted(own.current)).toBe(true)
    }
    expect(asked()).toBe(6)
  })

  test('is asked again at once when the answer was lost', async () => {
    let answer: unknown = new Error('no answer')
    const { isTrusted, asked } = keysBy(() => answer)
    await expect(isTrusted(own.current)).rejects.toThrow('no answer')
    answer = listing(own.chain)
    expect(await isTrusted(own.current)).toBe(true)
    expect(asked()).toBe(2)
  })

  test('that lists more than 16 statements, or one that cannot be read, is not used', async () => {
    for (let i = 0; i < 15; i++) await rotate()
    const [first, ...others] = own.chain
    for (const chain of [
      [...own.chain, first],
      [{ ...first, more: 1 }, ...others],
      [null, ...others],
    ]) {
      const { isTrusted, problem } = keysBy(() => listing(chain as never))
      expect(await isTrusted(own.current)).toBe(false)
      expect(problem()).toBe('feed_keys_unreadable')
    }
    expect(await keysBy().isTrusted(own.current)).toBe(true)
  })

  test.each([null, [], {}, { feed: null }, { feed: { chain: {} } }, { feed: { chain: [] } }])(
    'gives no keys as %j',
    async (answer) => {
      const { isTrusted, problem } = keysBy(() => answer)
      expect(await isTrusted(own.current)).toBe(false)
      expect(problem()).toBe('feed_keys_unreadable')
    },
  )
})
