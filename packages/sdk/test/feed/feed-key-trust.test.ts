import {
  type FeedKeyStatement,
  feedKeySha256,
  generatePrivateKey,
  type PrivateKey,
  signFeedKeyStatement,
} from '@countersign/core'
import { beforeAll, describe, expect, test } from 'vitest'
import { createFeedKeyTrust, type FeedKeyPins } from '../../src/feed/feed-key-trust.ts'

const AT = '2026-11-14T12:00:00Z'
const NOW = { wallMs: Date.parse(AT) + 60_000, monotonicMs: 1000 }

let keys: Record<'k1' | 'k2' | 'k3' | 'k4', PrivateKey>
let hashes: Record<'k1' | 'k2' | 'k3' | 'k4', string>
/** The honest chain: k3 followed k2 because k2 was compromised. */
let chain: readonly [FeedKeyStatement, FeedKeyStatement, FeedKeyStatement, FeedKeyStatement]
/** What `countersign doctor` prints while k1 signs. */
let pins: FeedKeyPins

const state = (
  kid: string,
  key: PrivateKey,
  next_sha256: string,
  previous?: { readonly kid: string; readonly key: PrivateKey; readonly isCompromised?: boolean },
) =>
  signFeedKeyStatement(
    {
      kid,
      public_key_multibase: key.publicKey.multikey,
      next_sha256,
      previous_kid: previous?.kid ?? null,
      previous_compromised: previous?.isCompromised ?? false,
      at: AT,
    },
    key,
    previous?.key,
  )

beforeAll(async () => {
  const made = await Promise.all(
    ['k1', 'k2', 'k3', 'k4'].map(async (kid) => [kid, await generatePrivateKey('Ed25519')] as const),
  )
  keys = Object.fromEntries(made) as typeof keys
  hashes = Object.fromEntries(
    await Promise.all(made.map(async ([kid, key]) => [kid, await feedKeySha256(key.publicKey)] as const)),
  ) as typeof hashes
  const { k1, k2, k3, k4 } = keys
  chain = [
    await state('k1', k1, hashes.k2),
    await state('k2', k2, hashes.k3, { kid: 'k1', key: k1 }),
    await state('k3', k3, hashes.k4, { kid: 'k2', key: k2, isCompromised: true }),
    await state('k4', k4, '0'.repeat(64), { kid: 'k3', key: k3 }),
  ]
  pins = { k1: k1.publicKey.multikey, next: `sha256:${hashes.k2}` }
})

const standings = (trust: ReturnType<typeof createFeedKeyTrust>) =>
  ['k1', 'k2', 'k3', 'k4'].map((kid) => trust.standing(kid, NOW.monotonicMs))
const AFTER_ALL = ['withdrawn', 'withdrawn', 'trusted', 'trusted']

describe('a thief of a withdrawn feed key who is also a relay', () => {
  test('control: the honest chain withdraws the compromised key and those before it', async () => {
    const trust = createFeedKeyTrust(pins)
    await trust.follow(chain, NOW)
    expect(standings(trust)).toEqual(AFTER_ALL)
  })

  test('does not bring the key back under another name, and does not use up the room for honest keys', async () => {
    const trust = createFeedKeyTrust(pins)
    await trust.follow(chain.slice(0, 3), NOW)
    for (let i = 0; i < 1100; i++) await trust.follow([await state(`evil${i}`, keys.k2, hashes.k4)], NOW)
    expect(trust.standing('evil0', NOW.monotonicMs)).toBe('unknown')
    await trust.follow(chain, NOW)
    expect(standings(trust)).toEqual(AFTER_ALL)
  })

  test('does not freeze the chain with a first statement of its own', async () => {
    const trust = createFeedKeyTrust(pins)
    await trust.follow([await state('k2', keys.k2, '0'.repeat(64))], NOW)
    await trust.follow(chain, NOW)
    expect(standings(trust)).toEqual(AFTER_ALL)
  })

  test('does not stop the process with a key that names itself, or two that name each other', async () => {
    const { k1, k2 } = keys
    const both = { k1: k1.publicKey.multikey, k2: k2.publicKey.multikey }
    const trust = createFeedKeyTrust(both)
    await trust.follow([await state('k1', k1, hashes.k1, { kid: 'k1', key: k1, isCompromised: true })], NOW)
    expect(standings(trust).slice(0, 2)).toEqual(['trusted', 'trusted'])
    await trust.follow([await state('k1', k1, hashes.k2, { kid: 'k2', key: k2 })], NOW)
    await trust.follow([await state('k2', k2, hashes.k1, { kid: 'k1', key: k1, isCompromised: true })], NOW)
    expect(standings(trust).slice(0, 2)).toEqual(['withdrawn', 'withdrawn'])
  })
})

describe('a relay that only reorders the chain', () => {
  test('delays a withdrawal until the honest order comes, and no longer', async () => {
    const trust = createFeedKeyTrust({ one: `sha256:${hashes.k2}`, two: `sha256:${hashes.k3}` })
    await trust.follow([chain[2], chain[1]], NOW)
    await trust.follow(chain.slice(1), NOW)
    expect(standings(trust)).toEqual(['unknown', 'withdrawn', 'trusted', 'trusted'])
  })
})
