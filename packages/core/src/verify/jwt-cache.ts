import type { JwtFacts } from '../jwt/claims.ts'
import type { UnverifiedJwt } from '../jwt/read.ts'
import type { Grounds } from './grounds.ts'
import type { OAuthIssuer, TrustedJwtKey } from './trust.ts'

/**
 * A token with a valid signature under `key` and claims that `issuer` accepts. The signature itself
 * is not kept: with it, an attacker who reads the memory of this process could use the token.
 */
export interface VerifiedJwt {
  readonly issuer: OAuthIssuer
  readonly key: TrustedJwtKey
  readonly read: Pick<UnverifiedJwt, 'header' | 'claims'>
  readonly facts: JwtFacts
  readonly grounds: Grounds
  /** Of its text, in characters. */
  readonly length: number
}

const CAPACITY = 16_384
/** Claims take several times the memory of their text. */
const CHARS_MAX = 16 * 1024 * 1024

/** Freezes the parts: verdicts give them to many callers, and none may change them for the next. */
export function toVerifiedJwt(text: string, parts: Omit<VerifiedJwt, 'length'>): VerifiedJwt {
  const { read, facts, grounds } = parts
  const { header, claims } = read
  freezeAll(facts)
  freezeAll(grounds)
  return { ...parts, read: freezeAll({ header, claims }), length: text.length }
}

function freezeAll<Value extends object>(value: Value): Value {
  for (const member of Object.values(value))
    if (typeof member === 'object' && member !== null) freezeAll(member)
  return Object.freeze(value)
}

/**
 * Caches that a token text carries a valid signature and acceptable claims. Time, scope, revocation
 * and possession are checked for every request. A lost entry costs one signature check and never
 * changes a verdict.
 */
export class JwtCache {
  readonly #capacity: number
  readonly #charsMax: number
  readonly #entries = new Map<string, VerifiedJwt>()
  #chars = 0

  constructor({
    capacity = CAPACITY,
    charsMax = CHARS_MAX,
  }: {
    capacity?: number
    charsMax?: number
  } = {}) {
    this.#capacity = capacity
    this.#charsMax = charsMax
  }

  get size(): number {
    return this.#entries.size
  }

  find(digest: string): VerifiedJwt | undefined {
    return this.#entries.get(digest)
  }

  /** Removes the oldest entries when the cache is full, by their number or by their length. */
  set(digest: string, jwt: VerifiedJwt): void {
    this.#delete(digest)
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size < this.#capacity && this.#chars + jwt.length <= this.#charsMax) break
      this.#delete(oldest)
    }
    this.#entries.set(digest, jwt)
    this.#chars += jwt.length
  }

  #delete(digest: string): void {
    this.#chars -= this.#entries.get(digest)?.length ?? 0
    this.#entries.delete(digest)
  }
}
