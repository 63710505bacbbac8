import { hash } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** What a secret is for: `svc_sk_` opens the API, `svc_at_` is an access token. */
export type SecretPrefix = 'svc_sk_' | 'svc_at_'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_BYTES = 32
/** 62⁴³ is just above 2²⁵⁶, and 62⁶ above 2³². */
const RANDOM_CHARS = 43
const CHECKSUM_CHARS = 6
const SHAPE = new RegExp(`^[0-9A-Za-z]{${RANDOM_CHARS + CHECKSUM_CHARS}}$`)

/**
 * The text of a secret: prefix, 256 random bits in base62, six characters of checksum. Throws a
 * TypeError unless `random` has 32 bytes.
 */
export function createSecretText(prefix: SecretPrefix, random: Uint8Array): string {
  if (random.length !== RANDOM_BYTES) throw new TypeError(`a secret is made of ${RANDOM_BYTES} random bytes`)
  const body = prefix + base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), RANDOM_CHARS)
  return body + checksum(body)
}

/**
 * The secret, or undefined if its shape or its checksum is wrong. The checksum does not prove that
 * the secret exists: it saves lookups of random text, and lets secret scanners be certain.
 */
export function parseSecretText(prefix: SecretPrefix, text: string): string | undefined {
  const end = prefix.length + RANDOM_CHARS
  if (
    text.length !== end + CHECKSUM_CHARS ||
    !text.startsWith(prefix) ||
    !SHAPE.test(text.slice(prefix.length))
  )
    return undefined
  return checksum(text.slice(0, end)) === text.slice(end) ? text : undefined
}

/**
 * The hash under which a secret is stored and looked up, in hex. The secret itself never reaches
 * the store.
 */
export function secretSha256(secret: string): string {
  return hash('sha256', secret, 'hex')
}

function checksum(body: string): string {
  let text = ''
  let rest = crc32(body)
  for (let i = 0; i < CHECKSUM_CHARS; i++) {
    text = (DIGITS[rest % 62] ?? '') + text
    rest = Math.floor(rest / 62)
  }
  return text
}

function base62(number: bigint, chars: number): string {
  let text = ''
  let rest = number
  for (let i = 0; i < chars; i++) {
    text = (DIGITS[Number(rest % 62n)] ?? '') + text
    rest /= 62n
  }
  return text
}
