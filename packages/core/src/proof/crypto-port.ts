import type { KeyAlgorithm, PrivateJwk, PrivateKey, PublicKey } from './keys.ts'

/**
 * An incremental SHA-256. WebCrypto has none, so that backend keeps all pieces until the end: do
 * not modify them.
 */
export interface Sha256 {
  update(piece: Uint8Array): void
  /** Returns the digest in lower-case hex. Call it once, after the last piece. */
  hex(): string | Promise<string>
}

/** A public key for `verifyJws`, as a JWK with the members of its type and no others. */
export interface JwsKey {
  readonly algorithm: JwsAlgorithm
  readonly jwk: object
}
export type JwsAlgorithm = 'RS256' | 'PS256' | 'ES384'

/**
 * The operations that need a cryptographic library. node:crypto is synchronous and WebCrypto
 * returns promises; callers on hot paths handle both cases.
 */
export interface Crypto {
  readonly name: 'node' | 'web'
  /** What verifies Ed25519 signatures. */
  readonly ed25519Library: 'openssl' | 'libsodium' | 'webcrypto'
  sha256(data: string | Uint8Array): Uint8Array | Promise<Uint8Array>
  /** Lower-case hex. */
  sha256Hex(data: string | Uint8Array): string | Promise<string>
  /** One character per byte, which makes the shortest map key. */
  sha256Latin1(data: string | Uint8Array): string | Promise<string>
  createSha256(): Sha256
  /**
   * Whether this key signed the data: Ed25519 (RFC 8032 with S < L and an R that is not of low
   * order), or ECDSA P-256 with SHA-256 (64 bytes, IEEE P1363). False for a key that is weak or off
   * its curve, and for a signature of another length. Throws only if the runtime does not support
   * the algorithm.
   */
  verify(key: PublicKey, data: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
  /**
   * Whether that key signed the data, with an algorithm that only access tokens use. RSA signatures
   * have the length of the modulus; ES384 signatures are r and s in 96 bytes. False for a key that
   * the library rejects.
   */
  verifyJws(key: JwsKey, data: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
  generateKey(algorithm: KeyAlgorithm, extractable: boolean): PrivateKey | Promise<PrivateKey>
  /**
   * Does not check whether `d` matches the public key; `importPrivateKey` does. Passes on what the
   * library throws.
   */
  importKey(jwk: PrivateJwk, publicKey: PublicKey, extractable: boolean): PrivateKey | Promise<PrivateKey>
  /** Undefined for a key that is not extractable or that another backend created. */
  exportKey(key: PrivateKey): PrivateJwk | undefined | Promise<PrivateJwk | undefined>
}
