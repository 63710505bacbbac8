import type { webcrypto } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkProof } from '../../src/proof/check.ts'
import { crypto } from '../../src/proof/crypto.ts'
import { type KeyAlgorithm, type PrivateJwk, type PublicKey, publicKeyFromJwk } from '../../src/proof/keys.ts'
import {
  exportPrivateJwk,
  generatePrivateKey,
  importPrivateKey,
  privateKeyFromCryptoKey,
} from '../../src/proof/private-key.ts'
import { signDocument } from '../../src/proof/sign.ts'
import { requireSuite } from '../../src/proof/suites.ts'

const ALGORITHMS: readonly KeyAlgorithm[] = ['Ed25519', 'P-256']
const DATA = new TextEncoder().encode('data')

const newJwk = async (algorithm: KeyAlgorithm): Promise<PrivateJwk> =>
  exportPrivateJwk(await generatePrivateKey(algorithm, { extractable: true }))

describe.each(ALGORITHMS)('a private %s key', (algorithm) => {
  test('signs for its public half', async () => {
    const key = await generatePrivateKey(algorithm)
    expect(key.publicKey.algorithm).toBe(algorithm)
    expect(await crypto.verify(key.publicKey, DATA, await key.sign(DATA))).toBe(true)
  })

  test('goes out and comes in again', async () => {
    const key = await generatePrivateKey(algorithm, { extractable: true })
    const jwk = await exportPrivateJwk(key)
    expect(Object.keys(jwk).sort()).toEqual(
      algorithm === 'Ed25519' ? ['crv', 'd', 'kty', 'x'] : ['crv', 'd', 'kty', 'x', 'y'],
    )
    const again = await importPrivateKey(jwk, { extractable: true })
    expect(again.publicKey.multikey).toBe(key.publicKey.multikey)
    expect(await crypto.verify(key.publicKey, DATA, await again.sign(DATA))).toBe(true)
    expect(await exportPrivateJwk(again)).toEqual(jwk)
  })

  test('stays inside unless it was made to leave', async () => {
    await expect(exportPrivateJwk(await generatePrivateKey(algorithm))).rejects.toThrow(TypeError)
    await expect(exportPrivateJwk(await importPrivateKey(await newJwk(algorithm)))).rejects.toThrow(TypeError)
  })

  test('does not show in JSON, nor in its members', async () => {
    const jwk = await newJwk(algorithm)
    const key = await importPrivateKey(jwk)
    expect(JSON.stringify(key)).not.toContain(jwk.d)
    expect(Object.keys(key).sort()).toEqual(['publicKey', 'sign'])
  })

  test('may carry what other software writes beside it', async () => {
    const alg = algorithm === 'Ed25519' ? 'EdDSA' : 'ES256'
    const jwk = { ...(await newJwk(algorithm)), kid: 'one', alg, use: 'sig', key_ops: ['sign'], ext: false }
    expect((await importPrivateKey(jwk)).publicKey.algorithm).toBe(algorithm)
  })

  test.each<[string, (jwk: PrivateJwk, other: PrivateJwk) => unknown]>([
    ['without d', ({ d: _, ...rest }) => rest],
    ['with a d that is no text', (jwk) => ({ ...jwk, d: 7 })],
    ['with a short d', (jwk) => ({ ...jwk, d: jwk.d.slice(2) })],
    ['with a padded d', (jwk) => ({ ...jwk, d: `${jwk.d}=` })],
    ['with a d of another key', (jwk, other) => ({ ...jwk, d: other.d })],
    ['with a d of zeros', (jwk) => ({ ...jwk, d: 'A'.repeat(43) })],
    ['with the x of another key', (jwk, other) => ({ ...jwk, x: other.x })],
    ['with a broken x', (jwk) => ({ ...jwk, x: `${jwk.x}A` })],
    ['for verifying only', (jwk) => ({ ...jwk, key_ops: ['verify'] })],
    ['for encryption', (jwk) => ({ ...jwk, use: 'enc' })],
    ['of another curve', (jwk) => ({ ...jwk, crv: 'X25519' })],
    ['that is text', (jwk) => JSON.stringify(jwk)],
    ['that is null', () => null],
  ])('is rejected %s, without repeating it', async (_, spoil) => {
    const jwk = await newJwk(algorithm)
    const error = await importPrivateKey(spoil(jwk, await newJwk(algorithm))).catch(
      (reason: unknown) => reason,
    )
    expect(error).toBeInstanceOf(TypeError)
    expect(String((error as Error).stack) + String((error as Error).cause)).not.toContain(jwk.d)
  })
})

describe.each(ALGORITHMS)('a CryptoKey of a browser wallet, %s', (algorithm) => {
  const parameters = algorithm === 'Ed25519' ? { name: 'Ed25519' } : { name: 'ECDSA', namedCurve: 'P-256' }

  async function newPair(extractable = false) {
    const pair = (await globalThis.crypto.subtle.generateKey(parameters, extractable, [
      'sign',
      'verify',
    ])) as webcrypto.CryptoKeyPair
    const { kty, crv, x, y } = await globalThis.crypto.subtle.exportKey('jwk', pair.publicKey)
    return { ...pair, ours: publicKeyFromJwk({ kty, crv, x, y }) as PublicKey }
  }

  test('signs, though it cannot be read', async () => {
    const { privateKey, ours } = await newPair()
    expect(privateKey.extractable).toBe(false)
    const key = await privateKeyFromCryptoKey(privateKey, ours)
    expect(key.publicKey).toBe(ours)
    expect(await crypto.verify(ours, DATA, await key.sign(DATA))).toBe(true)
    await expect(exportPrivateJwk(key)).rejects.toThrow(TypeError)
  })

  test('is rejected with the public half of another pair', async () => {
    const { privateKey } = await newPair()
    await expect(privateKeyFromCryptoKey(privateKey, (await newPair()).ours)).rejects.toThrow(TypeError)
  })

  test('is rejected when it is the public half, or of the other kind', async () => {
    const { publicKey, privateKey, ours } = await newPair()
    await expect(privateKeyFromCryptoKey(publicKey, ours)).rejects.toThrow(TypeError)
    const other = (await generatePrivateKey(algorithm === 'Ed25519' ? 'P-256' : 'Ed25519')).publicKey
    await expect(privateKeyFromCryptoKey(privateKey, other)).rejects.toThrow(TypeError)
  })
})

test('a key that lives elsewhere needs only a public key and a way to sign', async () => {
  const inside = await generatePrivateKey('P-256')
  const remote = { publicKey: inside.publicKey, sign: async (data: Uint8Array) => inside.sign(data) }
  const signed = await signDocument(
    { id: 'x' },
    { key: remote, verificationMethod: 'did:web:issuer.example#kms', createdMs: 0 },
  )
  expect(await checkProof(signed, remote.publicKey, requireSuite('P-256'))).toBe(true)
})
