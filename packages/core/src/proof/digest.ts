import { crypto } from './crypto.ts'
import type { Sha256 } from './crypto-port.ts'

/**
 * SHA-256 of bytes, or of the UTF-8 of a text, in lower-case hex. Synchronous if the crypto backend
 * is.
 */
export function sha256Hex(data: string | Uint8Array): string | Promise<string> {
  return crypto.sha256Hex(data)
}

/** An incremental SHA-256, for example for a snapshot. */
export function createSha256(): Sha256 {
  return crypto.createSha256()
}
