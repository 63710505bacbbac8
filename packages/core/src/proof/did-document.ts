import { isJsonObject, type JsonObject, type JsonValue } from '../encoding/json.ts'
import type { DidKey } from './did.ts'
import { findKeyFault, type PublicKey, parseMultikey, publicKeyFromJwk } from './keys.ts'

/** The keys of a DID document that may sign credentials. */
export interface DidDocumentKeys {
  readonly keys: readonly DidKey[]
  /**
   * Keys listed for signing that are not used, for the operator: unsupported, expired or revoked.
   */
  readonly leftOut: readonly { readonly id: string; readonly why: string }[]
}

const METHODS_MAX = 32
const FRAGMENT = /^[A-Za-z0-9._~:=+-]{1,128}$/

const MULTIBASE_TYPES: readonly JsonValue[] = ['Multikey', 'Ed25519VerificationKey2020']
const JWK_TYPES: readonly JsonValue[] = ['JsonWebKey', 'JsonWebKey2020']
const SECRET_MEMBERS = ['secretKeyMultibase', 'privateKeyMultibase', 'secretKeyJwk', 'privateKeyJwk']

/**
 * Reads the `assertionMethod` keys of a DID document that the caller has fetched. Keys of
 * unsupported types are left out. Anything invalid makes the whole document a fault, with an
 * explanation for the operator: another DID, a foreign controller, a weak or malformed key, two
 * keys with one id, or a published private key.
 */
export function readDidDocument(
  document: JsonValue,
  did: string,
): DidDocumentKeys | { readonly fault: string } {
  if (!isJsonObject(document)) return { fault: 'the DID document is not an object' }
  if (document.id !== did) return { fault: `the DID document is not that of ${did}` }
  const methods = parseList(document.verificationMethod)
  const assertions = parseList(document.assertionMethod)
  if (methods === undefined) return { fault: `verificationMethod must be a list of at most ${METHODS_MAX}` }
  if (assertions === undefined) return { fault: `assertionMethod must be a list of at most ${METHODS_MAX}` }

  // Ids of all methods, including those that are not for signing, so that each reference is unique.
  const byId = new Map<string, JsonObject>()
  const wanted = new Set<string>()
  for (const method of [...methods, ...assertions.filter((entry) => typeof entry !== 'string')]) {
    if (!isJsonObject(method)) return { fault: 'a verification method is not an object' }
    const id = parseFragment(method.id, did)
    if (id === undefined)
      return {
        fault: `a verification method has an id that is not ${did}#… with a plain fragment of at most 128 characters`,
      }
    if (byId.has(id)) return { fault: `two verification methods are called #${id}` }
    byId.set(id, method)
  }
  for (const entry of assertions) {
    const reference = isJsonObject(entry) ? entry.id : entry
    const id = parseFragment(reference, did)
    // A key in the document of another DID cannot be trusted because of this document.
    if (id === undefined) continue
    if (wanted.has(id)) return { fault: `assertionMethod lists #${id} twice` }
    wanted.add(id)
  }

  const keys: DidKey[] = []
  const leftOut: { id: string; why: string }[] = []
  for (const id of wanted) {
    const method = byId.get(id)
    if (method === undefined) return { fault: `assertionMethod lists #${id}, which is not in the document` }
    const found = readMethodKey(method, did)
    if ('fault' in found) return { fault: `#${id}: ${found.fault}` }
    if ('why' in found) leftOut.push({ id, why: found.why })
    else keys.push({ id, key: found.key })
  }
  if (keys.length === 0)
    return {
      fault: [
        'the DID document has no supported assertionMethod key',
        ...leftOut.map(({ id, why }) => `#${id}: ${why}`),
      ].join('; '),
    }
  return { keys, leftOut }
}

function parseList(value: JsonValue | undefined): readonly JsonValue[] | undefined {
  if (value === undefined) return []
  return Array.isArray(value) && value.length <= METHODS_MAX ? value : undefined
}

/** The fragment of a DID URL of this DID, absolute or relative (DID Core §3.2.2). */
function parseFragment(value: JsonValue | undefined, did: string): string | undefined {
  if (typeof value !== 'string') return undefined
  const hash = value.indexOf('#')
  if (hash === -1 || (hash > 0 && value.slice(0, hash) !== did)) return undefined
  const fragment = value.slice(hash + 1)
  return FRAGMENT.test(fragment) ? fragment : undefined
}

function readMethodKey(
  method: JsonObject,
  did: string,
): { key: PublicKey } | { why: string } | { fault: string } {
  if (method.controller !== did) return { fault: 'its controller is not the DID itself' }
  if (SECRET_MEMBERS.some((member) => method[member] !== undefined))
    return { fault: 'the document publishes a secret key' }
  if (method.revoked !== undefined) return { why: 'it is marked as revoked' }
  // The core has no clock to check it with.
  if (method.expires !== undefined) return { why: 'it has an expiry, which is not supported' }
  return MULTIBASE_TYPES.includes(method.type ?? null) ? readMultibaseKey(method) : readJwkKey(method)
}

function readMultibaseKey({
  type,
  publicKeyMultibase,
}: JsonObject): { key: PublicKey } | { why: string } | { fault: string } {
  const key = parseMultikey(publicKeyMultibase)
  if (key === undefined || (type === 'Ed25519VerificationKey2020' && key.algorithm !== 'Ed25519')) {
    return { fault: 'publicKeyMultibase is not a valid Ed25519 or P-256 key' }
  }
  const fault = findKeyFault(key)
  return fault === undefined ? { key } : { fault }
}

function readJwkKey({
  type,
  publicKeyJwk: jwk,
}: JsonObject): { key: PublicKey } | { why: string } | { fault: string } {
  if (!JWK_TYPES.includes(type ?? null)) return { why: 'a key type that is not supported' }
  if (!isJsonObject(jwk)) return { fault: 'publicKeyJwk is missing' }
  if (jwk.d !== undefined) return { fault: 'the document publishes a secret key' }
  if (jwk.crv !== 'Ed25519' && jwk.crv !== 'P-256') return { why: 'a JWK that is neither Ed25519 nor P-256' }
  const key = publicKeyFromJwk(jwk)
  if (key === undefined) return { fault: 'publicKeyJwk is not a valid Ed25519 or P-256 public key' }
  const fault = findKeyFault(key)
  return fault === undefined ? { key } : { fault }
}
