import { decodeBase64url } from '../encoding/base64url.ts'
import { encodeUtf8 } from '../encoding/utf8.ts'
import { crypto } from './crypto.ts'
import { privateKeyFromHandle, type WebCryptoKey } from './crypto-web.ts'
import {
  type KeyAlgorithm,
  type PrivateJwk,
  type PrivateKey,
  type PublicKey,
  publicKeyFromJwk,
  publicKeyToJwk,
} from './keys.ts'

const PRIVATE_BYTES = 32
const PROBE = /* @__PURE__ */ encodeUtf8('Does this private key belong to this public key?')

/**
 * Creates a key pair. A key that is not `extractable` (the default) can sign but cannot be
 * exported.
 */
export async function generatePrivateKey(
  algorithm: KeyAlgorithm,
  { extractable = false } = {},
): Promise<PrivateKey> {
  return crypto.generateKey(algorithm, extractable)
}

/**
 * Imports a private JWK (Ed25519 or P-256). Throws a TypeError if it is not one, if its public part
 * is invalid, or if `d` does not match the public part. The message never contains the key.
 */
export async function importPrivateKey(jwk: unknown, { extractable = false } = {}): Promise<PrivateKey> {
  if (typeof jwk !== 'object' || jwk === null) throw new TypeError('a private JWK must be an object')
  // `key_ops` describes the private key, so it must not be checked with the public part.
  const { d, key_ops: keyOps, ...publicMembers } = jwk as Readonly<Record<string, unknown>>
  if (keyOps !== undefined && !(Array.isArray(keyOps) && keyOps.includes('sign')))
    throw new TypeError('the JWK is not for signing (key_ops)')
  const publicKey = publicKeyFromJwk(publicMembers)
  if (publicKey === undefined) throw new TypeError('the JWK is not a valid Ed25519 or P-256 key')
  if (typeof d !== 'string' || decodeBase64url(d)?.length !== PRIVATE_BYTES)
    throw new TypeError('the JWK has no private part (d) of 32 bytes')
  const key = await importKey({ ...publicKeyToJwk(publicKey), d }, publicKey, extractable)
  if (key === undefined || !(await isKeyPair(key)))
    throw new TypeError('the private part (d) of the JWK does not belong to its public part')
  return key
}

/** Drops the error of the library, which may quote the key. */
async function importKey(
  jwk: PrivateJwk,
  publicKey: PublicKey,
  extractable: boolean,
): Promise<PrivateKey | undefined> {
  try {
    return await crypto.importKey(jwk, publicKey, extractable)
  } catch {
    return undefined
  }
}

/** Throws a TypeError for a key that was created without `extractable` or by other code. */
export async function exportPrivateJwk(key: PrivateKey): Promise<PrivateJwk> {
  const jwk = await crypto.exportKey(key)
  if (jwk === undefined) throw new TypeError('this private key cannot be exported')
  return jwk
}

/**
 * Wraps the private key of a WebCrypto key pair, which may be non-extractable, as in a browser
 * wallet. Works on every runtime. Throws a TypeError if the key cannot sign or does not match
 * `publicKey`.
 */
export async function privateKeyFromCryptoKey(
  privateKey: WebCryptoKey,
  publicKey: PublicKey,
): Promise<PrivateKey> {
  const key = privateKeyFromHandle(privateKey, publicKey)
  if (!(await isKeyPair(key)))
    throw new TypeError('the CryptoKey cannot sign, or does not belong to the public key')
  return key
}

/** Signs and verifies once, because few libraries check whether the two keys match. */
async function isKeyPair(key: PrivateKey): Promise<boolean> {
  try {
    return await crypto.verify(key.publicKey, PROBE, await key.sign(PROBE))
  } catch {
    return false
  }
}
