import { describe, expect, test } from 'vitest'
import {
  type FeedKeyStatement,
  feedKeySha256,
  signFeedKeyStatement,
} from '../../src/log/feed-key-statement.ts'
import { findHeadKey, findReceiptKey } from '../../src/log/find-feed-key.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { at } from './log-sample.ts'

const keys = await Promise.all([0, 1, 2, 3].map(() => generatePrivateKey('Ed25519')))
const multikeys = keys.map(({ publicKey }) => publicKey.multikey)

/** Three keys, of which each follows the one before. `compromised` names the key that leaked. */
async function createChain(compromised?: number): Promise<FeedKeyStatement[]> {
  const statements = [0, 1, 2].map(async (i) => {
    const [previous, key, next] = [keys[i - 1], keys[i], keys[i + 1]]
    if (key === undefined || next === undefined) throw new RangeError('there are four keys')
    return signFeedKeyStatement(
      {
        kid: `feed-${i}`,
        public_key_multibase: key.publicKey.multikey,
        next_sha256: await feedKeySha256(next.publicKey),
        previous_kid: previous === undefined ? null : `feed-${i - 1}`,
        previous_compromised: compromised !== undefined && compromised === i - 1,
        at: at(i),
      },
      key,
      previous,
    )
  })
  return Promise.all(statements)
}

const findAll = async (find: typeof findReceiptKey, chain: unknown) =>
  Promise.all(
    ['feed-0', 'feed-1', 'feed-2', 'feed-3'].map(async (kid) => {
      const found = await find(chain, kid)
      return typeof found === 'string' ? found : multikeys.indexOf(found.multikey)
    }),
  )

describe.each([
  ['receipts', findReceiptKey],
  ['heads', findHeadKey],
])('the feed key of %s', (_, find) => {
  test('is found by its name, however often keys were rotated since', async () => {
    expect(await findAll(find, await createChain())).toEqual([0, 1, 2, 'unknown'])
    expect(await findAll(find, [])).toEqual(['unknown', 'unknown', 'unknown', 'unknown'])
  })

  test('is not found in a chain that is malformed, too long, or of which a later statement is forged', async () => {
    const chain = await createChain()
    const [first, second, third] = chain
    for (const wrong of [undefined, {}, [...chain, {}], Array.from({ length: 17 }, () => first)])
      expect(await find(wrong, 'feed-0')).toBe('unreadable')
    const forged = { ...third, previous_signature: second?.signature }
    expect(await find([first, second, forged], 'feed-0')).toBe('unreadable')
    expect(await find([first, third], 'feed-0')).toBe('unreadable')
  })
})

test('a compromised key proves no receipt; receipts of the keys before and after it stay valid', async () => {
  expect(await findAll(findReceiptKey, await createChain(1))).toEqual([0, 'compromised', 2, 'unknown'])
  expect(await findAll(findReceiptKey, await createChain(0))).toEqual(['compromised', 1, 2, 'unknown'])
})

test('a compromised key withdraws all keys before it for heads', async () => {
  const withdrawn = ['compromised', 'compromised', 2, 'unknown']
  expect(await findAll(findHeadKey, await createChain(1))).toEqual(withdrawn)
})
