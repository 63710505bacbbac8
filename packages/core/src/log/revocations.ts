import type { CredentialId, Ppid } from '../credential/ids.ts'
import type { Revocation } from '../verify/trust.ts'
import { ABSENT, RevokedTable, type TableSeed } from './revoked-table.ts'

const CREDENTIAL_PREFIX = 'cred_'
const PPID_PREFIX = 'did:service:ppid_'

/**
 * Which credentials, tokens and users of a site have been revoked, and since when. Revocations only add up: nothing here removes one, and
 * of two times for the same thing the earlier one stays.
 */
export class Revocations {
  readonly #credentials: RevokedTable
  readonly #tokens: RevokedTable
  /** Of every user ever revoked: when it first was, times two, plus one while it is revoked now. */
  readonly #users: RevokedTable
  /** Of users reinstated: the moment up to which what was signed for them stays revoked for ever. */
  readonly #cutoffs: RevokedTable
  /** Of users revoked once more after a reinstatement: since when. Says nothing while the user is not revoked. */
  readonly #revokedAgain: RevokedTable

  constructor(seed: TableSeed) {
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

  revokeCredential(id: CredentialId, atMs: number): void {
    this.#credentials.setLower(id, storable(atMs))
  }

  revokeToken(tokenSha256: string, atMs: number): void {
    this.#tokens.setLower(tokenSha256, storable(atMs))
  }

  revokeUser(ppid: Ppid, atMs: number): void {
    const at = storable(atMs)
    const user = this.#users.get(ppid)
    const isOpen = user !== ABSENT && user % 2 === 1
    const firstMs = user === ABSENT ? at : Math.min(Math.floor(user / 2), at)
    this.#users.set(ppid, firstMs * 2 + 1)
    if (this.#cutoffs.get(ppid) === ABSENT) return
    if (isOpen) this.#revokedAgain.setLower(ppid, at)
    else this.#revokedAgain.set(ppid, at)
  }

  /** Lets what is signed for the user from the second after `atMs` on count again. Never touches what was signed before. */
  reinstateUser(ppid: Ppid, atMs: number): void {
    const at = storable(atMs)
    const user = this.#users.get(ppid)
    this.#users.set(ppid, user === ABSENT ? at * 2 : user - (user % 2))
    // Times inside credentials have whole seconds, so the second in which the reinstatement fell belongs to the past.
    this.#cutoffs.set(ppid, Math.max(this.#cutoffs.get(ppid), Math.ceil(at / 1000) * 1000))
  }
}

/** Times before 1970 count as 1970: earlier than every credential there is. */
function storable(ms: number): number {
  return Math.max(0, Math.floor(ms))
}
