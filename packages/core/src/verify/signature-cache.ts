import type { Credential } from '../credential/credential.ts'
import type { CredentialId, PermissionId, Ppid, Scope } from '../credential/ids.ts'
import { crypto } from '../proof/crypto.ts'
import type { PublicKey } from '../proof/keys.ts'
import { HeaderDigestCache } from './header-digest-cache.ts'
import type { Holders } from './holders.ts'
import { JwtCache } from './jwt-cache.ts'

/**
 * A credential with valid signatures, stored under the digest of the exact header text that carried
 * it. `key` is the issuer key that verified the root signature.
 */
export interface VerifiedCredential extends Credential {
  readonly digest: string
  readonly key: PublicKey
  readonly holders: Holders
}

const WAYS = 8
/** Enough for one more than the number of any set. */
const SET_BITS = 22
const INTERNED_MAX = 4096
/** Enough for the callers that send requests all the time; each slot holds a whole header. */
const HEADER_SLOTS_MAX = 2048

/**
 * Caches that a header text carries valid signatures under a given key object, and nothing else:
 * time, site, scope, trust, revocation and possession are checked for every request. Entries are
 * tied to the key object, so replacing a key invalidates them. A lost entry costs one signature
 * check and never changes a verdict.
 *
 * Bounded by `capacity` entries (rounded up to a power of two). A caller that sends one credential
 * in many spellings displaces only the entry of that credential id. A caller that sends many
 * credentials displaces rarely used entries before frequently used ones.
 *
 * Entries are stored in sets of eight. The digest selects two sets, and a new entry goes to the
 * emptier one, so nearly all slots get used. A hit moves an entry one slot towards the front of its
 * set. When both sets are full, the last entry of the first set is replaced.
 */
export class SignatureCache {
  /** Access tokens of OAuth issuers. They share the memoized texts with the headers. */
  readonly jwts: JwtCache
  size = 0
  private readonly setMask: number
  private readonly slots: (VerifiedCredential | undefined)[]
  /**
   * Some bits of the digest for each slot, never 0 for a used slot: most lookups read only these.
   * With a byte for each, and half as many buckets below, an entry takes 7 of 406 bytes less, and a
   * lookup as long as with 32 bits.
   */
  private readonly tags: Uint8Array
  /**
   * By credential id: one more than the set that holds its latest spelling, and above it some bits
   * of the id's hash, so that the set of another id is rarely searched. When two ids collide, an
   * older spelling may stay in the cache; nothing else is affected.
   */
  private readonly setByCredential: Uint32Array
  private readonly headers: HeaderDigestCache
  private readonly interned = new Map<string, string>()
  private readonly internedScopes = new Map<string, readonly Scope[]>()

  constructor({ capacity = 16_384 }: { capacity?: number } = {}) {
    if (!Number.isSafeInteger(capacity) || capacity < 1 || capacity > 2 ** 24)
      throw new TypeError('capacity must be a whole number from 1 to 16,777,216')
    const slots = Math.max(WAYS, 2 ** Math.ceil(Math.log2(capacity)))
    this.setMask = slots / WAYS - 1
    this.jwts = new JwtCache({ capacity: slots })
    this.headers = new HeaderDigestCache(Math.min(slots / WAYS, HEADER_SLOTS_MAX))
    this.slots = new Array<VerifiedCredential | undefined>(slots).fill(undefined)
    this.tags = new Uint8Array(slots)
    this.setByCredential = new Uint32Array(slots / 2)
  }

  /** The cache key of this header text. */
  digest(header: string): string | Promise<string> {
    return crypto.sha256Latin1(header)
  }

  /** The cache key of a header text that was memoized, without hashing it. */
  findDigest(header: string): string | undefined {
    return this.headers.find(header)
  }

  /** Keeps the digest of a header text that is likely to be sent again soon. */
  memoize(header: string, digest: string): void {
    this.headers.set(header, digest)
  }

  /**
   * Removes all memoized header texts, and nothing else. Call it every few seconds: an attacker who
   * finds the text of an unbound credential in a memory dump of this process can use it like a
   * password.
   */
  clearHeaders(): void {
    this.headers.clear()
  }

  find(digest: string): VerifiedCredential | undefined {
    const tag = toTag(digest)
    return (
      this.findIn(this.selectSet(digest, 0), tag, digest) ??
      this.findIn(this.selectSet(digest, 3), tag, digest)
    )
  }

  /**
   * Returns the stored copy. Use it instead of `credential`, whose strings keep the whole header
   * text in memory.
   */
  set(digest: string, credential: Credential, key: PublicKey, holders: Holders): VerifiedCredential {
    const { setByCredential } = this
    const hash = hashText(credential.id)
    const bucket = hash & (setByCredential.length - 1)
    const check = (hash >>> SET_BITS) << SET_BITS
    const previous = (setByCredential[bucket] ?? 0) ^ check
    if (previous > 0 && previous < 1 << SET_BITS)
      this.remove(previous - 1, (i) => this.slots[i]?.id === credential.id)
    const one = this.selectSet(digest, 0)
    const other = this.selectSet(digest, 3)
    const tag = toTag(digest)
    const hasDigest = (i: number) => this.tags[i] === tag && this.slots[i]?.digest === digest
    this.remove(one, hasDigest)
    this.remove(other, hasDigest)
    const set = this.countUsed(other) < this.countUsed(one) ? other : one
    const at = set * WAYS + Math.min(this.countUsed(set), WAYS - 1)
    if (this.slots[at] === undefined) this.size++
    const stored = this.compact(digest, credential, key, holders)
    this.slots[at] = stored
    this.tags[at] = tag
    setByCredential[bucket] = check | (set + 1)
    return stored
  }

  private selectSet(digest: string, from: number): number {
    return (
      (digest.charCodeAt(from) | (digest.charCodeAt(from + 1) << 8) | (digest.charCodeAt(from + 2) << 16)) &
      this.setMask
    )
  }

  private findIn(set: number, tag: number, digest: string): VerifiedCredential | undefined {
    const { slots, tags } = this
    const first = set * WAYS
    for (let i = first; i < first + WAYS; i++) {
      if (tags[i] !== tag) continue
      const found = slots[i]
      if (found?.digest !== digest) continue
      if (i > first) {
        slots[i] = slots[i - 1]
        tags[i] = tags[i - 1] as number
        slots[i - 1] = found
        tags[i - 1] = tag
      }
      return found
    }
    return undefined
  }

  private countUsed(set: number): number {
    let count = 0
    while (count < WAYS && this.tags[set * WAYS + count] !== 0) count++
    return count
  }

  /** Closes the gap, so that the used slots of a set are always the first ones. */
  private remove(set: number, matches: (slot: number) => boolean): void {
    const { slots, tags } = this
    const end = set * WAYS + this.countUsed(set)
    for (let i = set * WAYS; i < end; i++) {
      if (!matches(i)) continue
      for (let j = i; j < end - 1; j++) {
        slots[j] = slots[j + 1]
        tags[j] = tags[j + 1] as number
      }
      slots[end - 1] = undefined
      tags[end - 1] = 0
      this.size--
      return
    }
  }

  /** Copies all strings: a substring would keep the whole header text in memory. */
  private compact(
    digest: string,
    credential: Credential,
    key: PublicKey,
    holders: Holders,
  ): VerifiedCredential {
    // Verdicts give these objects to many callers, and no caller may change them for the next one.
    return Object.freeze({
      id: copyText(credential.id) as CredentialId,
      issuer: this.intern(credential.issuer),
      ppid: copyText(credential.ppid) as Ppid,
      site: this.intern(credential.site),
      scope: this.internScope(credential.scope),
      permissionId: credential.permissionId && (this.intern(credential.permissionId) as PermissionId),
      holderKey: credential.holderKey && copyText(credential.holderKey),
      delegable: credential.delegable,
      validFromMs: credential.validFromMs,
      validUntilMs: credential.validUntilMs,
      createdMs: credential.createdMs,
      verificationMethod: this.intern(credential.verificationMethod),
      parent: credential.parent && this.compact('', credential.parent, key, []),
      digest,
      key,
      holders: Object.freeze(holders),
    })
  }

  private intern(text: string): string {
    const known = this.interned.get(text)
    if (known !== undefined) return known
    if (this.interned.size >= INTERNED_MAX) this.interned.clear()
    const copy = copyText(text)
    this.interned.set(copy, copy)
    return copy
  }

  private internScope(scope: readonly Scope[]): readonly Scope[] {
    const name = scope.join(' ')
    const known = this.internedScopes.get(name)
    if (known !== undefined) return known
    if (this.internedScopes.size >= INTERNED_MAX) this.internedScopes.clear()
    const copy = Object.freeze(scope.map((s) => this.intern(s) as Scope))
    // Not under `name`: of a list with one scope it is that text itself, a part of the header.
    this.internedScopes.set(copy.join(' '), copy)
    return copy
  }
}

function copyText(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

function toTag(digest: string): number {
  return digest.charCodeAt(6) || 1
}

/** FNV-1a. Not collision resistant: a collision gains an attacker nothing. */
function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
