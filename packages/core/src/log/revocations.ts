import type { CredentialId, Ppid } from '../credential/ids.ts'
import type { Revocation } from './position.ts'
import { ABSENT, RevokedTable, type TableSeed } from './revoked-table.ts'

const CREDENTIAL_PREFIX = 'cred_'
const PPID_PREFIX = 'did:service:ppid_'

/**
 * Which credentials, tokens and users of a site have been revoked, and since when. Revocations only
 * add up: nothing here removes one, and of two times for the same thing the earlier one stays.
 */
export class Revocations {
  readonly #seed: TableSeed
  readonly #credentials: RevokedTable
  readonly #tokens: RevokedTable
  /** Of every user ever revoked: when it first was, times two, plus one while it is revoked now. */
  readonly #users: RevokedTable
  /**
   * Of users reinstated: the moment up to which what was signed for them stays revoked permanently.
   */
  readonly #cutoffs: RevokedTable
  /**
   * Of users revoked once more after a reinstatement: since when. Says nothing while the user is
   * not revoked.
   */
  readonly #revokedAgain: RevokedTable

  constructor(seed: TableSeed) {
    this.#seed = seed
    this.#credentials = new RevokedTable(seed, CREDENTIAL_PREFIX.length)
    this.#tokens = new RevokedTable(seed, 0)
    this.#users = new RevokedTable(seed, PPID_PREFIX.length)
    this.#cutoffs = new RevokedTable(seed, PPID_PREFIX.length)
    this.#revokedAgain = new RevokedTable(seed, PPID_PREFIX.length)
  }

  /** How many credentials, tokens and users have ever been revoked. */
  get size(): number {
    return this.#credentials.size + this.#tokens.size + this.#users.size
  }

  credential(id: CredentialId): Revocation | undefined {
    const sinceMs = this.#credentials.get(id)
    return sinceMs === ABSENT ? undefined : { by: 'credential', sinceMs }
  }

  token(tokenSha256: string): Revocation | undefined {
    const sinceMs = this.#tokens.get(tokenSha256)
    return sinceMs === ABSENT ? undefined : { by: 'token', sinceMs }
  }

  user(ppid: Ppid, createdMs: number): Revocation | undefined {
    const user = this.#users.get(ppid)
    if (user === ABSENT) return undefined
    const firstMs = Math.floor(user / 2)
    const cutoffMs = this.#cutoffs.get(ppid)
    // Written so that a time that is not a number counts as old.
    if (cutoffMs === ABSENT || !(createdMs > cutoffMs)) return { by: 'user', sinceMs: firstMs }
    return user % 2 === 1 ? { by: 'user', sinceMs: this.#revokedAgain.get(ppid) } : undefined
  }

  /**
   * What is revoked here and not in `other`, by hash; both must have the same seed. A user whom
   * `other` has reinstated after the last reinstatement known here is not missing: the later
   * statement replaces what is known here. Tokens revoked before `tokensSinceMs` have expired and
   * are left out.
   */
  missingFrom(other: Revocations, tokensSinceMs = Number.NEGATIVE_INFINITY): Revocations {
    if (other.#seed[0] !== this.#seed[0] || other.#seed[1] !== this.#seed[1])
      throw new TypeError('only tables of the same seed can be compared')
    const missing = new Revocations(this.#seed)
    this.#credentials.forEach((low, high, atMs) => {
      if (other.#credentials.getHashed(low, high) === ABSENT) missing.#credentials.setHashed(low, high, atMs)
    })
    this.#tokens.forEach((low, high, atMs) => {
      if (atMs >= tokensSinceMs && other.#tokens.getHashed(low, high) === ABSENT)
        missing.#tokens.setHashed(low, high, atMs)
    })
    this.#users.forEach((low, high, user) => {
      if (!other.#covers(low, high, user, this.#cutoffs.getHashed(low, high)))
        missing.#addUser(low, high, user, this)
    })
    return missing
  }

  /** Adds everything that is revoked in `other`, which must have the same seed. */
  addAll(other: Revocations): void {
    const lower = (into: RevokedTable) => (low: number, high: number, atMs: number) => {
      const known = into.getHashed(low, high)
      into.setHashed(low, high, known === ABSENT ? atMs : Math.min(known, atMs))
    }
    other.#credentials.forEach(lower(this.#credentials))
    other.#tokens.forEach(lower(this.#tokens))
    other.#users.forEach((low, high, user) => {
      this.#addUser(low, high, user, other)
    })
  }

  /**
   * Whether all that a user record elsewhere revokes is revoked here, or was settled here by a
   * later reinstatement.
   */
  #covers(low: number, high: number, user: number, cutoffMs: number): boolean {
    const known = this.#users.getHashed(low, high)
    if (known === ABSENT) return false
    if (known % 2 === 1) return true
    const knownCutoffMs = this.#cutoffs.getHashed(low, high)
    return user % 2 === 1 ? knownCutoffMs > cutoffMs : knownCutoffMs >= cutoffMs
  }

  /**
   * Merges a user record of `from` into this one. Where both have one, everything that either
   * revokes is revoked.
   */
  #addUser(low: number, high: number, user: number, from: Revocations): void {
    const known = this.#users.getHashed(low, high)
    const firstMs = Math.floor((known === ABSENT ? user : Math.min(known, user)) / 2)
    const isRevoked = user % 2 === 1 || (known !== ABSENT && known % 2 === 1)
    this.#users.setHashed(low, high, firstMs * 2 + (isRevoked ? 1 : 0))
    const cutoffMs = Math.max(this.#cutoffs.getHashed(low, high), from.#cutoffs.getHashed(low, high))
    if (cutoffMs === ABSENT) return
    this.#cutoffs.setHashed(low, high, cutoffMs)
    const again = from.#revokedAgain.getHashed(low, high)
    if (isRevoked) this.#revokedAgain.setHashed(low, high, again === ABSENT ? firstMs : again)
  }

  revokeCredential(id: CredentialId, atMs: number): void {
    this.#credentials.setMin(id, storable(atMs))
  }

  revokeToken(tokenSha256: string, atMs: number): void {
    this.#tokens.setMin(tokenSha256, storable(atMs))
  }

  revokeUser(ppid: Ppid, atMs: number): void {
    const at = storable(atMs)
    const user = this.#users.get(ppid)
    const isOpen = user !== ABSENT && user % 2 === 1
    const firstMs = user === ABSENT ? at : Math.min(Math.floor(user / 2), at)
    this.#users.set(ppid, firstMs * 2 + 1)
    if (this.#cutoffs.get(ppid) === ABSENT) return
    if (isOpen) this.#revokedAgain.setMin(ppid, at)
    else this.#revokedAgain.set(ppid, at)
  }

  /**
   * Lets what is signed for the user from the second after `atMs` on count again. Never touches
   * what was signed before.
   */
  reinstateUser(ppid: Ppid, atMs: number): void {
    const at = storable(atMs)
    const user = this.#users.get(ppid)
    this.#users.set(ppid, user === ABSENT ? at * 2 : user - (user % 2))
    // Times inside credentials have whole seconds, so the second in which the reinstatement fell
    // belongs to the past.
    this.#cutoffs.set(ppid, Math.max(this.#cutoffs.get(ppid), Math.ceil(at / 1000) * 1000))
  }
}

/** Times before 1970 count as 1970: earlier than every credential there is. */
function storable(ms: number): number {
  return Math.max(0, Math.floor(ms))
}
