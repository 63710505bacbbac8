import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { type JwtAlgorithm, type JwtKey, parseJwtKey, toThumbprint } from '../../src/jwt/jwk.ts'
import { readJwt } from '../../src/jwt/read.ts'
import { verifyJwtSignature } from '../../src/jwt/signature.ts'

const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const satisfies readonly JwtAlgorithm[]

interface Signer {
  readonly privateKey: CryptoKey
  readonly jwk: Record<string, unknown>
  readonly key: JwtKey
}
const signers = new Map<JwtAlgorithm, Signer>()
beforeAll(async () => {
  for (const algorithm of ALGORITHMS) {
    const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true })
    const jwk = { ...(await exportJWK(publicKey)), alg: algorithm }
    const key = parseJwtKey(jwk)
    if (key === undefined) throw new Error(`a key of ${algorithm} is not read`)
    signers.set(algorithm, { privateKey, jwk, key })
  }
})
const signer = (algorithm: JwtAlgorithm) => signers.get(algorithm) as Signer
const sign = (algorithm: JwtAlgorithm, alg: string = algorithm) =>
  new SignJWT({ sub: 'alice' }).setProtectedHeader({ alg }).sign(signer(algorithm).privateKey)

describe.each(ALGORITHMS)('a token signed with %s', (algorithm) => {
  test('is verified with its key', async () => {
    const jwt = readJwt(await sign(algorithm))
    expect(jwt && (await verifyJwtSignature(jwt, signer(algorithm).key))).toBe(true)
  })

  test('is rejected when a bit of any part is changed', async () => {
    const text = await sign(algorithm)
    const changed = [0, 1, 2].map((part) => {
      const parts = text.split('.')
      const bytes = Buffer.from(parts[part] as string, 'base64url')
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1
      parts[part] = bytes.toString('base64url')
      return parts.join('.')
    })
    for (const one of changed) {
      const jwt = readJwt(one)
      expect(jwt !== undefined && (await verifyJwtSignature(jwt, signer(algorithm).key))).toBe(false)
    }
  })

  test('is rejected with every other key', async () => {
    const jwt = readJwt(await sign(algorithm))
    for (const other of ALGORITHMS) {
      if (other === algorithm || jwt === undefined) continue
      expect(await verifyJwtSignature(jwt, signer(other).key)).toBe(false)
    }
  })
})

test('the algorithm is that of the key, whatever the token says', async () => {
  const { jwk, privateKey } = signer('RS256')
  const { alg: _, ...bare } = jwk
  const key = parseJwtKey(bare)
  expect(key?.algorithm).toBe('RS256')
  // The same RSA key, used with the other padding.
  const pss = await crypto.subtle.importKey(
    'pkcs8',
    await crypto.subtle.exportKey('pkcs8', privateKey),
    { name: 'RSA-PSS', hash: 'SHA-256' },
    false,
    ['sign'],
  )
  const jwt = readJwt(await new SignJWT({}).setProtectedHeader({ alg: 'PS256' }).sign(pss))
  expect(jwt && key && (await verifyJwtSignature(jwt, key))).toBe(false)
})

test('RFC 7638 §3.1: the thumbprint of the example', async () => {
  const n =
    '0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw'
  const key = parseJwtKey({ kty: 'RSA', n, e: 'AQAB', alg: 'RS256', kid: '2011-04-29' })
  expect(key && (await toThumbprint(key.jwk))).toBe('NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs')
})

describe('a key is not read', () => {
  const rsa = () => signer('RS256').jwk
  const ec = () => signer('ES384').jwk
  test.each<[string, () => unknown]>([
    ['that is a shared secret', () => ({ kty: 'oct', k: 'c2VjcmV0' })],
    ['with a private part', () => ({ ...rsa(), d: 'AQAB' })],
    ['for encryption', () => ({ ...rsa(), use: 'enc' })],
    ['for other operations', () => ({ ...rsa(), key_ops: ['wrapKey'] })],
    ['with a small exponent', () => ({ ...rsa(), e: 'Aw' })],
    ['with another algorithm of its type', () => ({ ...rsa(), alg: 'RS512' })],
    ['of 1024 bits', () => ({ ...rsa(), n: (rsa().n as string).slice(0, 171) })],
    ['of 8192 bits', () => ({ ...rsa(), n: (rsa().n as string).repeat(4) })],
    ['with a leading zero', () => ({ ...rsa(), n: `AA${(rsa().n as string).slice(2)}` })],
    ['with an even modulus', () => ({ ...rsa(), n: `${(rsa().n as string).slice(0, -2)}AA` })],
    ['whose coordinate is short', () => ({ ...ec(), x: (ec().x as string).slice(4) })],
    ['of another curve', () => ({ ...ec(), crv: 'P-521' })],
    ['whose algorithm does not fit the curve', () => ({ ...ec(), alg: 'ES256' })],
    ['that is a text', () => 'key'],
    ['that is null', () => null],
  ])('%s', (_, make) => {
    expect(parseJwtKey(make())).toBeUndefined()
  })
})

test('a P-384 key off its curve verifies nothing', async () => {
  const { jwk } = signer('ES384')
  const key = parseJwtKey({ ...jwk, y: jwk.x })
  const jwt = readJwt(await sign('ES384'))
  expect(jwt && key && (await verifyJwtSignature(jwt, key))).toBe(false)
})
