import { crypto } from '../proof/crypto.ts'
import { parseStrictDictionary, serializeBytes } from './structured-field.ts'

const ALGORITHM = 'sha-256'
const SHA256_BYTES = 32

/** The `Content-Digest` field (RFC 9530 §2) for a body, which may be empty. */
export async function contentDigest(body: Uint8Array): Promise<string> {
  return serializeBytes(ALGORITHM, await crypto.sha256(body))
}

/**
 * The SHA-256 of a `Content-Digest` field. Undefined if it has none or is malformed. Digests of
 * other algorithms are ignored.
 */
export function parseContentDigest(lines: readonly string[]): Uint8Array | undefined {
  const [digest, parameters] = parseStrictDictionary(lines)?.get(ALGORITHM) ?? []
  return digest instanceof Uint8Array && digest.length === SHA256_BYTES && parameters?.size === 0
    ? new Uint8Array(digest)
    : undefined
}

/** Compares in constant time. */
export async function matchesDigest(digest: Uint8Array, body: Uint8Array): Promise<boolean> {
  const actual = await crypto.sha256(body)
  let difference = digest.length ^ actual.length
  for (let i = 0; i < actual.length; i++) difference |= (actual[i] as number) ^ (digest[i] ?? 0)
  return difference === 0
}
