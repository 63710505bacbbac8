import type { Crypto, JwsAlgorithm, JwsKey } from './crypto-port.ts'
import {
  isStrictEncoding,
  type PrivateJwk,
  type PrivateKey,
  type PublicKey,
  publicKeyFromJwk,
  publicKeyToJwk,
} from './keys.ts'
import { isSoundSignature } from './signature.ts'
import { isSodiumFaster, loadSodium, type Sodium } from './sodium.ts'

interface KeyObject {
  export(options: { format: 'jwk' }): unknown
}
/** ECDSA uses r and s concatenated, not the DER form of OpenSSL. */
type KeyInput =
  | KeyObject
  | { key: KeyObject; dsaEncoding: 'ieee-p1363' }
  | { key: KeyObject; padding: number; saltLength?: number }

/**
 * The part of node:crypto that is used. Declared here because the core compiles without Node's
 * types.
 */
interface NodeCrypto {
  createHash(algorithm: 'sha256'): { update(data: Uint8Array): unknown; digest(encoding: 'hex'): string }
  hash(algorithm: 'sha256', data: string | Uint8Array, encoding: 'hex' | 'latin1'): string
  verify(
    algorithm: 'sha256' | 'sha384' | null,
    data: Uint8Array,
    key: KeyInput,
    signature: Uint8Array,
  ): boolean
  sign(algorithm: 'sha256' | null, data: Uint8Array, key: KeyInput): Uint8Array
  createPublicKey(
    input: { key: object; format: 'jwk' } | { key: Uint8Array; format: 'der'; type: 'spki' },
  ): KeyObject
  createPrivateKey(input: { key: object; format: 'jwk' }): KeyObject
  generateKeyPairSync(type: 'ed25519'): { publicKey: KeyObject; privateKey: KeyObject }
  generateKeyPairSync(
    type: 'ec',
    options: { namedCurve: 'P-256' },
  ): { publicKey: KeyObject; privateKey: KeyObject }
}

/** How node:crypto verifies each of them. PS256 has a salt as long as its hash (RFC 7518 §3.5). */
const JWS_OPTIONS = {
  RS256: { digest: 'sha256', options: { padding: 1 } },
  PS256: { digest: 'sha256', options: { padding: 6, saltLength: 32 } },
  ES384: { digest: 'sha384', options: { dsaEncoding: 'ieee-p1363' } },
} as const satisfies Record<JwsAlgorithm, object>

const P256_SPKI_PREFIX = [
  0x30, 0x39, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48,
  0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x22, 0x00,
] as const

const USED = [
  'createHash',
  'hash',
  'verify',
  'sign',
  'createPublicKey',
  'createPrivateKey',
  'generateKeyPairSync',
] as const

/**
 * Undefined if the runtime has no node:crypto, or an incomplete one. It is loaded at run time, so
 * that bundlers ignore it.
 *
 * Ed25519 signatures are verified by libsodium if sodium-native is installed and this is a machine
 * on which it is the faster one. Tests name the library.
 */
export function createNodeCrypto(
  ed25519: 'openssl' | 'libsodium' = isSodiumFaster() ? 'libsodium' : 'openssl',
): Crypto | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?: (id: string) => unknown } }
  const found = process?.getBuiltinModule?.('node:crypto') as Partial<NodeCrypto> | undefined
  if (found === undefined || found === null || !USED.every((name) => typeof found[name] === 'function'))
    return undefined
  const node = found as NodeCrypto

  // Creating a KeyObject takes about a tenth of a verification. Null: a key that verifies no
  // signature.
  const inputs = new WeakMap<PublicKey, KeyInput | null>()
  const jwsKeys = new WeakMap<JwsKey, KeyObject | null>()
  const exportable = new WeakMap<PrivateKey, KeyObject>()

  function findJwsKey(key: JwsKey): KeyObject | null {
    let found = jwsKeys.get(key)
    if (found === undefined) {
      try {
        found = node.createPublicKey({ key: key.jwk, format: 'jwk' })
      } catch {
        found = null
      }
      jwsKeys.set(key, found)
    }
    return found
  }

  function keyInput(key: PublicKey): KeyInput | null {
    let input = inputs.get(key)
    if (input === undefined) {
      input = createKeyInput(key)
      inputs.set(key, input)
    }
    return input
  }

  function createKeyInput(key: PublicKey): KeyInput | null {
    if (!isStrictEncoding(key.algorithm, key.bytes)) return null
    try {
      if (key.algorithm === 'Ed25519')
        return node.createPublicKey({ key: publicKeyToJwk(key), format: 'jwk' })
      return toKeyInput(
        key,
        node.createPublicKey({ key: toP256Spki(key.bytes), format: 'der', type: 'spki' }),
      )
    } catch {
      return null // Not a point on the curve.
    }
  }

  // Loaded with the first signature: it takes 25 ms, which most commands need not spend.
  let sodium: Sodium | null | undefined
  function findSodium(): Sodium | null {
    if (sodium === undefined) sodium = (ed25519 === 'libsodium' ? loadSodium() : undefined) ?? null
    return sodium
  }

  function wrap(publicKey: PublicKey, handle: KeyObject, extractable: boolean): PrivateKey {
    const input = toKeyInput(publicKey, handle)
    const digest = toDigestName(publicKey)
    const key: PrivateKey = { publicKey, sign: (data) => node.sign(digest, data, input) }
    if (extractable) exportable.set(key, handle)
    return key
  }

  return {
    name: 'node',
    get ed25519Library() {
      return findSodium() === null ? 'openssl' : 'libsodium'
    },
    sha256: (data) => toBytes(node.hash('sha256', data, 'latin1')),
    sha256Hex: (data) => node.hash('sha256', data, 'hex'),
    sha256Latin1: (data) => node.hash('sha256', data, 'latin1'),
    createSha256() {
      const hash = node.createHash('sha256')
      return { update: (piece) => void hash.update(piece), hex: () => hash.digest('hex') }
    },
    verify(key, data, signature) {
      if (!isSoundSignature(key.algorithm, signature)) return false
      const found = key.algorithm === 'Ed25519' ? findSodium() : null
      if (found !== null)
        return (
          isStrictEncoding('Ed25519', key.bytes) &&
          found.crypto_sign_verify_detached(signature, data, key.bytes) === true
        )
      const input = keyInput(key)
      return input !== null && node.verify(toDigestName(key), data, input, signature)
    },
    verifyJws(key, data, signature) {
      const handle = findJwsKey(key)
      if (handle === null) return false
      const { digest, options } = JWS_OPTIONS[key.algorithm]
      return node.verify(digest, data, { key: handle, ...options }, signature)
    },
    generateKey(algorithm, extractable) {
      const pair =
        algorithm === 'Ed25519'
          ? node.generateKeyPairSync('ed25519')
          : node.generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const publicKey = publicKeyFromJwk(pair.publicKey.export({ format: 'jwk' }))
      if (publicKey === undefined) throw new Error('node:crypto generated an invalid key')
      return wrap(publicKey, pair.privateKey, extractable)
    },
    importKey: (jwk, publicKey, extractable) =>
      wrap(publicKey, node.createPrivateKey({ key: jwk, format: 'jwk' }), extractable),
    exportKey: (key) => exportable.get(key)?.export({ format: 'jwk' }) as PrivateJwk | undefined,
  }
}

/**
 * SubjectPublicKeyInfo with a compressed point (RFC 5480 §2). OpenSSL decompresses the point in a
 * quarter of the time that a JWK takes.
 */
function toP256Spki(compressed: Uint8Array): Uint8Array {
  const spki = new Uint8Array(P256_SPKI_PREFIX.length + compressed.length)
  spki.set(P256_SPKI_PREFIX)
  spki.set(compressed, P256_SPKI_PREFIX.length)
  return spki
}

/**
 * Faster than a Buffer from node:crypto: small ones are expensive to create outside of JavaScript.
 */
function toBytes(latin1: string): Uint8Array {
  const bytes = new Uint8Array(latin1.length)
  for (let i = 0; i < bytes.length; i++) bytes[i] = latin1.charCodeAt(i)
  return bytes
}

function toKeyInput({ algorithm }: PublicKey, key: KeyObject): KeyInput {
  return algorithm === 'P-256' ? { key, dsaEncoding: 'ieee-p1363' } : key
}

function toDigestName({ algorithm }: PublicKey): 'sha256' | null {
  return algorithm === 'P-256' ? 'sha256' : null
}
