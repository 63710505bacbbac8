import { bytesFromLatin1 } from '../encoding/latin1.ts'
import type { Crypto, JwsKey } from './crypto-port.ts'
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
/**
 * A key object alone is the fastest: Node takes 28 µs more for one with options, and another 37 to
 * 80 for `ieee-p1363`, which is r and s concatenated.
 */
type KeyInput =
  | KeyObject
  | { key: KeyObject; dsaEncoding: 'ieee-p1363' }
  | { key: KeyObject; padding: number; saltLength: number }

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

/** RSA-PSS with a salt as long as its hash (RFC 7518 §3.5). */
const PSS = { padding: 6, saltLength: 32 } as const
/** Of r and s of P-384, together. */
const ES384_BYTES = 96

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
  const handles = new WeakMap<PublicKey, KeyObject | null>()
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

  function findHandle(key: PublicKey): KeyObject | null {
    let handle = handles.get(key)
    if (handle === undefined) {
      handle = createHandle(key)
      handles.set(key, handle)
    }
    return handle
  }

  function createHandle(key: PublicKey): KeyObject | null {
    if (!isStrictEncoding(key.algorithm, key.bytes)) return null
    try {
      return key.algorithm === 'Ed25519'
        ? node.createPublicKey({ key: publicKeyToJwk(key), format: 'jwk' })
        : node.createPublicKey({ key: toP256Spki(key.bytes), format: 'der', type: 'spki' })
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
    const isP256 = publicKey.algorithm === 'P-256'
    const input: KeyInput = isP256 ? { key: handle, dsaEncoding: 'ieee-p1363' } : handle
    const key: PrivateKey = { publicKey, sign: (data) => node.sign(isP256 ? 'sha256' : null, data, input) }
    if (extractable) exportable.set(key, handle)
    return key
  }

  return {
    name: 'node',
    get ed25519Library() {
      return findSodium() === null ? 'openssl' : 'libsodium'
    },
    // Not as a Buffer: small ones are expensive to create outside of JavaScript.
    sha256: (data) => bytesFromLatin1(node.hash('sha256', data, 'latin1')),
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
        return isStrictEncoding('Ed25519', key.bytes) && verifyWith(found, key.bytes, data, signature)
      const handle = findHandle(key)
      if (handle === null) return false
      return key.algorithm === 'P-256'
        ? node.verify('sha256', data, handle, toDerSignature(signature))
        : node.verify(null, data, handle, signature)
    },
    verifyJws(key, data, signature) {
      const handle = findJwsKey(key)
      if (handle === null) return false
      switch (key.algorithm) {
        case 'RS256': // The padding of RSA keys is that of PKCS #1 v1.5 unless another one is asked for.
          return node.verify('sha256', data, handle, signature)
        case 'PS256':
          return node.verify('sha256', data, { key: handle, ...PSS }, signature)
        case 'ES384':
          return (
            signature.length === ES384_BYTES && node.verify('sha384', data, handle, toDerSignature(signature))
          )
      }
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

/** What is signed and its signature, one after the other. */
const room = /* @__PURE__ */ new Uint8Array(128)
const roomForData = /* @__PURE__ */ room.subarray(0, 64)
const roomForSignature = /* @__PURE__ */ room.subarray(64)

/**
 * sodium-native asks for the buffer of an array. V8 keeps the bytes of a small one in its heap and
 * makes a buffer only then, which takes 1 µs for two. So they are copied into a large one.
 */
function verifyWith(sodium: Sodium, key: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean {
  if (data.length !== roomForData.length)
    return sodium.crypto_sign_verify_detached(signature, data, key) === true
  roomForData.set(data)
  roomForSignature.set(signature)
  return sodium.crypto_sign_verify_detached(roomForSignature, roomForData, key) === true
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

/** r and s of ECDSA as OpenSSL reads them: a sequence of two integers (RFC 3279 §2.2.3). */
function toDerSignature(signature: Uint8Array): Uint8Array {
  const half = signature.length / 2
  const der = new Uint8Array(signature.length + 8)
  let end = 2
  for (let from = 0; from < signature.length; from += half) {
    const until = from + half
    let first = from
    while (first < until - 1 && signature[first] === 0) first++
    // Without a zero before it, the number would be negative.
    const zeros = (signature[first] as number) >= 0x80 ? 1 : 0
    const length = zeros + until - first
    der[end] = 0x02
    der[end + 1] = length
    der.set(signature.subarray(first, until), end + 2 + zeros)
    end += 2 + length
  }
  der[0] = 0x30
  der[1] = end - 2
  return der.subarray(0, end)
}
