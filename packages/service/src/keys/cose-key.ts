import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'

const RSA_BITS_MIN = 2048

/** A public key of a passkey that can verify signatures. */
export interface CoseKey {
  readonly key: KeyObject
  /** For Ed25519 none: it is part of the algorithm. */
  readonly hash: 'sha256' | null
}

/**
 * The key in these bytes. Throws for bytes that are no key of an algorithm that we offer: a point
 * that is not on its curve, another curve, a short RSA key. The library accepts those.
 */
export async function parseCoseKey(bytes: Uint8Array): Promise<CoseKey> {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers')
  const members = decodeCredentialPublicKey(new Uint8Array(bytes)) as unknown as ReadonlyMap<number, unknown>
  const text = (label: number): string => {
    const value = members.get(label)
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64url')
    throw new Error(`the key has no bytes at ${label}`)
  }
  const kind = [1, 3, -1].map((label) => members.get(label))
  const toKey = (jwk: JsonWebKey) => createPublicKey({ key: jwk, format: 'jwk' })
  // The type, the algorithm and the curve.
  if (kind.join() === '2,-7,1')
    return { key: toKey({ kty: 'EC', crv: 'P-256', x: text(-2), y: text(-3) }), hash: 'sha256' }
  if (kind.join() === '1,-8,6') return { key: toKey({ kty: 'OKP', crv: 'Ed25519', x: text(-2) }), hash: null }
  if (kind[0] !== 3 || kind[1] !== -257) throw new Error('the key is of another kind')
  const key = toKey({ kty: 'RSA', n: text(-1), e: text(-2) })
  if ((key.asymmetricKeyDetails?.modulusLength ?? 0) < RSA_BITS_MIN) throw new Error('the key is too short')
  return { key, hash: 'sha256' }
}

/** Whether the authenticator has signed this, in the one encoding that a signature has. */
export function isSigned(
  { key, hash }: CoseKey,
  authenticatorData: Buffer,
  clientData: Buffer,
  signature: Buffer,
) {
  const signed = Buffer.concat([authenticatorData, createHash('sha256').update(clientData).digest()])
  return verify(hash, signed, key, signature)
}
