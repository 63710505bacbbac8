import { createHmac, randomBytes } from 'node:crypto'
import { type CredentialId, type Ppid, parseCredentialId, parsePpid } from '@countersign/core'

/**
 * Crockford's base32 in lower case: no i, l, o or u, and in the order of ASCII, so that ids sort by
 * the time they were made.
 */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const PAIRWISE_SECRET_BYTES = 32

/**
 * A new name for something of ours: `key_`, `tok_`, … and 26 characters. They are a UUIDv7 (RFC
 * 9562 §5.7), so names made later sort later, and the 74 random bits cannot be guessed.
 */
export function createId(prefix: string, nowMs: number): string {
  const bytes = randomBytes(16)
  bytes.writeUIntBE(nowMs, 0, 6)
  bytes[6] = 0x70 | ((bytes[6] as number) & 0x0f)
  bytes[8] = 0x80 | ((bytes[8] as number) & 0x3f)
  return prefix + base32(bytes)
}

export function createCredentialId(nowMs: number): CredentialId {
  return required(parseCredentialId(createId('cred_', nowMs)))
}

/** From which the ppids of one site's users are made, in base64url. Two sites never share one. */
export function createPairwiseSecret(): string {
  return randomBytes(PAIRWISE_SECRET_BYTES).toString('base64url')
}

/**
 * The name of a user at one site: HMAC-SHA-256 under the site's pairwise secret, 52 characters. The
 * same user keeps the same name there, and the names at different sites cannot be connected.
 */
export function derivePpid(pairwiseSecret: string, userRef: string): Ppid {
  const secret = Buffer.from(pairwiseSecret, 'base64url')
  if (secret.length !== PAIRWISE_SECRET_BYTES)
    throw new Error('a pairwise secret of another length than ours')
  return required(
    parsePpid(`did:service:ppid_${base32(createHmac('sha256', secret).update(userRef, 'utf8').digest())}`),
  )
}

/**
 * The bits from the left, five at a time; zeros fill up the last character, as in RFC 4648 §6, or
 * lead a UUID, as in ULIDs.
 */
function base32(bytes: Uint8Array): string {
  // 128 bits are 26 characters with two bits to spare, in front, so that the text still sorts like
  // the number.
  let bits = bytes.length === 16 ? 2 : 0
  let value = 0
  let text = ''
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += DIGITS[(value >> bits) & 31]
    }
  }
  return bits > 0 ? text + DIGITS[(value << (5 - bits)) & 31] : text
}

function required<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('an id of our own making does not fit its grammar')
  return value
}
