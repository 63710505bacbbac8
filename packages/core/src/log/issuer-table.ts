import { parseTime } from '../encoding/rfc3339.ts'
import type { PublicKey } from '../proof/keys.ts'
import { parseMultikey } from '../proof/keys.ts'
import type { TrustedIssuer, TrustedKey } from '../verify/trust.ts'
import type { IssuerState } from './entry.ts'
import type { Revocation } from './position.ts'

/** What is known of one issuer. */
export interface IssuerRow {
  /**
   * Undefined while the issuer is trusted, and for one of which only compromised keys are known.
   */
  distrustedMs: number | undefined
  isTrusted: boolean
  /**
   * The last state that was stated. Kept while distrusted: its keys may yet turn out compromised.
   * Which of them are is worked in by `IssuerTable.applyCompromisedKeys`, or when the issuer is
   * asked for.
   */
  state: TrustedIssuer
  /** The `IssuerTable` version whose compromised keys are worked into `state`. */
  appliedVersion: number
}

/**
 * The issuers of a site, and the names and material of keys found compromised. Trust comes and goes
 * with what the log states last; that a key is compromised is final. It sticks to the name of the
 * key (its verificationMethod) and to its material, whichever issuer lists that: a secret known to
 * others signs for all of them.
 */
export class IssuerTable {
  readonly rows = new Map<string, IssuerRow>()
  /**
   * Since when, by verificationMethod and by Multikey. These two only grow, and their times only
   * fall. The material of a compromised name is added at once. The names of compromised material
   * are added late, by `applyCompromisedKeys` or when the issuer changes: many issuers may list the
   * same key, and an unsigned snapshot or entry must not cost time in proportion to all of them.
   */
  readonly compromisedMethods = new Map<string, number>()
  readonly compromisedKeys = new Map<string, number>()
  /** Rises whenever something is found compromised. */
  #version = 0

  /**
   * A register that changes independently of this one. Issuers that neither changes are the same
   * objects in both.
   */
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

  /** That the site no longer trusts an issuer that it did trust. */
  issuerRevocation(issuer: string): Revocation | undefined {
    const sinceMs = this.rows.get(issuer)?.distrustedMs
    return sinceMs === undefined ? undefined : { by: 'issuer', sinceMs }
  }

  /** That a key is compromised, whether or not its issuer is trusted or still lists it. */
  keyRevocation(issuer: string, keyId: string): Revocation | undefined {
    this.#findUpdated(issuer)
    const sinceMs = this.compromisedMethods.get(toMethod(issuer, keyId))
    return sinceMs === undefined ? undefined : { by: 'key', sinceMs }
  }

  /**
   * Replaces all that was stated about the issuer before. A key that the state itself calls
   * compromised is so since `atMs`.
   */
  trust(state: IssuerState, atMs: number): void {
    // What is compromised of the keys listed so far stays so under their names.
    const before = this.#findUpdated(state.issuer)
    // An issuer that was distrusted in between begins with new key objects, so nothing remembered
    // about the old ones applies.
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
        state: emptyIssuer(issuer),
        appliedVersion: -1,
      })
      return
    }
    known.distrustedMs = Math.min(known.distrustedMs ?? atMs, atMs)
    known.isTrusted = false
  }

  /**
   * Retired twice, a key stays retired since the earlier moment: the second statement must not make
   * signatures count that the first has ruled out. Only a whole new state of the issuer can move
   * it, as it could make the key active again.
   */
  retire(issuer: string, keyId: string, atMs: number): void {
    const known = this.#findUpdated(issuer)
    const key = known?.state.keys.get(toMethod(issuer, keyId))
    if (known === undefined || key === undefined || key.status === 'compromised') return
    const changedAtMs = key.status === 'retired' ? Math.min(key.changedAtMs ?? atMs, atMs) : atMs
    replaceKey(known, { ...key, status: 'retired', changedAtMs })
  }

  /**
   * Permanently. `multikey` is for a key that is no longer listed; that of a listed key is known.
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
   * Takes over every key that another register knows as compromised. Returns how many names of keys
   * were not known here.
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

  /** Works what is compromised into every issuer, and into `compromisedMethods`. */
  applyCompromisedKeys(): void {
    for (const issuer of this.rows.keys()) this.#findUpdated(issuer)
  }

  /**
   * The issuer with what is compromised worked into its keys. Nothing new can be learned about
   * other issuers from that: the material of a compromised name is in `compromisedKeys` already.
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

/** Issuers are values: code that holds one while it changes keeps what it was given. */
function replaceKey(known: IssuerRow, key: TrustedKey): void {
  const keys = new Map(known.state.keys).set(toMethod(known.state.issuer, key.id), key)
  known.state = { ...known.state, keys }
}

function emptyIssuer(issuer: string): TrustedIssuer {
  return { issuer, keys: new Map(), scope: undefined, credentialTtlSecondsMax: undefined }
}

function toTrustedIssuer(state: IssuerState, before: TrustedIssuer | undefined): TrustedIssuer {
  const { issuer, scope, credential_ttl_seconds_max: ttlMax } = state
  const keys = new Map<string, TrustedKey>()
  for (const { id, key, status, retired_at } of state.keys) {
    const method = toMethod(issuer, id)
    keys.set(method, {
      id,
      key: keyObject(key, before?.keys.get(method)?.key),
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
 * The same object as before while the material is the same, a new one otherwise: remembered
 * signatures are remembered by key object, so a statement that changes nothing costs nothing, and
 * one that changes a key forgets what that key had signed.
 */
function keyObject(multikey: string, before: PublicKey | undefined): PublicKey {
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
