import type { Credential } from '../credential/credential.ts'
import type { CredentialId, PermissionId, Ppid, Scope } from '../credential/ids.ts'
import { crypto } from '../proof/crypto.ts'
import type { PublicKey } from '../proof/keys.ts'
import { DigestMemo } from './digest-memo.ts'

/**
 * A credential whose signatures held, under the digest of the exact header text it came in. `key`
 * is the issuer's key they held under.
 */
export interface Remembered extends Credential {
  readonly digest: string
  readonly key: PublicKey
}

/**
 * Remembers that exactly these header bytes carry good signatures under that very key object, and
 * nothing more: time, site, scope, trust, revocation and possession are checked again each time. A
 * key that is replaced is another object, so a change of trust forgets by itself all that it
 * touches. Losing an entry costs one signature check and is never wrong.
 */
export interface SignatureMemory {
  readonly size: number
  /** The name under which this header text is remembered. */
  digest(header: string): string | Promise<string>
  /** The same for a text that was noted, at once. */
  notedDigest(header: string): string | undefined
  /** Notes the digest of a text that may come again soon. */
  note(header: string, digest: string): void
  /**
   * Forgets all texts that were noted, and nothing else. To be called every few seconds: a
   * credential that is bound to no key is as good as a password to an attacker who finds it in a
   * dump of this process.
   */
  forgetTexts(): void
  find(digest: string): Remembered | undefined
  remember(digest: string, credential: Credential, key: PublicKey): void
}

const WAYS = 8
const INTERNED_MAX = 4096
/** Enough for those who call all the time; each slot holds a whole header. */
const MEMO_SLOTS_MAX = 2048

/**
 * Bounded by `capacity` entries (rounded up to a power of two). A caller that sends one credential
 * in many spellings displaces only the entry of that credential id, and one that sends many
 * credentials displaces those that are seldom seen before those that are seen often.
 */
export function createSignatureMemory({ capacity = 16_384 }: { capacity?: number } = {}): SignatureMemory {
  if (!Number.isSafeInteger(capacity) || capacity < 1 || capacity > 2 ** 24)
    throw new TypeError('capacity must be a whole number from 1 to 16,777,216')
  return new TwoChoiceMemory(Math.max(WAYS, 2 ** Math.ceil(Math.log2(capacity))))
}

/**
 * Sets of eight places; the digest names two sets, and a newcomer goes to the emptier one, so that
 * nearly all places get used. A hit moves one place towards the front of its set, and where both
 * sets are full the last of the first one makes room.
 */
class TwoChoiceMemory implements SignatureMemory {
  size = 0
  private readonly setMask: number
  private readonly places: (Remembered | undefined)[]
  /**
   * Some bits of the digest at each place, never 0 where there is something: most look-ups need to
   * touch no more than these.
   */
  private readonly tags: Uint32Array
  /**
   * By credential id: one more than the set in which its latest spelling stands. A clash of ids
   * loses that knowledge and nothing else.
   */
  private readonly setOfCredential: Uint32Array
  private readonly memo: DigestMemo
  private readonly interned = new Map<string, string>()
  private readonly internedScopes = new Map<string, readonly Scope[]>()

  constructor(capacity: number) {
    this.setMask = capacity / WAYS - 1
    this.memo = new DigestMemo(Math.min(capacity / WAYS, MEMO_SLOTS_MAX))
    this.places = new Array<Remembered | undefined>(capacity).fill(undefined)
    this.tags = new Uint32Array(capacity)
    this.setOfCredential = new Uint32Array(capacity)
  }

  digest(header: string): string | Promise<string> {
    return crypto.sha256Latin1(header)
  }

  notedDigest(header: string): string | undefined {
    return this.memo.find(header)
  }

  note(header: string, digest: string): void {
    this.memo.keep(header, digest)
  }

  forgetTexts(): void {
    this.memo.clear()
  }

  find(digest: string): Remembered | undefined {
    const tag = tagOf(digest)
    return this.findIn(this.setOf(digest, 0), tag, digest) ?? this.findIn(this.setOf(digest, 3), tag, digest)
  }

  remember(digest: string, credential: Credential, key: PublicKey): void {
    const { setOfCredential } = this
    const clue = hashOf(credential.id) & (setOfCredential.length - 1)
    const siblingSet = setOfCredential[clue] ?? 0
    if (siblingSet > 0) this.forget(siblingSet - 1, (known) => known.id === credential.id)
    const one = this.setOf(digest, 0)
    const other = this.setOf(digest, 3)
    this.forget(one, (known) => known.digest === digest)
    this.forget(other, (known) => known.digest === digest)
    const set = this.filled(other) < this.filled(one) ? other : one
    const at = set * WAYS + Math.min(this.filled(set), WAYS - 1)
    if (this.places[at] === undefined) this.size++
    this.places[at] = this.compact(digest, credential, key)
    this.tags[at] = tagOf(digest)
    setOfCredential[clue] = set + 1
  }

  private setOf(digest: string, from: number): number {
    return (
      (digest.charCodeAt(from) | (digest.charCodeAt(from + 1) << 8) | (digest.charCodeAt(from + 2) << 16)) &
      this.setMask
    )
  }

  private findIn(set: number, tag: number, digest: string): Remembered | undefined {
    const { places, tags } = this
    const first = set * WAYS
    for (let i = first; i < first + WAYS; i++) {
      if (tags[i] !== tag) continue
      const found = places[i]
      if (found?.digest !== digest) continue
      if (i > first) {
        places[i] = places[i - 1]
        tags[i] = tags[i - 1] as number
        places[i - 1] = found
        tags[i - 1] = tag
      }
      return found
    }
    return undefined
  }

  private filled(set: number): number {
    let count = 0
    while (count < WAYS && this.tags[set * WAYS + count] !== 0) count++
    return count
  }

  /** Closes the gap, so that the filled places of a set are always its first. */
  private forget(set: number, which: (known: Remembered) => boolean): void {
    const { places, tags } = this
    const end = set * WAYS + this.filled(set)
    for (let i = set * WAYS; i < end; i++) {
      const known = places[i]
      if (known === undefined || !which(known)) continue
      for (let j = i; j < end - 1; j++) {
        places[j] = places[j + 1]
        tags[j] = tags[j + 1] as number
      }
      places[end - 1] = undefined
      tags[end - 1] = 0
      this.size--
      return
    }
  }

  /**
   * Pieces of a text keep the whole text alive; a remembered credential must not keep its header.
   */
  private compact(digest: string, credential: Credential, key: PublicKey): Remembered {
    // Verdicts hand these objects out, to many callers. None of them may change what the next one
    // gets.
    return Object.freeze({
      id: copyOf(credential.id) as CredentialId,
      issuer: this.intern(credential.issuer),
      ppid: copyOf(credential.ppid) as Ppid,
      site: this.intern(credential.site),
      scope: this.internScope(credential.scope),
      permissionId: credential.permissionId && (this.intern(credential.permissionId) as PermissionId),
      holderKey: credential.holderKey && copyOf(credential.holderKey),
      delegable: credential.delegable,
      validFromMs: credential.validFromMs,
      validUntilMs: credential.validUntilMs,
      createdMs: credential.createdMs,
      verificationMethod: this.intern(credential.verificationMethod),
      parent: credential.parent && this.compact('', credential.parent, key),
      digest,
      key,
    })
  }

  private intern(text: string): string {
    const known = this.interned.get(text)
    if (known !== undefined) return known
    if (this.interned.size >= INTERNED_MAX) this.interned.clear()
    const copy = copyOf(text)
    this.interned.set(copy, copy)
    return copy
  }

  private internScope(scope: readonly Scope[]): readonly Scope[] {
    const name = scope.join(' ')
    const known = this.internedScopes.get(name)
    if (known !== undefined) return known
    if (this.internedScopes.size >= INTERNED_MAX) this.internedScopes.clear()
    const copy = Object.freeze(scope.map((s) => this.intern(s) as Scope))
    this.internedScopes.set(name, copy)
    return copy
  }
}

function copyOf(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}

function tagOf(digest: string): number {
  return (
    (digest.charCodeAt(6) |
      (digest.charCodeAt(7) << 8) |
      (digest.charCodeAt(8) << 16) |
      (digest.charCodeAt(9) << 24) |
      1) >>>
    0
  )
}

/** Only spreads ids over places; who finds two that clash has gained nothing. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 15)) >>> 0
}
