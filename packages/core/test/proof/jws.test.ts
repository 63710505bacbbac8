import { generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { JwsKey } from '../../src/proof/crypto-port.ts'
import { type PublicKey, publicKeyFromJwk } from '../../src/proof/keys.ts'
import { backends } from './backends.ts'

const DATA = new TextEncoder().encode('header.payload')
/** The orders of the groups of P-256 and P-384. */
const N256 = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
const N384 =
  0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })

const rsaJwk = rsa.publicKey.export({ format: 'jwk' })
const RS256: JwsKey = { algorithm: 'RS256', jwk: rsaJwk }
const PS256: JwsKey = { algorithm: 'PS256', jwk: rsaJwk }

const signRsa = (padding: number, saltLength?: number) =>
  new Uint8Array(
    sign('sha256', DATA, { key: rsa.privateKey, padding, ...(saltLength !== undefined && { saltLength }) }),
  )

/** What each backend says, which must be the same. */
function verifyAll(key: JwsKey, signature: Uint8Array, data = DATA): Promise<boolean> {
  return sameAnswer(backends.map((backend) => backend.verifyJws(key, data, signature)))
}

async function sameAnswer(asked: readonly (boolean | Promise<boolean>)[]): Promise<boolean> {
  const answers = await Promise.all(asked)
  expect(new Set(answers).size).toBe(1)
  return answers[0] as boolean
}

describe('RSA', () => {
  test('each padding is accepted under its own algorithm only', async () => {
    const pkcs1 = signRsa(1)
    const pss = signRsa(6, 32)
    expect(await verifyAll(RS256, pkcs1)).toBe(true)
    expect(await verifyAll(PS256, pss)).toBe(true)
    expect(await verifyAll(RS256, pss)).toBe(false)
    expect(await verifyAll(PS256, pkcs1)).toBe(false)
  })

  test('a salt of another length, other data and another length of the signature are rejected', async () => {
    for (const saltLength of [0, 20, 31, 33, 64])
      expect(await verifyAll(PS256, signRsa(6, saltLength))).toBe(false)
    const signature = signRsa(1)
    expect(await verifyAll(RS256, signature, DATA.subarray(1))).toBe(false)
    for (const changed of [signature.subarray(1), Uint8Array.of(0, ...signature), new Uint8Array(256)])
      expect(await verifyAll(RS256, changed)).toBe(false)
  })
})

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}

function toBytes(number: bigint, length: number): Uint8Array {
  return Buffer.from(number.toString(16).padStart(length * 2, '0'), 'hex')
}

/** Signatures of `DATA`: one with an r and one with an s that begins with a zero. */
const KNOWN = {
  'P-256': {
    jwk: {
      kty: 'EC',
      crv: 'P-256',
      x: 'ib2PkQGPw6iegFHEFEjNLoBpXn-tbdqUWWHrbUnPPk8',
      y: 'W8jjmS-fBRl7R5EmtRxb5tcMluGvRicgrTTeliHL7L4',
    },
    signatures: [
      'AFogrepUBaUWhqSHToKDJxk2bM5_OsIL352bc8WWT03OV8Xn3xhuOl8Us7j-w2rUhMYQya3Se9alShSQe7u9hg',
      'rkEpKFkSiiSRChWZ6skET1ooAtJnrsVPxgKYVINaVWoAuLd2br5mbwBs3xQs7diItLHmj2k0lWAQOtJo-n9ldw',
    ],
  },
  'P-384': {
    jwk: {
      kty: 'EC',
      crv: 'P-384',
      x: 'CNobFvAulT_7m1o5MZKcEj0rBf7lmVfmqskO_H6g0AqzDsl47_UMBnD9O7A6Difi',
      y: 'wwcsq2ohuui054Mk0_BmH-nkG066ZP0IE_Xz3eJNT0kKiFFp8u9Izd5qmPauedrn',
    },
    signatures: [
      'AE6zfSbkv0PN2xXSPUBWMW5c1HuExAOAgUiDuVGemGPn9NlK61cac7eLKoiar6YG_QHOihQ-OzALM2FtSYaNxFPrTK-GtY_dThbeLm1W6HKdtmKGFaiOXsdBCFH9wI2Z',
      'b5-mY0vjJ9wYx4NHbLHQTju5eajqMLpxG6yv7C2LZWsa60zjiwLS53Lg6-Hcuf3iAOWQl_8NepzslckhDoh61T4xmkz-6fLKd5X7PGSNZKYk-ypQNnpvWaN6IlqMhXTG',
    ],
  },
}

describe.each([
  ['P-256', p256, 'sha256', 64, N256],
  ['P-384', p384, 'sha384', 96, N384],
] as const)('r and s of %s', (curve, { publicKey, privateKey }, digest, length, order) => {
  const half = length / 2
  const known = KNOWN[curve]
  const jwk = publicKey.export({ format: 'jwk' })
  const signer = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  const signed = (): Uint8Array => new Uint8Array(sign(digest, DATA, signer))
  const isValid = (signature: Uint8Array) => isValidUnder(jwk, signature)

  async function isValidUnder(jwk: object, signature: Uint8Array): Promise<boolean> {
    if (curve === 'P-384') return verifyAll({ algorithm: 'ES384', jwk }, signature)
    const key = publicKeyFromJwk(jwk) as PublicKey
    return sameAnswer(backends.map((backend) => backend.verify(key, DATA, signature)))
  }

  test('are accepted whatever their first bytes are', async () => {
    // With r and with s that begin with a zero, which is one signature of 128.
    for (const text of known.signatures)
      expect(await isValidUnder(known.jwk, Buffer.from(text, 'base64url'))).toBe(true)
    for (let i = 0; i < 8; i++) expect(await isValid(signed())).toBe(true)
  })

  test('are rejected as zero, as the order of the group or above it, and in another length or form', async () => {
    const signature = signed()
    const [r, s] = [signature.subarray(0, half), signature.subarray(half)]
    const join = (...parts: Uint8Array[]) => new Uint8Array(Buffer.concat(parts))
    // The second signature that ECDSA has for every first one.
    expect(await isValid(join(r, toBytes(order - toNumber(s), half)))).toBe(true)
    const [zero, n] = [new Uint8Array(half), toBytes(order, half)]
    const max = new Uint8Array(half).fill(0xff)
    const rejected = [
      join(zero, s),
      join(r, zero),
      join(zero, zero),
      join(n, s),
      join(r, n),
      join(max, s),
      join(r, max),
      join(s, r),
      new Uint8Array(0),
      signature.subarray(1),
      signature.subarray(2),
      join(signature, new Uint8Array(2)),
      join(new Uint8Array(2), signature),
      join(Uint8Array.of(0), r, Uint8Array.of(0), s),
      new Uint8Array(sign(digest, DATA, privateKey)),
    ]
    for (const each of rejected) expect([each.length, await isValid(each)]).toEqual([each.length, false])
  })
})
