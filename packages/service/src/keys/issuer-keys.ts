import { type DidKey, findDidKeys, findKeyFault, type KeyState, parseMultikey } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { IssuerKey } from '../store/operations/issuers.ts'

/**
 * Why keys are not accepted, in words for the administrator of the site; `at` is the index in the
 * given list.
 */
export interface InvalidKeys {
  readonly fault: string
  readonly at?: number
}

/** The keys of a DID that contains them, each validated as strictly as a key that is registered. */
export function readOwnKeys(did: string): readonly DidKey[] | InvalidKeys {
  const keys = findDidKeys(did)
  if (keys === undefined) return { fault: 'the DID does not contain a valid Ed25519 or P-256 key' }
  const fault = keys.map(({ key }) => findKeyFault(key)).find((found) => found !== undefined)
  return fault === undefined ? keys : { fault }
}

/**
 * Keys that an administrator has given. The id of a pinned key is its Multikey, unless the issuer
 * has that key under another id already.
 */
export function readPinnedKeys(
  multikeys: readonly string[],
  known: readonly KeyState[] = [],
): readonly DidKey[] | InvalidKeys {
  const keys: DidKey[] = []
  for (const [at, text] of multikeys.entries()) {
    const key = parseMultikey(text)
    if (key === undefined) return { fault: 'is not a valid Ed25519 or P-256 key in Multikey form', at }
    const fault = findKeyFault(key)
    if (fault !== undefined) return { fault, at }
    keys.push({ id: known.find((state) => state.key === text)?.id ?? text, key })
  }
  return keys
}

/**
 * The keys of an issuer after it publishes, or is given, this list. A known key keeps its status. A
 * key that is missing from the list is no longer accepted, but a compromised one is kept
 * permanently: neither its id nor its material can come back. Undefined when there would be too
 * many keys.
 */
export function nextKeyStates(
  before: readonly KeyState[],
  wanted: readonly DidKey[],
): readonly KeyState[] | undefined {
  const compromised = before.filter(({ status }) => status === 'compromised')
  const next: KeyState[] = []
  for (const { id, key } of wanted) {
    if (compromised.some((state) => state.id === id)) continue
    const same = before.find((state) => state.id === id && state.key === key.multikey)
    const isLeaked = compromised.some((state) => state.key === key.multikey)
    next.push(
      isLeaked
        ? { id, key: key.multikey, status: 'compromised' }
        : (same ?? { id, key: key.multikey, status: 'active' }),
    )
  }
  next.push(...compromised)
  return next.length <= limits.issuer_keys_max ? next : undefined
}

/** Whether two lists have the same keys with the same status, in any order. */
export function sameKeyStates(some: readonly IssuerKey[], others: readonly IssuerKey[]): boolean {
  const text = (states: readonly IssuerKey[]) =>
    JSON.stringify(
      states
        .map(({ id, key, kid, status, retired_at }) => [id, key, kid ?? null, status, retired_at ?? null])
        .sort(),
    )
  return text(some) === text(others)
}
