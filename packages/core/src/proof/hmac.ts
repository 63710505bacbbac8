import { isPromise } from '../is-promise.ts'
import { crypto } from './crypto.ts'

const BLOCK_BYTES = 64

/** HMAC-SHA-256 (RFC 2104); synchronous where the crypto backend is. */
export function hmacSha256(key: Uint8Array, data: Uint8Array): Uint8Array | Promise<Uint8Array> {
  if (key.length > BLOCK_BYTES) throw new TypeError('the key of an HMAC must not exceed 64 bytes')
  const inner = crypto.sha256(padded(key, 0x36, data))
  return isPromise(inner)
    ? inner.then((digest) => crypto.sha256(padded(key, 0x5c, digest)))
    : crypto.sha256(padded(key, 0x5c, inner))
}

function padded(key: Uint8Array, pad: number, data: Uint8Array): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES + data.length).fill(pad, 0, BLOCK_BYTES)
  for (let i = 0; i < key.length; i++) block[i] = (key[i] as number) ^ pad
  block.set(data, BLOCK_BYTES)
  return block
}
