import { crypto } from './crypto.ts'
import type { Sha256 } from './crypto-port.ts'

/**
 * SHA-256 in lower-case hex, of bytes or of a text's UTF-8; at once where the crypto backend
 * answers at once.
 */
export function sha256Hex(data: string | Uint8Array): string | Promise<string> {
  return crypto.sha256Hex(data)
}

/** A SHA-256 of something that comes in pieces, such as a snapshot. */
export function createSha256(): Sha256 {
  return crypto.createSha256()
}
