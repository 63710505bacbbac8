import { encodeUtf8 } from '../encoding/utf8.ts'
import type { Crypto, JwsAlgorithm, JwsKey } from './crypto-port.ts'
import { decompressP256 } from './curves.ts'
import {
  isStrictEncoding,
  type KeyAlgorithm,
  type PrivateJwk,
  type PrivateKey,
  type PublicKey,
  publicKeyFromJwk,
} from './keys.ts'
import { isSoundSignature } from './signature.ts'

const PARAMETERS = {
  Ed25519: { name: 'Ed25519' },
  'P-256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
} as const satisfies Record<KeyAlgorithm, object>

const JWS_PARAMETERS = {
  RS256: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  PS256: { name: 'RSA-PSS', hash: 'SHA-256', saltLength: 32 },
  ES384: { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
} as const satisfies Record<JwsAlgorithm, object>

/**
 * A CryptoKey. Declared here, like the other parts of WebCrypto, so that the core needs no browser
 * types.
 */
export interface WebCryptoKey {
  readonly type: string
  readonly extractable: boolean
}
type KeyParameters = (typeof PARAMETERS)[KeyAlgorithm] | (typeof JWS_PARAMETERS)[JwsAlgorithm]
interface WebCrypto {
  digest(algorithm: 'SHA-256', data: Uint8Array): Promise<ArrayBuffer>
  verify(
    parameters: KeyParameters,
    key: WebCryptoKey,
    signature: Uint8Array,
    data: Uint8Array,
  ): Promise<boolean>
  sign(parameters: KeyParameters, key: WebCryptoKey, data: Uint8Array): Promise<ArrayBuffer>
  generateKey(
    parameters: KeyParameters,
    extractable: boolean,
    usages: string[],
  ): Promise<{ publicKey: WebCryptoKey; privateKey: WebCryptoKey }>
  importKey(
    format: 'raw',
    key: Uint8Array,
    parameters: KeyParameters,
    extractable: boolean,
    usages: string[],
  ): Promise<WebCryptoKey>
  importKey(
    format: 'jwk',
    key: object,
    parameters: KeyParameters,
    extractable: boolean,
    usages: string[],
  ): Promise<WebCryptoKey>
  exportKey(format: 'jwk', key: WebCryptoKey): Promise<Readonly<Record<string, unknown>>>
}

/**
 * Uses the WebCrypto of this runtime. If there is none, for example on a page without https, the
 * first use throws.
 */
export function createWebCrypto(): Crypto {
  const handles = new WeakMap<PublicKey, Promise<WebCryptoKey | undefined>>()
  const jwsHandles = new WeakMap<JwsKey, Promise<WebCryptoKey | undefined>>()
  const exportable = new WeakMap<PrivateKey, WebCryptoKey>()

  function publicHandle(key: PublicKey): Promise<WebCryptoKey | undefined> {
    let handle = handles.get(key)
    if (handle === undefined) {
      handle = importPublicKey(key)
      handles.set(key, handle)
    }
    return handle
  }

  function wrap(publicKey: PublicKey, handle: WebCryptoKey): PrivateKey {
    const key = privateKeyFromHandle(handle, publicKey)
    if (handle.extractable) exportable.set(key, handle)
    return key
  }

  async function sha256(data: string | Uint8Array): Promise<Uint8Array> {
    return new Uint8Array(
      await subtle().digest('SHA-256', typeof data === 'string' ? encodeUtf8(data) : data),
    )
  }

  async function sha256Hex(data: string | Uint8Array): Promise<string> {
    let hex = ''
    for (const byte of await sha256(data)) hex += byte.toString(16).padStart(2, '0')
    return hex
  }

  return {
    name: 'web',
    ed25519Library: 'webcrypto',
    sha256,
    sha256Hex,
    createSha256() {
      const pieces: Uint8Array[] = []
      return { update: (piece) => void pieces.push(piece), hex: () => sha256Hex(concat(pieces)) }
    },
    async sha256Latin1(data) {
      return String.fromCharCode(...(await sha256(data)))
    },
    async verify(key, data, signature) {
      if (!isSoundSignature(key.algorithm, signature)) return false
      const handle = await publicHandle(key)
      return (
        handle !== undefined && (await subtle().verify(PARAMETERS[key.algorithm], handle, signature, data))
      )
    },
    async verifyJws(key, data, signature) {
      let handle = jwsHandles.get(key)
      if (handle === undefined) {
        handle = importJwsKey(key)
        jwsHandles.set(key, handle)
      }
      const found = await handle
      return found !== undefined && subtle().verify(JWS_PARAMETERS[key.algorithm], found, signature, data)
    },
    async generateKey(algorithm, extractable) {
      const pair = await subtle().generateKey(PARAMETERS[algorithm], extractable, ['sign', 'verify'])
      const { kty, crv, x, y } = await subtle().exportKey('jwk', pair.publicKey)
      const publicKey = publicKeyFromJwk({ kty, crv, x, y })
      if (publicKey === undefined) throw new Error('WebCrypto generated an invalid key')
      return wrap(publicKey, pair.privateKey)
    },
    async importKey(jwk, publicKey, extractable) {
      return wrap(
        publicKey,
        await subtle().importKey('jwk', jwk, PARAMETERS[publicKey.algorithm], extractable, ['sign']),
      )
    },
    async exportKey(key) {
      const handle = exportable.get(key)
      if (handle === undefined) return undefined
      const { kty, crv, x, y, d } = await subtle().exportKey('jwk', handle)
      return (y === undefined ? { kty, crv, x, d } : { kty, crv, x, y, d }) as unknown as PrivateJwk
    },
  }
}

/**
 * A private key that signs with WebCrypto, whichever backend is used otherwise: only WebCrypto can
 * use a non-extractable CryptoKey.
 */
export function privateKeyFromHandle(handle: WebCryptoKey, publicKey: PublicKey): PrivateKey {
  return {
    publicKey,
    async sign(data) {
      return new Uint8Array(await subtle().sign(PARAMETERS[publicKey.algorithm], handle, data))
    },
  }
}

/** Undefined for a key that verifies no signature. */
async function importPublicKey({ algorithm, bytes }: PublicKey): Promise<WebCryptoKey | undefined> {
  if (!isStrictEncoding(algorithm, bytes)) return undefined
  const raw = algorithm === 'P-256' ? uncompressedP256(bytes) : bytes
  if (raw === undefined) return undefined
  return orUndefined(subtle().importKey('raw', raw, PARAMETERS[algorithm], false, ['verify']))
}

async function orUndefined(imported: Promise<WebCryptoKey>): Promise<WebCryptoKey | undefined> {
  try {
    return await imported
  } catch (error) {
    // A missing algorithm must not look like an invalid signature.
    if ((error as { name?: unknown } | null)?.name === 'NotSupportedError') throw error
    return undefined
  }
}

async function importJwsKey({ algorithm, jwk }: JwsKey): Promise<WebCryptoKey | undefined> {
  return orUndefined(subtle().importKey('jwk', jwk, JWS_PARAMETERS[algorithm], false, ['verify']))
}

/** Some runtimes do not support compressed points. */
function uncompressedP256(compressed: Uint8Array): Uint8Array | undefined {
  const point = decompressP256(compressed)
  if (point === undefined) return undefined
  const raw = new Uint8Array(65)
  raw[0] = 4
  raw.set(point.x, 1)
  raw.set(point.y, 33)
  return raw
}

function concat(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}

function subtle(): WebCrypto {
  const found = (globalThis as unknown as { crypto?: { subtle?: WebCrypto } }).crypto?.subtle
  if (found === undefined)
    throw new Error('this runtime has no WebCrypto; in a browser, load the page over https')
  return found
}
