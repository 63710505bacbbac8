import { parseTime } from '../encoding/rfc3339.ts'
import type { PublicKey } from '../proof/keys.ts'
import { parseMultikey } from '../proof/keys.ts'
import type { TrustedIssuer, TrustedKey } from '../verify/trust.ts'
import type { IssuerState } from './entry.ts'
import type { Revocation } from './position.ts'

export interface IssuerRow {
  /** Undefined while the issuer is trusted, or if only compromised keys of it are known. */
  distrustedMs: number | undefined
  isTrusted: boolean
  /**
   * The last settings in the log. Kept after the issuer is distrusted, because one of its keys may
   * be marked as compromised later. `status` of the keys is updated by `applyCompromisedKeys`, and
   * on each look-up.
   */
  state: TrustedIssuer
  /** The version of the table whose compromised keys are applied to `state`. */
  appliedVersion: number
}

/**
 * The issuers of a site and their compromised keys. Trust in an issuer follows the latest entry. A
 * key stays compromised permanently, by name (verificationMethod) and by key material: an attacker
 * who knows the private key can sign for every issuer that lists it.
 */
export class IssuerTable {
  readonly rows = new Map<string, IssuerRow>()
  /**
   * When each key was compromised, by verificationMethod and by Multikey. Entries are never removed
   * and times never increase. If a name is compromised, its key material is added immediately. If
   * key material is compromised, the names are added later, by `applyCompromisedKeys` or on
   * look-up: many issuers may list the same key, and an unsigned entry must not cost time for all
   * of them.
   */
  readonly compromisedMethods = new Map<string, number>()
  readonly compromisedKeys = new Map<string, number>()
  /** Incremented for each newly compromised key. */
  #version = 0

  /** An independent copy. Issuers that neither table changes are shared objects. */
  clone(): IssuerTable {
    const copy = new IssuerTable()
    for (const [issuer, known] of this.rows) copy.rows.set(issuer, { ...known })
    for (const [name, sinceMs] of this.compromisedMethods) copy.compromisedMethods.set(name, sinceMs)
    for (const [key, sinceMs] of this.compromisedKeys) copy.compromisedKeys.set(key, sinceMs)
    copy.#version = this.#version
    return copy
  }

  trusted(issuer: string): TrustedIssuer | undefined {
    const known = this.#findUpdated(issuer)
    return known?.isTrusted === true ? known.state : undefined
  }

  /** Set if the site no longer trusts an issuer that it trusted before. */
  issuerRevocation(issuer: string): Revocation | undefined {
    const sinceMs = this.rows.get(issuer)?.distrustedMs
    return sinceMs === undefined ? undefined : { by: 'issuer', sinceMs }
  }

  /**
   * Set if the key is compromised, even if its issuer is not trusted or does not list it any more.
   */
  keyRevocation(issuer: string, keyId: string): Revocation | undefined {
    this.#findUpdated(issuer)
    const sinceMs = this.compromisedMethods.get(toMethod(issuer, keyId))
    return sinceMs === undefined ? undefined : { by: 'key', sinceMs }
  }

  /**
   * Replaces the settings of the issuer. A key with the status `compromised` is compromised since
   * `atMs`.
   */
  trust(state: IssuerState, atMs: number): void {
    // Keys listed so far that are compromised stay so under their names.
    const before = this.#findUpdated(state.issuer)
    // An issuer that was distrusted meanwhile gets new key objects, so that no cached signature
    // applies.
    const next = toTrustedIssuer(state, before?.isTrusted ? before.state : undefined)
    this.rows.set(state.issuer, {
      isTrusted: true,
      distrustedMs: undefined,
      state: next,
      appliedVersion: -1,
    })
    for (const { id, key, status } of state.keys) {
      const sinceMs = Math.min(
        this.compromisedMethods.get(toMethod(state.issuer, id)) ?? Infinity,
        status === 'compromised' ? atMs : Infinity,
      )
      if (sinceMs !== Infinity) this.compromise(state.issuer, id, sinceMs, key)
    }
  }

  distrust(issuer: string, atMs: number): void {
    const known = this.rows.get(issuer)
    if (known === undefined) {
      this.rows.set(issuer, {
        isTrusted: false,
        distrustedMs: atMs,
        state: createEmptyIssuer(issuer),
        appliedVersion: -1,
      })
      return
    }
    known.distrustedMs = Math.min(known.distrustedMs ?? atMs, atMs)
    known.isTrusted = false
  }

  /**
   * If a key is retired twice, the earlier time is kept: signatures that the first entry made
   * invalid must stay invalid. Only new settings of the issuer can change it.
   */
  retire(issuer: string, keyId: string, atMs: number): void {
    const known = this.#findUpdated(issuer)
    const key = known?.state.keys.get(toMethod(issuer, keyId))
    if (known === undefined || key === undefined || key.status === 'compromised') return
    const changedAtMs = key.status === 'retired' ? Math.min(key.changedAtMs ?? atMs, atMs) : atMs
    replaceKey(known, { ...key, status: 'retired', changedAtMs })
  }

  /**
   * Marks a key as compromised, permanently. `multikey` is needed only for a key that is not listed
   * any more.
   */
  compromise(issuer: string, keyId: string, atMs: number, multikey?: string): void {
    const method = toMethod(issuer, keyId)
    const listed = this.rows.get(issuer)?.state.keys.get(method)
    const news = [keepEarlier(this.compromisedMethods, method, atMs)]
    if (multikey !== undefined) news.push(keepEarlier(this.compromisedKeys, multikey, atMs))
    if (listed !== undefined) news.push(keepEarlier(this.compromisedKeys, listed.key.multikey, atMs))
    if (news.includes(true)) this.#version++
  }

  /**
   * Adds all compromised keys of another table. Returns the number of names that are new in this
   * table.
   */
  adoptCompromised(other: IssuerTable): number {
    this.applyCompromisedKeys()
    other.applyCompromisedKeys()
    const before = this.compromisedMethods.size
    for (const [name, sinceMs] of other.compromisedMethods) {
      const [issuer, keyId] = splitMethod(name)
      this.compromise(issuer, keyId, sinceMs)
    }
    const added = this.compromisedMethods.size - before
    for (const [key, sinceMs] of other.compromisedKeys) keepEarlier(this.compromisedKeys, key, sinceMs)
    this.#version++
    return added
  }

  /** Updates the keys of every issuer, and `compromisedMethods`. */
  applyCompromisedKeys(): void {
    for (const issuer of this.rows.keys()) this.#findUpdated(issuer)
  }

  /**
   * The issuer, after its compromised keys are updated. This cannot affect other issuers: the key
   * material of a compromised name is already in `compromisedKeys`.
   */
  #findUpdated(issuer: string): IssuerRow | undefined {
    const known = this.rows.get(issuer)
    if (known === undefined || known.appliedVersion === this.#version) return known
    known.appliedVersion = this.#version
    for (const [method, key] of known.state.keys) {
      const sinceMs = this.compromisedKeys.get(key.key.multikey)
      if (sinceMs === undefined) continue
      keepEarlier(this.compromisedMethods, method, sinceMs)
      if (key.status !== 'compromised' || key.changedAtMs !== sinceMs) {
        replaceKey(known, { ...key, status: 'compromised', changedAtMs: sinceMs })
      }
    }
    return known
  }
}

/** The issuer and the key id of a verificationMethod. */
export function splitMethod(method: string): readonly [issuer: string, keyId: string] {
  const hash = method.lastIndexOf('#')
  return [method.slice(0, hash), method.slice(hash + 1)]
}

function toMethod(issuer: string, keyId: string): string {
  return `${issuer}#${keyId}`
}

/** Replaces the object: a caller that holds the old one must not see it change. */
function replaceKey(known: IssuerRow, key: TrustedKey): void {
  const keys = new Map(known.state.keys).set(toMethod(known.state.issuer, key.id), key)
  known.state = { ...known.state, keys }
}

function createEmptyIssuer(issuer: string): TrustedIssuer {
  return { issuer, keys: new Map(), scope: undefined, credentialTtlSecondsMax: undefined }
}

function toTrustedIssuer(state: IssuerState, before: TrustedIssuer | undefined): TrustedIssuer {
  const { issuer, scope, credential_ttl_seconds_max: ttlMax } = state
  const keys = new Map<string, TrustedKey>()
  for (const { id, key, status, retired_at } of state.keys) {
    const method = toMethod(issuer, id)
    keys.set(method, {
      id,
      key: toKeyObject(key, before?.keys.get(method)?.key),
      status,
      changedAtMs: parseTime(retired_at),
    })
  }
  return {
    issuer,
    keys,
    scope: scope === null ? undefined : new Set(scope),
    credentialTtlSecondsMax: ttlMax ?? undefined,
  }
}

/**
 * Returns the same object while the key material is the same. Cached signatures are tied to key
 * objects: an entry that changes nothing keeps them, and one that changes a key drops them.
 */
function toKeyObject(multikey: string, before: PublicKey | undefined): PublicKey {
  if (before?.multikey === multikey) return before
  const key = parseMultikey(multikey)
  if (key === undefined) throw new TypeError('a key of an issuer is not a Multikey; parse the entry first')
  return key
}

function keepEarlier(times: Map<string, number>, name: string, atMs: number): boolean {
  const known = times.get(name)
  if (known !== undefined && known <= atMs) return false
  times.set(name, atMs)
  return true
}
