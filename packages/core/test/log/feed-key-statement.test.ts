import { describe, expect, test } from 'vitest'
import {
  checkFeedKeyStatement,
  type FeedKeyFields,
  type FeedKeyStatement,
  feedKeySha256,
  feedKeyText,
  parseFeedKeyStatement,
  signFeedKeyStatement,
} from '../../src/log/feed-key-statement.ts'
import { signHeartbeat } from '../../src/log/signed-head.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { at, EPOCH, SITE, token } from './log-sample.ts'

const previous = await generatePrivateKey('Ed25519')
const key = await generatePrivateKey('Ed25519')
const next = await generatePrivateKey('Ed25519')
const attacker = await generatePrivateKey('Ed25519')
const p256 = (await generatePrivateKey('P-256')).publicKey.multikey
const FIELDS: FeedKeyFields = {
  kid: 'feed-2',
  public_key_multibase: key.publicKey.multikey,
  next_sha256: await feedKeySha256(next.publicKey),
  previous_kid: 'feed-1',
  previous_compromised: false,
  at: at(0),
}
const FIRST: FeedKeyFields = { ...FIELDS, previous_kid: null }
const overWire = (statement: FeedKeyStatement) =>
  parseFeedKeyStatement(JSON.parse(JSON.stringify(statement))) as FeedKeyStatement

describe('a statement of a feed key', () => {
  test('is signed over its own first line and the canonical JSON of all but the signatures', () => {
    expect(feedKeyText(FIELDS)).toBe(
      `countersign-feed-key\n{"at":"2026-11-14T12:00:00Z","kid":"feed-2","next_sha256":"${FIELDS.next_sha256}","previous_compromised":false,"previous_kid":"feed-1","public_key_multibase":"${key.publicKey.multikey}"}`,
    )
  })

  test('proves its key to a reader who knows the previous key, and goes through JSON unharmed', async () => {
    const statement = await signFeedKeyStatement(FIELDS, key, previous)
    expect(overWire(statement)).toEqual(statement)
    expect((await checkFeedKeyStatement(overWire(statement), previous.publicKey))?.multikey).toBe(
      key.publicKey.multikey,
    )
    expect((await checkFeedKeyStatement(overWire(statement), undefined))?.multikey).toBe(
      key.publicKey.multikey,
    )
  })

  test('of the first key is signed by that key alone', async () => {
    const statement = await signFeedKeyStatement(FIRST, key, undefined)
    expect(statement.previous_signature).toBeNull()
    expect(overWire(statement)).toEqual(statement)
    expect(await checkFeedKeyStatement(statement, undefined)).toBeDefined()
    expect(await checkFeedKeyStatement(statement, previous.publicKey)).toBeUndefined()
  })

  test.each<[string, Partial<FeedKeyFields>]>([
    ['key name', { kid: 'feed-3' }],
    ['key', { public_key_multibase: attacker.publicKey.multikey }],
    ['commitment', { next_sha256: token(1) }],
    ['predecessor', { previous_kid: 'feed-0' }],
    ['mark of a compromised predecessor', { previous_compromised: true }],
    ['time', { at: at(1) }],
  ])('proves nothing when its %s was changed', async (_, change) => {
    const statement = {
      ...(await signFeedKeyStatement(FIELDS, key, previous)),
      ...change,
    } as FeedKeyStatement
    expect(await checkFeedKeyStatement(statement, previous.publicKey)).toBeUndefined()
    expect(await checkFeedKeyStatement(statement, undefined)).toBeUndefined()
  })

  test('A254 cannot be made with one of the two keys alone', async () => {
    const byPrevious = await signFeedKeyStatement({ ...FIELDS, next_sha256: token(1) }, attacker, previous)
    expect(await checkFeedKeyStatement(byPrevious, previous.publicKey)).toBeUndefined()
    const bySelf = await signFeedKeyStatement({ ...FIELDS, next_sha256: token(1) }, key, attacker)
    expect(await checkFeedKeyStatement(bySelf, previous.publicKey)).toBeUndefined()
  })

  test('is proven by no signature that was made for another purpose', async () => {
    const statement = await signFeedKeyStatement(FIELDS, key, previous)
    const head = {
      site_id: SITE,
      epoch: EPOCH,
      seq: 1,
      hash: token(1),
      as_of: at(0),
      max_age_seconds: 60,
      kid: 'feed-2',
    }
    const { signature } = await signHeartbeat(head, key)
    expect(await checkFeedKeyStatement({ ...statement, signature }, undefined)).toBeUndefined()
  })

  test('is not made with half a predecessor', async () => {
    await expect(signFeedKeyStatement(FIELDS, key, undefined)).rejects.toThrow(TypeError)
    await expect(signFeedKeyStatement(FIRST, key, previous)).rejects.toThrow(TypeError)
  })

  test.each<[string, Record<string, unknown>]>([
    ['a member more', { more: 1 }],
    ['an empty key name', { kid: '' }],
    ['a key name of 257 characters', { kid: 'k'.repeat(257) }],
    ['a key that is no Multikey', { public_key_multibase: 'z6nothing' }],
    ['a P-256 key', { public_key_multibase: p256 }],
    ['a commitment in capitals', { next_sha256: 'A'.repeat(64) }],
    ['no predecessor, but its signature', { previous_kid: null }],
    ['a predecessor without its signature', { previous_signature: null }],
    ['a mark that is a word', { previous_compromised: 'true' }],
    ['a time that cannot be read', { at: 'now' }],
    ['a short signature', { signature: 'A'.repeat(85) }],
  ])('with %s is not read', async (_, change) => {
    const statement = await signFeedKeyStatement(FIELDS, key, previous)
    expect(parseFeedKeyStatement(statement)).toEqual(statement)
    expect(parseFeedKeyStatement({ ...statement, ...change })).toBeUndefined()
  })

  test.each([
    'kid',
    'public_key_multibase',
    'next_sha256',
    'previous_kid',
    'previous_compromised',
    'at',
    'previous_signature',
    'signature',
  ])('without %s is not read', async (member) => {
    const { [member as 'kid']: _, ...rest } = await signFeedKeyStatement(FIELDS, key, previous)
    expect(parseFeedKeyStatement(rest)).toBeUndefined()
    expect(parseFeedKeyStatement({ ...rest, other: 1 })).toBeUndefined()
  })
})
