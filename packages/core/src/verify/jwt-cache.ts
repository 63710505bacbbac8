import type { JwtFacts } from '../jwt/claims.ts'
import type { UnverifiedJwt } from '../jwt/read.ts'
import type { Grounds } from './grounds.ts'
import type { OAuthIssuer, TrustedJwtKey } from './trust.ts'

/** A token with a valid signature under `key` and claims that `issuer` accepts. */
export interface VerifiedJwt {
  readonly issuer: OAuthIssuer
  readonly key: TrustedJwtKey
  readonly read: UnverifiedJwt
  readonly facts: JwtFacts
  readonly grounds: Grounds
}

const CAPACITY = 16_384

/**
 * Caches that a token text carries a valid signature and acceptable claims. Time, scope, revocation
 * and possession are checked for every request. A lost entry costs one signature check and never
 * changes a verdict.
 */
export class JwtCache {
  readonly #capacity: number
  readonly #entries = new Map<string, VerifiedJwt>()

  constructor({ capacity = CAPACITY }: { capacity?: number } = {}) {
    this.#capacity = capacity
  }

  get size(): number {
    return this.#entries.size
  }

  find(digest: string): VerifiedJwt | undefined {
    return this.#entries.get(digest)
  }

  /** Removes the oldest entry when the cache is full. */
  set(digest: string, jwt: VerifiedJwt): void {
    this.#entries.delete(digest)
    if (this.#entries.size >= this.#capacity) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    this.#entries.set(digest, jwt)
  }
}
