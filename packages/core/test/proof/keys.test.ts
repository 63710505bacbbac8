import { base58 } from '@scure/base'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { crypto } from '../../src/proof/crypto.ts'
import {
  findKeyFault,
  type PublicKey,
  parseMultikey,
  publicKeyFromBytes,
  publicKeyFromJwk,
  publicKeyToJwk,
} from '../../src/proof/keys.ts'
import { hex, unhex } from '../vectors.ts'

const ED25519 = 'z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2'
const P256 = 'zDnaepBuvsQ8cpsWrVKw8fbpGpvPeNSjVPTWoq6cRqaYzBKVP'

function multikey(codecAndKey: string): string {
  return `z${base58.encode(unhex(codecAndKey))}`
}

/** Without any check, as if it had been written to the database directly. */
function forced(algorithm: PublicKey['algorithm'], bytes: string): PublicKey {
  return { algorithm, bytes: unhex(bytes), multikey: 'z' }
}

const LOW_ORDER = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].flatMap((y) => [y, withSign(y)])

function withSign(y: string): string {
  return y.slice(0, 62) + (Number.parseInt(y.slice(62), 16) | 0x80).toString(16)
}

const P256_P = 'ffffffff00000001000000000000000000000000ffffffffffffffffffffffff'

describe('a good key', () => {
  test.each([
    ['Ed25519', ED25519, 32],
    ['P-256', P256, 33],
  ])('%s is read from its Multikey, and back', (algorithm, text, length) => {
    const key = parseMultikey(text) as PublicKey
    expect(key.algorithm).toBe(algorithm)
    expect(key.bytes).toHaveLength(length)
    expect(key.multikey).toBe(text)
    expect(publicKeyFromBytes(key.algorithm, key.bytes)?.multikey).toBe(text)
    expect(findKeyFault(key)).toBeUndefined()
  })

  test.each([ED25519, P256])('%s survives the way through a JWK', (text) => {
    const key = parseMultikey(text) as PublicKey
    expect(publicKeyFromJwk(publicKeyToJwk(key))?.multikey).toBe(text)
  })

  test('is one of those that the crypto library makes', async () => {
    for (const algorithm of ['Ed25519', 'P-256'] as const) {
      for (let i = 0; i < 5; i++) {
        const { publicKey } = await crypto.generateKey(algorithm, false)
        expect(findKeyFault(publicKey)).toBeUndefined()
        expect(parseMultikey(publicKey.multikey)?.bytes).toEqual(publicKey.bytes)
      }
    }
  })

  test('does not change with the bytes it was made of', () => {
    const bytes = unhex(hex((parseMultikey(ED25519) as PublicKey).bytes))
    const key = publicKeyFromBytes('Ed25519', bytes) as PublicKey
    bytes.fill(0)
    expect(key.bytes).toEqual((parseMultikey(ED25519) as PublicKey).bytes)
  })
})

describe('A050: low-order Ed25519 keys', () => {
  test('knows fourteen encodings', () => {
    expect(new Set(LOW_ORDER).size).toBe(14)
  })

  test.each(LOW_ORDER)('rejects %s by every door', (bytes) => {
    expect(parseMultikey(multikey(`ed01${bytes}`))).toBeUndefined()
    expect(publicKeyFromBytes('Ed25519', unhex(bytes))).toBeUndefined()
    expect(
      publicKeyFromJwk({ kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes, 'hex').toString('base64url') }),
    ).toBeUndefined()
    expect(findKeyFault(forced('Ed25519', bytes))).toMatch(/low order|canonical/)
  })

  test('names a point of mixed order, which no honest key is', () => {
    // A valid key plus the point of order two: (x, y) becomes (−x, −y).
    const { bytes } = parseMultikey(ED25519) as PublicKey
    const p = 2n ** 255n - 19n
    const encoded = BigInt(`0x${hex(bytes.toReversed())}`)
    const mixed = (p - (encoded & (2n ** 255n - 1n))) | ((1n - (encoded >> 255n)) << 255n)
    const key = forced('Ed25519', hex(unhex(mixed.toString(16).padStart(64, '0')).toReversed()))
    expect(findKeyFault(key)).toMatch(/prime-order/)
  })
})

describe('A052: non-canonical and off-curve keys', () => {
  const nonCanonical = Array.from(
    { length: 19 },
    (_, i) => `${(0xed + i).toString(16)}${'ff'.repeat(30)}7f`,
  ).flatMap((y) => [y, withSign(y)])

  test.each(nonCanonical)('rejects y ≥ p: %s', (bytes) => {
    expect(parseMultikey(multikey(`ed01${bytes}`))).toBeUndefined()
    expect(findKeyFault(forced('Ed25519', bytes))).toMatch(/canonical/)
  })

  test('does not mistake a canonical y near p, or one with a long run of ones, for a non-canonical one', () => {
    for (const bytes of [
      `eb${'ff'.repeat(30)}7f`,
      `ff${'ff'.repeat(29)}fe7f`,
      `ff${'ff'.repeat(30)}7e`,
      `edfe${'ff'.repeat(29)}7f`,
    ]) {
      expect(parseMultikey(multikey(`ed01${bytes}`))).toBeDefined()
    }
  })

  test('names an Ed25519 key that is not on the curve', () => {
    // y = 2 has no x.
    const bytes = `02${'00'.repeat(31)}`
    expect(parseMultikey(multikey(`ed01${bytes}`))).toBeDefined()
    expect(findKeyFault(forced('Ed25519', bytes))).toMatch(/not a point on the curve/)
  })

  test('names a P-256 key that is not on the curve', () => {
    // Some of the first sixteen values of x have a point, and some have none.
    const encodings = Array.from({ length: 16 }, (_, i) => `02${i.toString(16).padStart(64, '0')}`)
    const faults = encodings.map((bytes) => findKeyFault(forced('P-256', bytes)))
    expect(faults.some((fault) => fault === undefined)).toBe(true)
    expect(faults.some((fault) => fault?.includes('not a point on the curve'))).toBe(true)
    for (const [i, fault] of faults.entries()) {
      const key = parseMultikey(multikey(`8024${encodings[i]}`)) as PublicKey
      expect(key).toBeDefined()
      if (fault !== undefined) expect(() => publicKeyToJwk(key)).toThrow(TypeError)
    }
  })

  test.each([
    P256_P,
    `ffffffff00000001${'0'.repeat(23)}1${'0'.repeat(24)}`,
    `ffffffff00000002${'0'.repeat(48)}`,
    'f'.repeat(64),
  ])('rejects a P-256 x ≥ p: %s', (x) => {
    expect(BigInt(`0x${x}`) >= BigInt(`0x${P256_P}`)).toBe(true)
    for (const sign of ['02', '03']) {
      expect(parseMultikey(multikey(`8024${sign}${x}`))).toBeUndefined()
      expect(findKeyFault(forced('P-256', sign + x))).toMatch(/below p/)
    }
  })

  test('takes the P-256 x just below p for well-formed', () => {
    expect(parseMultikey(multikey(`802402${P256_P.slice(0, -1)}e`))).toBeDefined()
  })

  test.each(['00', '01', '04', '05', '82'])('rejects a P-256 point that starts with %s', (sign) => {
    const { bytes } = parseMultikey(P256) as PublicKey
    expect(parseMultikey(multikey(`8024${sign}${hex(bytes.subarray(1))}`))).toBeUndefined()
  })
})

describe('A053: other spellings, kinds and lengths', () => {
  const { bytes } = parseMultikey(ED25519) as PublicKey
  const good = hex(bytes)

  test.each(['m', 'u', 'Z', 'f', '', 'zz', ' z'])('rejects the multibase prefix "%s"', (prefix) => {
    expect(parseMultikey(prefix + ED25519.slice(1))).toBeUndefined()
  })

  test.each([
    ['X25519', 'ec01'],
    ['Ed448', '8324'],
    ['RSA', '8524'],
    ['secp256k1', 'e701'],
    ['P-384', '8124'],
    ['an Ed25519 private key', '8026'],
    ['Ed25519 as a longer varint', 'ed8100'],
    ['Ed25519 as one byte', 'ed'],
    ['P-256', '8024'],
    ['no codec', ''],
  ])('rejects the codec of %s', (_, codec) => {
    expect(parseMultikey(multikey(codec + good))).toBeUndefined()
  })

  test('rejects the P-256 key under the codec of Ed25519', () => {
    expect(parseMultikey(multikey(`ed01${hex((parseMultikey(P256) as PublicKey).bytes)}`))).toBeUndefined()
  })

  test.each(['8023', '8025', '8026', '0024', '8124'])('rejects the P-256 key under the codec %s', (codec) => {
    expect(parseMultikey(multikey(codec + hex((parseMultikey(P256) as PublicKey).bytes)))).toBeUndefined()
  })

  test.each([
    ['one byte short', good.slice(2)],
    ['one byte long', `${good}00`],
    ['empty', ''],
    ['twice', good + good],
  ])('rejects a key that is %s', (_, key) => {
    expect(parseMultikey(multikey(`ed01${key}`))).toBeUndefined()
  })

  test.each([
    [undefined],
    [null],
    [7],
    [{}],
    [[ED25519]],
    [''],
    ['z'],
    [`${ED25519} `],
    [`${ED25519}#x`],
    [`z1${ED25519.slice(1)}`],
    ['z'.repeat(100_000)],
  ])('rejects %j', (value) => {
    expect(parseMultikey(value)).toBeUndefined()
  })

  test('gives no key two spellings', () => {
    fc.assert(
      fc.property(fc.nat(ED25519.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
        const spoiled = ED25519.slice(0, at) + character + ED25519.slice(at + 1)
        const key = parseMultikey(spoiled)
        if (spoiled !== ED25519 && key !== undefined) expect(hex(key.bytes)).not.toBe(good)
      }),
    )
  })
})

describe('publicKeyFromJwk', () => {
  const ed = publicKeyToJwk(parseMultikey(ED25519) as PublicKey)
  const ec = publicKeyToJwk(parseMultikey(P256) as PublicKey) as {
    kty: 'EC'
    crv: 'P-256'
    x: string
    y: string
  }

  test('takes the members that may stand beside a key', () => {
    expect(
      publicKeyFromJwk({ ...ed, kid: 'one', use: 'sig', alg: 'EdDSA', key_ops: ['verify'] })?.multikey,
    ).toBe(ED25519)
    expect(publicKeyFromJwk({ ...ed, alg: 'Ed25519' })?.multikey).toBe(ED25519)
    expect(publicKeyFromJwk({ ...ec, alg: 'ES256' })?.multikey).toBe(P256)
  })

  test.each([
    ['a private key', { ...ed, d: ed.x }],
    ['an empty private part', { ...ed, d: '' }],
    ['another use', { ...ed, use: 'enc' }],
    ['another algorithm', { ...ed, alg: 'ES256' }],
    ['an HMAC algorithm', { ...ec, alg: 'HS256' }],
    ['other operations', { ...ed, key_ops: ['sign'] }],
    ['operations that are not a list', { ...ed, key_ops: 'verify' }],
    ['another key type', { ...ed, kty: 'EC' }],
    ['a symmetric key', { kty: 'oct', k: ed.x }],
    ['another curve', { ...ed, crv: 'X25519' }],
    ['a curve in lower case', { ...ed, crv: 'ed25519' }],
    ['P-384', { ...ec, crv: 'P-384' }],
    ['a y on Ed25519', { ...ed, y: ec.y }],
    ['no x', { kty: 'OKP', crv: 'Ed25519' }],
    ['no y', { ...ec, y: undefined }],
    ['a padded x', { ...ed, x: `${ed.x}=` }],
    ['a short x', { ...ed, x: ed.x.slice(1) }],
    ['a long x', { ...ed, x: `${ed.x}A` }],
    ['base64 with +', { ...ed, x: `+${ed.x.slice(1)}` }],
    ['unused bits', { ...ed, x: `${ed.x.slice(0, -1)}B` }],
    ['x and y exchanged', { ...ec, x: ec.y, y: ec.x }],
    ['a point off the curve', { ...ec, y: ec.x }],
    ['x = p', { ...ec, x: Buffer.from(P256_P, 'hex').toString('base64url') }],
    ['y = y + p, where it fits', { ...ec, y: Buffer.from('f'.repeat(64), 'hex').toString('base64url') }],
    ['the point at infinity', { ...ec, x: 'A'.repeat(43), y: 'A'.repeat(43) }],
  ])('rejects %s', (_, jwk) => {
    expect(publicKeyFromJwk(jwk)).toBeUndefined()
  })

  test.each([[undefined], [null], ['{}'], [[]], [0]])('rejects %j', (value) => {
    expect(publicKeyFromJwk(value)).toBeUndefined()
  })
})
