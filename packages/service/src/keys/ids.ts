import { createHmac, randomBytes } from 'node:crypto'
import { type CredentialId, type Ppid, parseCredentialId, parsePpid } from '@countersign/core'

/**
 * Crockford's base32 in lower case: no i, l, o or u, and in ASCII order, so that ids sort by time.
 */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'
const PAIRWISE_SECRET_BYTES = 32

/**
 * A new id: `key_`, `tok_`, … and 26 characters. They are a UUIDv7 (RFC 9562 §5.7), so later ids
 * sort later, and the 74 random bits cannot be guessed.
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

/**
 * The secret from which the ppids of one site's users are derived, in base64url. No two sites share
 * one.
 */
export function createPairwiseSecret(): string {
  return randomBytes(PAIRWISE_SECRET_BYTES).toString('base64url')
}

/**
 * The ppid of a user at one site: HMAC-SHA-256 under the site's pairwise secret, 52 characters. It
 * is stable at one site, and ppids at different sites cannot be linked.
 */
export function derivePpid(pairwiseSecret: string, userRef: string): Ppid {
  const secret = parsePairwiseSecret(pairwiseSecret)
  return required(
    parsePpid(`did:service:ppid_${base32(createHmac('sha256', secret).update(userRef, 'utf8').digest())}`),
  )
}

/**
 * The key of a site for the ids of OAuth users and tokens. It is derived from the pairwise secret,
 * but does not reveal it: guards get this key, and pairwise ppids stay a secret of the service.
 */
export function deriveSubjectKey(pairwiseSecret: string): Uint8Array {
  return createHmac('sha256', parsePairwiseSecret(pairwiseSecret))
    .update('countersign subject key 1')
    .digest()
}

function parsePairwiseSecret(text: string): Buffer {
  const secret = Buffer.from(text, 'base64url')
  if (secret.length !== PAIRWISE_SECRET_BYTES) throw new Error('the pairwise secret has the wrong length')
  return secret
}

/**
 * Five bits at a time from the left. Zeros fill the last character, as in RFC 4648 §6, or precede a
 * UUID, as in ULIDs.
 */
export function base32(bytes: Uint8Array): string {
  // 128 bits are 26 characters with two bits left; these come first, so that the text sorts like
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
  if (value === undefined) throw new Error('a generated id does not match its grammar')
  return value
}
