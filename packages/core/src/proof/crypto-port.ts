import type { KeyAlgorithm, PrivateJwk, PrivateKey, PublicKey } from './keys.ts'

/**
 * A SHA-256 that is fed piece by piece. WebCrypto has none, so there the pieces are kept until the
 * end: do not change them.
 */
export interface Sha256 {
  update(piece: Uint8Array): void
  /** Lower-case hex of all the pieces; the end of it. */
  hex(): string | Promise<string>
}

/**
 * The few operations that need a cryptographic library. node:crypto answers at once and WebCrypto
 * with promises; a caller in a hurry looks which of the two it got.
 */
export interface Crypto {
  readonly name: 'node' | 'web'
  sha256(data: string | Uint8Array): Uint8Array | Promise<Uint8Array>
  /** Lower-case hex. */
  sha256Hex(data: string | Uint8Array): string | Promise<string>
  /** One character per byte: the shortest text to keep as a key. */
  sha256Latin1(data: string | Uint8Array): string | Promise<string>
  createSha256(): Sha256
  /**
   * Whether that key signed the data: Ed25519 as in RFC 8032 with S < L, or ECDSA P-256 with
   * SHA-256 in the 64 bytes of IEEE P1363. False for a key that is weak or off its curve and for a
   * signature of another length. Throws only where the runtime lacks the algorithm.
   */
  verify(key: PublicKey, data: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
  generateKey(algorithm: KeyAlgorithm, extractable: boolean): PrivateKey | Promise<PrivateKey>
  /**
   * Does not look whether `d` fits the public part; `importPrivateKey` does. Throws what the
   * library throws.
   */
  importKey(jwk: PrivateJwk, publicKey: PublicKey, extractable: boolean): PrivateKey | Promise<PrivateKey>
  /** Undefined for a key that may not leave, and for one that this backend has not made. */
  exportKey(key: PrivateKey): PrivateJwk | undefined | Promise<PrivateJwk | undefined>
}
