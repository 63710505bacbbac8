import type { Credential } from '../credential/credential.ts'
import { isPromise } from '../is-promise.ts'
import { toThumbprint } from '../jwt/jwk.ts'
import { parseDidKey } from '../proof/did.ts'
import { findKeyFault, publicKeyToJwk } from '../proof/keys.ts'

/**
 * The RFC 7638 thumbprint of the holder key of each credential of a chain, that of the leaf first.
 * Undefined for a credential that is not bound, and for a key that can never sign. Empty if none is
 * bound.
 */
export type Holders = readonly (string | undefined)[]

const NO_HOLDERS: Holders = Object.freeze([])

/** Synchronous if the crypto backend is. */
export function listHolders(credential: Credential): Holders | Promise<Holders> {
  const holders: (string | undefined | Promise<string>)[] = []
  let isBound = false
  let isLater = false
  for (let link: Credential | undefined = credential; link !== undefined; link = link.parent) {
    const holder = link.holderKey === undefined ? undefined : toHolderThumbprint(link.holderKey)
    isBound ||= holder !== undefined
    isLater ||= isPromise(holder)
    holders.push(holder)
  }
  if (!isBound) return NO_HOLDERS
  return isLater ? Promise.all(holders) : (holders as Holders)
}

/**
 * The thumbprint of a key that is written as did:key. Undefined for another text, and for a key
 * that is not a point on its curve.
 */
export function toHolderThumbprint(holderKey: string): string | undefined | Promise<string> {
  const key = parseDidKey(holderKey)
  if (key === undefined || (key.algorithm === 'P-256' && findKeyFault(key) !== undefined)) return undefined
  const jwk = publicKeyToJwk(key)
  return toThumbprint(
    jwk.kty === 'OKP'
      ? { crv: jwk.crv, kty: jwk.kty, x: jwk.x }
      : { crv: jwk.crv, kty: jwk.kty, x: jwk.x, y: jwk.y },
  )
}
