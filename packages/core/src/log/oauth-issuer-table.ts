import type { JwtPolicy } from '../jwt/claims.ts'
import type { JwtKey } from '../jwt/jwk.ts'
import type { OAuthIssuer, TrustedJwtKey } from '../verify/trust.ts'
import { type OAuthIssuerState, parseKeyText, toJwtPolicy, toKeyText } from './oauth-issuer.ts'
import { parseEntryTime } from './parse-entry-time.ts'
import type { Revocation } from './position.ts'

interface OAuthIssuerRow {
  readonly state: OAuthIssuerState
  readonly issuer: OAuthIssuer
  /** Undefined while the issuer is trusted. */
  readonly distrustedMs: number | undefined
}

/**
 * The OAuth issuers of a site. Trust follows the latest entry; that a key is compromised is final,
 * under every issuer that lists it.
 */
export class OAuthIssuerTable {
  readonly rows = new Map<string, OAuthIssuerRow>()
  /** Since when, by thumbprint. */
  readonly compromised = new Map<string, number>()

  clone(): OAuthIssuerTable {
    const copy = new OAuthIssuerTable()
    for (const [name, row] of this.rows) copy.rows.set(name, row)
    for (const [thumbprint, sinceMs] of this.compromised) copy.compromised.set(thumbprint, sinceMs)
    return copy
  }

  trusted(issuer: string): OAuthIssuer | undefined {
    const row = this.rows.get(issuer)
    return row === undefined || row.distrustedMs !== undefined ? undefined : row.issuer
  }

  issuerRevocation(issuer: string): Revocation | undefined {
    const sinceMs = this.rows.get(issuer)?.distrustedMs
    return sinceMs === undefined ? undefined : { by: 'issuer', sinceMs }
  }

  keyRevocation(thumbprint: string): Revocation | undefined {
    const sinceMs = this.compromised.get(thumbprint)
    return sinceMs === undefined ? undefined : { by: 'key', sinceMs }
  }

  /** Replaces everything that was stated about the issuer before. */
  trust(state: OAuthIssuerState, atMs: number): void {
    for (const { id, status } of state.keys)
      if (status === 'compromised') this.compromised.set(id, Math.min(this.compromised.get(id) ?? atMs, atMs))
    this.rows.set(state.issuer, {
      state,
      issuer: this.#toIssuer(state, this.trusted(state.issuer)),
      distrustedMs: undefined,
    })
  }

  distrust(issuer: string, atMs: number): void {
    const row = this.rows.get(issuer)
    if (row !== undefined)
      this.rows.set(issuer, { ...row, distrustedMs: Math.min(row.distrustedMs ?? atMs, atMs) })
  }

  /** A key that was retired twice is retired since the earlier moment. */
  retire(issuer: string, thumbprint: string, retiredAt: string): void {
    this.#change(issuer, (state) => ({
      ...state,
      keys: state.keys.map((key) => {
        if (key.id !== thumbprint || key.status === 'compromised') return key
        const isEarlier = key.retired_at !== undefined && toMs(key.retired_at) <= toMs(retiredAt)
        return isEarlier ? key : { ...key, status: 'retired', retired_at: retiredAt }
      }),
    }))
  }

  compromise(thumbprint: string, atMs: number): void {
    const sinceMs = Math.min(this.compromised.get(thumbprint) ?? atMs, atMs)
    this.compromised.set(thumbprint, sinceMs)
    for (const issuer of this.rows.keys()) this.#change(issuer, (state) => state)
  }

  adoptCompromised(other: OAuthIssuerTable): number {
    const before = this.compromised.size
    for (const [thumbprint, sinceMs] of other.compromised) this.compromise(thumbprint, sinceMs)
    return this.compromised.size - before
  }

  #change(issuer: string, change: (state: OAuthIssuerState) => OAuthIssuerState): void {
    const row = this.rows.get(issuer)
    if (row === undefined) return
    const state = change(row.state)
    this.rows.set(issuer, { ...row, state, issuer: this.#toIssuer(state, row.issuer) })
  }

  /** Key objects that did not change are kept, so cached signatures stay valid. */
  #toIssuer(state: OAuthIssuerState, before: OAuthIssuer | undefined): OAuthIssuer {
    const keys = new Map<string, TrustedJwtKey>()
    for (const { id, kid, key, status, retired_at } of state.keys) {
      const method = `${state.issuer}#${id}`
      const compromisedMs = this.compromised.get(id)
      keys.set(method, {
        id,
        kid: kid ?? undefined,
        key: toKey(key, before?.keys.get(method)?.key),
        status: compromisedMs === undefined ? status : 'compromised',
        changedAtMs: compromisedMs ?? (retired_at === undefined ? undefined : toMs(retired_at)),
      })
    }
    const { issuer, user_ref_from_subject: userRefFromSubject } = state
    return { issuer, keys, policy: this.#toPolicy(state), userRefFromSubject }
  }

  /**
   * The same object as before if only keys have changed: cached tokens and running requests stay
   * valid.
   */
  #toPolicy(state: OAuthIssuerState): JwtPolicy {
    const row = this.rows.get(state.issuer)
    return row !== undefined && toPolicyText(row.state) === toPolicyText(state)
      ? row.issuer.policy
      : toJwtPolicy(state)
  }
}

function toPolicyText(state: OAuthIssuerState): string {
  return JSON.stringify({ ...state, keys: [] })
}

function toKey(text: string, before: JwtKey | undefined): JwtKey {
  if (before !== undefined && toKeyText(before) === text) return before
  const key = parseKeyText(text)
  if (key === undefined) throw new TypeError('an OAuth key cannot be read; parse the entry first')
  return key
}

function toMs(time: string): number {
  return parseEntryTime(time) ?? Number.NEGATIVE_INFINITY
}
