import type { CredentialId, Ppid } from '../credential/ids.ts'
import { NO_HORIZON } from './horizon.ts'
import type { Revocation } from './position.ts'
import { ABSENT, RevokedTable, type TableSeed } from './revoked-table.ts'

const CREDENTIAL_PREFIX = 'cred_'
const PPID_PREFIX = 'did:service:ppid_'

/**
 * The revoked credentials, tokens and users of a site, with the time of each revocation. A
 * revocation is never removed. If something is revoked twice, the earlier time is kept.
 */
export class Revocations {
  readonly #seed: TableSeed
  readonly #credentials: RevokedTable
  readonly #tokens: RevokedTable
  /**
   * For every user ever revoked: the time of the first revocation times two, plus one if the user
   * is revoked now.
   */
  readonly #users: RevokedTable
  /** For reinstated users: credentials signed up to this time stay revoked permanently. */
  readonly #cutoffs: RevokedTable
  /**
   * For users revoked again after a reinstatement: the time. Not used while the user is not
   * revoked.
   */
  readonly #revokedAgain: RevokedTable
  /** Of users signed out: access that was issued up to this moment has ended. */
  readonly #signedOut: RevokedTable
  /** Stolen holder keys, by thumbprint. */
  readonly #holders: RevokedTable
  /** What an issuer signed up to this moment is invalid. */
  readonly #issuerCutOffs = new Map<string, number>()
  /** What was issued for the site up to this moment is invalid. */
  #siteCutOffMs = ABSENT

  constructor(seed: TableSeed) {
    this.#seed = seed
    this.#credentials = new RevokedTable(seed, CREDENTIAL_PREFIX.length)
    this.#tokens = new RevokedTable(seed, 0)
    this.#users = new RevokedTable(seed, PPID_PREFIX.length)
    this.#cutoffs = new RevokedTable(seed, PPID_PREFIX.length)
    this.#revokedAgain = new RevokedTable(seed, PPID_PREFIX.length)
    this.#signedOut = new RevokedTable(seed, PPID_PREFIX.length)
    this.#holders = new RevokedTable(seed, 0)
  }

  /** How many revocations and cut-offs there are. */
  get size(): number {
    return (
      this.#credentials.size +
      this.#tokens.size +
      this.#users.size +
      this.#signedOut.size +
      this.#holders.size +
      this.#issuerCutOffs.size +
      (this.#siteCutOffMs === ABSENT ? 0 : 1)
    )
  }

  credential(id: CredentialId): Revocation | undefined {
    const sinceMs = this.#credentials.get(id)
    return sinceMs === ABSENT ? undefined : { by: 'credential', sinceMs }
  }

  token(tokenSha256: string): Revocation | undefined {
    const sinceMs = this.#tokens.get(tokenSha256)
    return sinceMs === ABSENT ? undefined : { by: 'token', sinceMs }
  }

  holder(thumbprint: string): Revocation | undefined {
    const sinceMs = this.#holders.get(thumbprint)
    return sinceMs === ABSENT ? undefined : { by: 'holder', sinceMs }
  }

  /** Whether the issuer or the whole site has been cut off since this was signed. */
  cutOff(issuer: string, createdMs: number): Revocation | undefined {
    // Written so that a time that is not a number counts as old.
    if (this.#siteCutOffMs !== ABSENT && !(createdMs > this.#siteCutOffMs))
      return { by: 'site', sinceMs: this.#siteCutOffMs }
    const sinceMs = this.#issuerCutOffs.get(issuer)
    return sinceMs === undefined || createdMs > sinceMs ? undefined : { by: 'issuer', sinceMs }
  }

  /** The cut-offs of issuers, and under the empty name that of the site. */
  get cutOffs(): ReadonlyMap<string, number> {
    return this.#siteCutOffMs === ABSENT
      ? this.#issuerCutOffs
      : new Map([...this.#issuerCutOffs, ['', this.#siteCutOffMs]])
  }

  user(ppid: Ppid, createdMs: number): Revocation | undefined {
    return this.#revokedUser(ppid, createdMs) ?? this.#signedOutUser(ppid, createdMs)
  }

  #signedOutUser(ppid: Ppid, createdMs: number): Revocation | undefined {
    const beforeMs = this.#signedOut.get(ppid)
    return beforeMs === ABSENT || createdMs > beforeMs ? undefined : { by: 'user', sinceMs: beforeMs }
  }

  #revokedUser(ppid: Ppid, createdMs: number): Revocation | undefined {
    const user = this.#users.get(ppid)
    if (user === ABSENT) return undefined
    const firstMs = Math.floor(user / 2)
    const cutoffMs = this.#cutoffs.get(ppid)
    // The condition also covers NaN: such a credential counts as old.
    if (cutoffMs === ABSENT || !(createdMs > cutoffMs)) return { by: 'user', sinceMs: firstMs }
    return user % 2 === 1 ? { by: 'user', sinceMs: this.#revokedAgain.get(ppid) } : undefined
  }

  /**
   * The revocations that `other` lacks, compared by hash; both tables must have the same seed. A
   * user that `other` reinstated after the last reinstatement here is not missing, because that
   * later statement wins. Revocations that the horizon makes obsolete are left out; users that are
   * revoked now, holder keys and cut-offs never are.
   */
  missingFrom(other: Revocations, { sinceMs, tokensSinceMs } = NO_HORIZON): Revocations {
    if (other.#seed[0] !== this.#seed[0] || other.#seed[1] !== this.#seed[1])
      throw new TypeError('only tables of the same seed can be compared')
    const missing = new Revocations(this.#seed)
    this.#credentials.forEach((low, high, atMs) => {
      if (atMs >= sinceMs && other.#credentials.getHashed(low, high) === ABSENT)
        missing.#credentials.setHashed(low, high, atMs)
    })
    this.#tokens.forEach((low, high, atMs) => {
      if (atMs >= tokensSinceMs && other.#tokens.getHashed(low, high) === ABSENT)
        missing.#tokens.setHashed(low, high, atMs)
    })
    this.#users.forEach((low, high, user) => {
      const cutoffMs = this.#cutoffs.getHashed(low, high)
      if (user % 2 === 0 && cutoffMs < sinceMs) return
      if (!other.#covers(low, high, user, cutoffMs)) missing.#addUser(low, high, user, this)
    })
    this.#holders.forEach((low, high, atMs) => {
      if (other.#holders.getHashed(low, high) === ABSENT) missing.#holders.setHashed(low, high, atMs)
    })
    this.#signedOut.forEach((low, high, beforeMs) => {
      if (beforeMs >= sinceMs && other.#signedOut.getHashed(low, high) < beforeMs)
        missing.#signedOut.setHashed(low, high, beforeMs)
    })
    for (const [issuer, beforeMs] of this.#issuerCutOffs)
      if ((other.#issuerCutOffs.get(issuer) ?? ABSENT) < beforeMs) missing.cutOffIssuer(issuer, beforeMs)
    if (other.#siteCutOffMs < this.#siteCutOffMs) missing.cutOffSite(this.#siteCutOffMs)
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
    other.#holders.forEach(lower(this.#holders))
    other.#signedOut.forEach((low, high, beforeMs) => {
      if (this.#signedOut.getHashed(low, high) < beforeMs) this.#signedOut.setHashed(low, high, beforeMs)
    })
    for (const [issuer, beforeMs] of other.#issuerCutOffs) this.cutOffIssuer(issuer, beforeMs)
    if (other.#siteCutOffMs !== ABSENT) this.cutOffSite(other.#siteCutOffMs)
    other.#users.forEach((low, high, user) => {
      this.#addUser(low, high, user, other)
    })
  }

  /**
   * Whether this table revokes everything that the given user record revokes, or has a later
   * reinstatement of that user.
   */
  #covers(low: number, high: number, user: number, cutoffMs: number): boolean {
    const known = this.#users.getHashed(low, high)
    if (known === ABSENT) return false
    if (known % 2 === 1) return true
    const knownCutoffMs = this.#cutoffs.getHashed(low, high)
    return user % 2 === 1 ? knownCutoffMs > cutoffMs : knownCutoffMs >= cutoffMs
  }

  /**
   * Merges a user record of `from` into this table. Everything that one of the two records revokes
   * is revoked.
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
    this.#credentials.setMin(id, toTableMs(atMs))
  }

  revokeToken(tokenSha256: string, atMs: number): void {
    this.#tokens.setMin(tokenSha256, toTableMs(atMs))
  }

  revokeHolder(thumbprint: string, atMs: number): void {
    this.#holders.setMin(thumbprint, toTableMs(atMs))
  }

  // A cut-off never moves back: of two moments the later one stays.

  signOutUser(ppid: Ppid, beforeMs: number): void {
    const before = toTableMs(beforeMs)
    if (this.#signedOut.get(ppid) < before) this.#signedOut.set(ppid, before)
  }

  cutOffIssuer(issuer: string, beforeMs: number): void {
    this.#issuerCutOffs.set(issuer, Math.max(this.#issuerCutOffs.get(issuer) ?? 0, toTableMs(beforeMs)))
  }

  cutOffSite(beforeMs: number): void {
    this.#siteCutOffMs = Math.max(this.#siteCutOffMs, toTableMs(beforeMs))
  }

  revokeUser(ppid: Ppid, atMs: number): void {
    const at = toTableMs(atMs)
    const user = this.#users.get(ppid)
    const isOpen = user !== ABSENT && user % 2 === 1
    const firstMs = user === ABSENT ? at : Math.min(Math.floor(user / 2), at)
    this.#users.set(ppid, firstMs * 2 + 1)
    if (this.#cutoffs.get(ppid) === ABSENT) return
    if (isOpen) this.#revokedAgain.setMin(ppid, at)
    else this.#revokedAgain.set(ppid, at)
  }

  /**
   * Credentials of this user are valid again if they are signed after the second of `atMs`. Older
   * ones stay revoked.
   */
  reinstateUser(ppid: Ppid, atMs: number): void {
    const at = toTableMs(atMs)
    const user = this.#users.get(ppid)
    this.#users.set(ppid, user === ABSENT ? at * 2 : user - (user % 2))
    // Credentials have times in whole seconds, so the second of the reinstatement itself stays
    // revoked.
    this.#cutoffs.set(ppid, Math.max(this.#cutoffs.get(ppid), Math.ceil(at / 1000) * 1000))
  }
}

/** Times before 1970 become 1970, which is earlier than any credential. */
function toTableMs(ms: number): number {
  return Math.max(0, Math.floor(ms))
}
