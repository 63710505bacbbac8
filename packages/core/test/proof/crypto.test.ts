import { afterEach, describe, expect, test, vi } from 'vitest'
import { crypto } from '../../src/proof/crypto.ts'
import { createNodeCrypto } from '../../src/proof/crypto-node.ts'
import { createWebCrypto } from '../../src/proof/crypto-web.ts'
import type { KeyAlgorithm, PublicKey } from '../../src/proof/keys.ts'
import { hex, unhex } from '../vectors.ts'
import { backends } from './backends.ts'

const ALGORITHMS: readonly KeyAlgorithm[] = ['Ed25519', 'P-256']
const DATA = unhex('00112233445566778899aabbccddeeff')
/** The tests replace the global one. */
const { getBuiltinModule } = process
const hasNode = getBuiltinModule?.('node:crypto') !== undefined
const ED25519_L = 2n ** 252n + 27742317777372353535851937790883648493n

afterEach(() => {
  vi.unstubAllGlobals()
})

describe('the choice of a backend', () => {
  test('is node:crypto where there is one', () => {
    expect(crypto.name).toBe(hasNode ? 'node' : 'web')
  })

  test.each([
    ['there is no process', undefined],
    ['process cannot be asked', {}],
    ['there is no such module', { getBuiltinModule: () => undefined }],
    ['the module lacks something', { getBuiltinModule: () => ({ verify() {}, sign() {} }) }],
  ])('is not node:crypto where %s', (_, process) => {
    vi.stubGlobal('process', process)
    expect(createNodeCrypto()).toBeUndefined()
  })

  test.runIf(hasNode).each([
    ['x64', 'libsodium'],
    ['arm64', 'openssl'],
    ['riscv64', 'openssl'],
  ])('for Ed25519 on %s is %s', (arch, library) => {
    vi.stubGlobal('process', { arch, getBuiltinModule })
    expect(createNodeCrypto()?.ed25519Library).toBe(library)
  })

  describe('on x64', () => {
    const load = (found: () => unknown) => {
      const find = (id: string) =>
        id === 'node:module' ? { createRequire: () => found } : getBuiltinModule(id as 'node:crypto')
      vi.stubGlobal('process', { arch: 'x64', getBuiltinModule: find })
      return createNodeCrypto()
    }

    test.runIf(hasNode).each([
      [
        'is not installed',
        () => {
          throw new Error('Cannot find module')
        },
      ],
      ['has another interface', () => ({})],
    ])('is OpenSSL if sodium-native %s', async (_, found) => {
      const crypto = load(found)
      const key = await crypto?.generateKey('Ed25519', false)
      expect(crypto?.ed25519Library).toBe('openssl')
      expect(key && crypto?.verify(key.publicKey, DATA, await key.sign(DATA))).toBe(true)
    })

    test.runIf(hasNode).each([-1, 0, 1, undefined, 'yes'])(
      'A355: an answer of the library other than true is no: %s',
      async (answer) => {
        const crypto = load(() => ({ crypto_sign_verify_detached: () => answer }))
        const key = await crypto?.generateKey('Ed25519', false)
        expect(crypto?.ed25519Library).toBe('libsodium')
        expect(key && crypto?.verify(key.publicKey, DATA, await key.sign(DATA))).toBe(false)
      },
    )
  })

  test('says what is missing where there is no WebCrypto either, and only when it is needed', async () => {
    const web = createWebCrypto()
    vi.stubGlobal('crypto', undefined)
    await expect(web.sha256('')).rejects.toThrow(/no WebCrypto/)
  })
})

describe.each(backends.map((backend) => [backend.ed25519Library, backend] as const))('%s', (_, backend) => {
  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
    ['€', 'c4cc90ed3d26f12d4b08a75140970a7904035c31cbb4515a83f19b9003c00d1d'],
  ])('hashes "%s"', async (text, expected) => {
    expect(await backend.sha256Hex(text)).toBe(expected)
    expect(hex(await backend.sha256(text))).toBe(expected)
    expect(Buffer.from(await backend.sha256Latin1(text), 'latin1').toString('hex')).toBe(expected)
    expect(hex(await backend.sha256(new TextEncoder().encode(text)))).toBe(expected)
  })

  test('hashes what comes in pieces like the whole', async () => {
    const sha256 = backend.createSha256()
    for (const piece of [DATA.subarray(0, 3), new Uint8Array(), DATA.subarray(3)]) sha256.update(piece)
    expect(await sha256.hex()).toBe(await backend.sha256Hex(DATA))
    expect(await backend.createSha256().hex()).toBe(await backend.sha256Hex(''))
  })

  test('hashes and verifies a view into a larger buffer, and only that', async () => {
    const large = unhex(`ff${hex(DATA)}ff`)
    const view = large.subarray(1, 1 + DATA.length)
    expect(await backend.sha256Hex(view)).toBe(await backend.sha256Hex(DATA))
    const key = await backend.generateKey('Ed25519', false)
    expect(await backend.verify(key.publicKey, view, await key.sign(DATA))).toBe(true)
    expect(await backend.verify(key.publicKey, DATA, await key.sign(view))).toBe(true)
  })

  describe.each(ALGORITHMS)('%s', (algorithm) => {
    async function signed() {
      const key = await backend.generateKey(algorithm, false)
      return { key, publicKey: key.publicKey, signature: new Uint8Array(await key.sign(DATA)) }
    }

    test('verifies what it signs', async () => {
      const { publicKey, signature } = await signed()
      expect(signature).toHaveLength(64)
      expect(await backend.verify(publicKey, DATA, signature)).toBe(true)
    })

    test('verifies under an equal key that is another object, again and again', async () => {
      const { publicKey, signature } = await signed()
      const other: PublicKey = { ...publicKey, bytes: new Uint8Array(publicKey.bytes) }
      expect(await backend.verify(other, DATA, signature)).toBe(true)
      expect(await backend.verify(other, DATA, signature)).toBe(true)
    })

    test('is understood by the other backend', async () => {
      const { publicKey, signature } = await signed()
      for (const other of backends) expect(await other.verify(publicKey, DATA, signature)).toBe(true)
    })

    test('rejects another key, other data and every changed byte of the signature', async () => {
      const { publicKey, signature } = await signed()
      expect(await backend.verify((await signed()).publicKey, DATA, signature)).toBe(false)
      expect(await backend.verify(publicKey, DATA.subarray(1), signature)).toBe(false)
      expect(await backend.verify(publicKey, new Uint8Array(), signature)).toBe(false)
      for (let i = 0; i < 64; i++) {
        const spoiled = signature.with(i, (signature[i] as number) ^ 1)
        expect(await backend.verify(publicKey, DATA, spoiled)).toBe(false)
      }
    })

    test.each([0, 1, 32, 63, 65, 70, 128])('rejects a signature of %d bytes', async (length) => {
      const { publicKey, signature } = await signed()
      const resized = new Uint8Array(length)
      resized.set(signature.subarray(0, length))
      expect(await backend.verify(publicKey, DATA, resized)).toBe(false)
    })

    test('rejects a signature of zeros and one of ones', async () => {
      const { publicKey } = await signed()
      expect(await backend.verify(publicKey, DATA, new Uint8Array(64))).toBe(false)
      expect(await backend.verify(publicKey, DATA, new Uint8Array(64).fill(255))).toBe(false)
    })

    test('lets no key out that was not made to leave', async () => {
      const kept = await backend.generateKey(algorithm, false)
      const free = await backend.generateKey(algorithm, true)
      expect(await backend.exportKey(kept)).toBeUndefined()
      expect(await backend.exportKey({ ...free })).toBeUndefined()
      expect(await backend.exportKey(free)).toMatchObject({
        crv: algorithm,
        d: expect.stringMatching(/^[\w-]{43}$/),
      })
      expect(JSON.stringify(free)).not.toContain(((await backend.exportKey(free)) as { d: string }).d)
    })
  })

  test('A048: rejects S + L, though the equation is satisfied', async () => {
    const key = await backend.generateKey('Ed25519', false)
    const signature = new Uint8Array(await key.sign(DATA))
    const s = BigInt(`0x${hex(signature.slice(32).toReversed())}`)
    signature.set(unhex((s + ED25519_L).toString(16).padStart(64, '0')).toReversed(), 32)
    expect(await backend.verify(key.publicKey, DATA, signature)).toBe(false)
  })

  test('A050: rejects every signature of a low-order key, also when the key came past the checks', async () => {
    // With the neutral element as the key, R = neutral and S = 0 satisfy the equation for all data.
    const neutral = `01${'00'.repeat(31)}`
    const key: PublicKey = { algorithm: 'Ed25519', bytes: unhex(neutral), multikey: 'z' }
    expect(await backend.verify(key, DATA, unhex(neutral + '00'.repeat(32)))).toBe(false)
  })

  test.each([
    ['P-256 off the curve', 'P-256', `02${'00'.repeat(31)}01`],
    ['P-256 with x = p', 'P-256', '02ffffffff00000001000000000000000000000000ffffffffffffffffffffffff'],
    ['P-256 of another length', 'P-256', '02'],
    ['Ed25519 off the curve', 'Ed25519', `02${'00'.repeat(31)}`],
    ['Ed25519 of another length', 'Ed25519', '02'],
    ['an unknown algorithm', 'P-384', '02'],
  ])('answers false, and does not throw, for a key that is %s', async (_, algorithm, bytes) => {
    const key = { algorithm: algorithm as KeyAlgorithm, bytes: unhex(bytes), multikey: 'z' }
    expect(await backend.verify(key, DATA, new Uint8Array(64).fill(1))).toBe(false)
  })
})

test('a WebCrypto that does not know the algorithm is an error of ours, not a bad signature', async () => {
  const web = createWebCrypto()
  const { publicKey } = await web.generateKey('Ed25519', false)
  const { subtle } = globalThis.crypto
  const importKey = () => Promise.reject(new DOMException('what is that?', 'NotSupportedError'))
  vi.stubGlobal('crypto', { subtle: { digest: subtle.digest.bind(subtle), importKey } })
  await expect(web.verify({ ...publicKey }, DATA, new Uint8Array(64).fill(1))).rejects.toThrow(
    'what is that?',
  )
})
