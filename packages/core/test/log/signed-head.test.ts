import { describe, expect, test } from 'vitest'
import {
  checkHeartbeat,
  checkSnapshot,
  type Heartbeat,
  heartbeatText,
  parseHeartbeat,
  signHeartbeat,
  signSnapshot,
  snapshotText,
} from '../../src/log/signed-head.ts'
import type { SnapshotHead } from '../../src/log/snapshot.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { at, EPOCH, msAt, OTHER_SITE, SITE, token } from './log-sample.ts'

const FIELDS = {
  site_id: SITE,
  epoch: EPOCH,
  seq: 7,
  hash: token(7),
  as_of: at(0),
  max_age_seconds: 60,
  kid: 'feed-1',
}
const HEAD: SnapshotHead = {
  type: 'head',
  site_id: SITE,
  epoch: EPOCH,
  seq: 7,
  hash: token(7),
  as_of: at(0),
  max_age_seconds: 60,
  base: { seq: 2, hash: token(2) },
}
const PROOF = { siteId: SITE, epoch: EPOCH, seq: 7, hash: token(7), asOfMs: msAt(0), maxAgeSeconds: 60 }
const DIGEST = { lines: 3, sha256: token(3) }
const key = await generatePrivateKey('Ed25519')
const otherKey = await generatePrivateKey('Ed25519')

describe('a heartbeat', () => {
  test('is signed over its own first line and the canonical JSON of all but the signature', () => {
    expect(heartbeatText(FIELDS)).toBe(
      `countersign-heartbeat\n{"as_of":"2026-11-14T12:00:00Z","epoch":"0123456789abcdef","hash":"${token(7)}","kid":"feed-1","max_age_seconds":60,"seq":7,"site_id":"shop.example"}`,
    )
  })

  test('proves the head when its signature is valid, and goes through JSON unharmed', async () => {
    const heartbeat = await signHeartbeat(FIELDS, key)
    const received = parseHeartbeat(JSON.parse(JSON.stringify(heartbeat)))
    expect(received).toEqual(heartbeat)
    expect(await checkHeartbeat(received as Heartbeat, key.publicKey)).toEqual(PROOF)
  })

  test.each([
    ['site', { site_id: OTHER_SITE }],
    ['epoch', { epoch: `${EPOCH}0` }],
    ['seq', { seq: 8 }],
    ['hash', { hash: token(8) }],
    ['time', { as_of: at(1) }],
    ['bound on the age', { max_age_seconds: 61 }],
    ['key name', { kid: 'feed-2' }],
  ])('proves nothing when its %s was changed', async (_, change) => {
    const heartbeat = await signHeartbeat(FIELDS, key)
    expect(await checkHeartbeat({ ...heartbeat, ...change } as Heartbeat, key.publicKey)).toBeUndefined()
  })

  test('proves nothing under another key, or with a signature of a snapshot', async () => {
    const heartbeat = await signHeartbeat(FIELDS, key)
    expect(await checkHeartbeat(heartbeat, otherKey.publicKey)).toBeUndefined()
    const { signature } = await signSnapshot(HEAD, DIGEST, 'feed-1', key)
    expect(await checkHeartbeat({ ...heartbeat, signature }, key.publicKey)).toBeUndefined()
  })

  test('proves nothing with a signature that is spelled otherwise', async () => {
    const heartbeat = await signHeartbeat(FIELDS, key)
    // 64 bytes leave four unused bits in the last character.
    const last = heartbeat.signature.at(-1) as string
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const respelled = heartbeat.signature.slice(0, -1) + alphabet[alphabet.indexOf(last) + 1]
    expect(parseHeartbeat({ ...heartbeat, signature: respelled })).toBeDefined()
    expect(await checkHeartbeat({ ...heartbeat, signature: respelled }, key.publicKey)).toBeUndefined()
  })

  test('is signed with Ed25519 only', async () => {
    const p256 = await generatePrivateKey('P-256')
    await expect(signHeartbeat(FIELDS, p256)).rejects.toThrow(TypeError)
    const heartbeat = await signHeartbeat(FIELDS, {
      publicKey: key.publicKey,
      sign: (data) => p256.sign(data),
    })
    expect(await checkHeartbeat(heartbeat, p256.publicKey)).toBeUndefined()
  })

  test.each([
    ['a member more', { more: 1 }],
    ['a negative seq', { seq: -1 }],
    ['a time that cannot be read', { as_of: 'now' }],
    ['no bound on the age', { max_age_seconds: 0 }],
    ['a bound of more than an hour', { max_age_seconds: 3601 }],
    ['a site with capitals', { site_id: 'Shop.example' }],
    ['a short epoch', { epoch: 'abc' }],
    ['a short hash', { hash: 'abc' }],
    ['an empty key name', { kid: '' }],
    ['a short signature', { signature: 'AAAA' }],
    ['padding', { signature: `${'A'.repeat(86)}==` }],
  ])('is rejected with %s', async (_, change) => {
    expect(parseHeartbeat({ ...(await signHeartbeat(FIELDS, key)), ...change })).toBeUndefined()
  })

  test('may speak of a log that has not begun', async () => {
    expect(parseHeartbeat(await signHeartbeat({ ...FIELDS, seq: 0 }, key))).toBeDefined()
  })
})

describe('the end of a snapshot', () => {
  test('is signed over its own first line and the canonical JSON of head and digest', () => {
    expect(snapshotText(HEAD, token(3))).toBe(
      `countersign-snapshot\n{"head":{"as_of":"2026-11-14T12:00:00Z","base":{"hash":"${token(2)}","seq":2},"epoch":"0123456789abcdef","hash":"${token(7)}","max_age_seconds":60,"seq":7,"site_id":"shop.example","type":"head"},"sha256":"${token(3)}"}`,
    )
  })

  test('proves the head when everything agrees', async () => {
    const end = await signSnapshot(HEAD, DIGEST, 'feed-1', key)
    expect(end).toMatchObject({ type: 'end', kid: 'feed-1', ...DIGEST })
    expect(await checkSnapshot(HEAD, end, DIGEST, key.publicKey)).toEqual(PROOF)
  })

  test('proves nothing when head, digest, count or key is another', async () => {
    const end = await signSnapshot(HEAD, DIGEST, 'feed-1', key)
    expect(await checkSnapshot({ ...HEAD, seq: 8 }, end, DIGEST, key.publicKey)).toBeUndefined()
    expect(await checkSnapshot({ ...HEAD, max_age_seconds: 61 }, end, DIGEST, key.publicKey)).toBeUndefined()
    for (const base of [
      { seq: 1, hash: token(2) },
      { seq: 2, hash: token(1) },
    ])
      expect(await checkSnapshot({ ...HEAD, base }, end, DIGEST, key.publicKey)).toBeUndefined()
    expect(await checkSnapshot({ ...HEAD, as_of: at(1) }, end, DIGEST, key.publicKey)).toBeUndefined()
    expect(await checkSnapshot(HEAD, end, { ...DIGEST, sha256: token(4) }, key.publicKey)).toBeUndefined()
    expect(
      await checkSnapshot(HEAD, { ...end, sha256: token(4) }, { ...DIGEST, sha256: token(4) }, key.publicKey),
    ).toBeUndefined()
    expect(await checkSnapshot(HEAD, end, { ...DIGEST, lines: 2 }, key.publicKey)).toBeUndefined()
    expect(await checkSnapshot(HEAD, end, DIGEST, otherKey.publicKey)).toBeUndefined()
  })
})
