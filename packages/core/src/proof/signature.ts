import { isLowOrderEd25519, type KeyAlgorithm } from './keys.ts'

/** For both algorithms: R and S of Ed25519, r and s of P-256. */
const SIGNATURE_LENGTH = 64

/** The order of Ed25519's group, little-endian like S. */
const L = [
  0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0,
  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
] as const

/**
 * Whether a signature has 64 bytes and, for Ed25519, S < L (RFC 8032 §5.1.7) and an R that is not
 * of low order. Checked here because libraries differ: OpenSSL 3.0 accepts such an R, libsodium
 * does not. And all backends must reject a second S for the same signature.
 */
export function isSoundSignature(algorithm: KeyAlgorithm, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_LENGTH) return false
  if (algorithm !== 'Ed25519') return true
  for (let i = 31; i >= 0; i--) {
    const difference = (signature[32 + i] as number) - (L[i] as number)
    if (difference !== 0) return difference < 0 && !isLowOrderEd25519(signature)
  }
  return false
}
