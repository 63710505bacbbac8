import type { Scope } from '../credential/ids.ts'
import type { OAuthIssuer, SiteSettings, TrustedIssuer, TrustedJwtKey, TrustedKey } from '../verify/trust.ts'

/** Settings that accept only what both `one` and `other` accept. */
export function stricterSettings(one: SiteSettings, other: SiteSettings): SiteSettings {
  return {
    bearer: one.bearer === 'on' && other.bearer === 'on' ? 'on' : 'off',
    bearerOffMs:
      one.bearerOffMs === undefined
        ? other.bearerOffMs
        : Math.max(one.bearerOffMs, other.bearerOffMs ?? one.bearerOffMs),
    holderProof: one.holderProof === 'required' || other.holderProof === 'required' ? 'required' : 'optional',
    delegation: one.delegation === 'on' && other.delegation === 'on' ? 'on' : 'off',
    credentialTtlSecondsMax: lowest(one.credentialTtlSecondsMax, other.credentialTtlSecondsMax),
  }
}

/**
 * An issuer that accepts only what both `one` and `other` accept. Keys that one of them does not
 * list, or lists with other key material, are left out. The key objects are those of `one`, so
 * cached signatures stay valid.
 */
export function stricterIssuer(one: TrustedIssuer, other: TrustedIssuer): TrustedIssuer {
  if (one === other) return one
  const keys = new Map<string, TrustedKey>()
  for (const [method, key] of one.keys) {
    const same = other.keys.get(method)
    if (same?.key.multikey === key.key.multikey) keys.set(method, stricterKey(key, same))
  }
  return {
    issuer: one.issuer,
    keys,
    scope: commonScopes(one.scope, other.scope),
    credentialTtlSecondsMax: lowest(one.credentialTtlSecondsMax, other.credentialTtlSecondsMax),
  }
}

/** Undefined means no limit. */
function commonScopes(
  one: ReadonlySet<Scope> | undefined,
  other: ReadonlySet<Scope> | undefined,
): ReadonlySet<Scope> | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return new Set([...one].filter((scope) => other.has(scope)))
}

/** The keys that both list; undefined unless both state the same about everything else. */
export function stricterOAuthIssuer(one: OAuthIssuer, other: OAuthIssuer): OAuthIssuer | undefined {
  if (one === other) return one
  if (one.policy !== other.policy || one.userRefFromSubject !== other.userRefFromSubject) return undefined
  const keys = new Map<string, TrustedJwtKey>()
  for (const [method, key] of one.keys) {
    const same = other.keys.get(method)
    if (same?.key === key.key) keys.set(method, stricterKey(key, same))
  }
  return { ...one, keys }
}

const SEVERITY = { active: 0, retired: 1, compromised: 2 } as const

function stricterKey<Key extends Pick<TrustedKey, 'status' | 'changedAtMs'>>(one: Key, other: Key): Key {
  if (one.status !== other.status) {
    const { status, changedAtMs } = SEVERITY[one.status] > SEVERITY[other.status] ? one : other
    return { ...one, status, changedAtMs }
  }
  if (one.changedAtMs === other.changedAtMs) return one
  // A retired key without a time has no valid signatures.
  const isTimed = one.changedAtMs !== undefined && other.changedAtMs !== undefined
  return { ...one, changedAtMs: isTimed ? lowest(one.changedAtMs, other.changedAtMs) : undefined }
}

function lowest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}
