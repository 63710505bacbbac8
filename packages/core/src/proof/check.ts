import { decodeBase58 } from '../encoding/base58.ts'
import { canonicalJson } from '../encoding/jcs.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../encoding/json.ts'
import { bytesFromLatin1 } from '../encoding/latin1.ts'
import { isPromise } from '../is-promise.ts'
import { crypto } from './crypto.ts'
import type { PublicKey } from './keys.ts'
import type { Suite } from './suites.ts'

/**
 * Whether `document.proof` is a valid Data Integrity proof of this suite, made by this key over the
 * rest of the document. The signature covers purpose, time and verificationMethod, but the caller
 * must check their values. Synchronous if the crypto backend is. `hasPlainStrings` is that of
 * `canonicalJson`.
 */
export function checkProof(
  document: JsonObject,
  key: PublicKey,
  suite: Suite,
  hasPlainStrings = false,
): boolean | Promise<boolean> {
  const { proof } = document
  if (!isJsonObject(proof) || proof.type !== 'DataIntegrityProof' || proof.cryptosuite !== suite.name)
    return false
  if (key.algorithm !== suite.algorithm) return false
  // The suites sign the document with the context of the proof, so the two must be equal.
  if (proof['@context'] !== undefined && !isSameJson(proof['@context'], document['@context'])) return false
  const signature = parseProofValue(proof.proofValue, suite)
  if (signature === undefined) return false
  const input = signingInput(document, proof, hasPlainStrings)
  if (isPromise(input)) return input.then(({ bytes }) => crypto.verify(key, bytes, signature))
  return crypto.verify(key, input.bytes, signature)
}

/** All intermediate values of a signature (vc-di-eddsa §3.3.4, vc-di-ecdsa §3.3.4). */
export interface SigningInput {
  readonly canonicalProof: string
  readonly canonicalDocument: string
  /** The signed bytes: the hash of the proof options, then the hash of the document. */
  readonly bytes: Uint8Array
}

/** Ignores `document.proof` and `proof.proofValue` if they are present. */
export function signingInput(
  document: JsonObject,
  proof: JsonObject,
  hasPlainStrings = false,
): SigningInput | Promise<SigningInput> {
  const canonicalProof = canonicalJson(proof, 'proofValue', hasPlainStrings)
  const canonicalDocument = canonicalJson(document, 'proof', hasPlainStrings)
  const toInput = (proofHash: string, documentHash: string): SigningInput => {
    return { canonicalProof, canonicalDocument, bytes: bytesFromLatin1(proofHash + documentHash) }
  }
  const proofHash = crypto.sha256Latin1(canonicalProof)
  const documentHash = crypto.sha256Latin1(canonicalDocument)
  return typeof proofHash === 'string' && typeof documentHash === 'string'
    ? toInput(proofHash, documentHash)
    : Promise.all([proofHash, documentHash]).then(([proof, document]) => toInput(proof, document))
}

/** The longest base58 text of 64 bytes, with the multibase prefix. */
const PROOF_VALUE_CHARS_MAX = 89

function parseProofValue(value: JsonValue | undefined, { signatureLength }: Suite): Uint8Array | undefined {
  if (typeof value !== 'string' || value.length > PROOF_VALUE_CHARS_MAX || value.charCodeAt(0) !== 0x7a)
    return undefined
  const signature = decodeBase58(value.slice(1))
  return signature?.length === signatureLength ? signature : undefined
}

function isSameJson(one: JsonValue, other: JsonValue | undefined): boolean {
  if (one === other) return true
  // Contexts are usually lists of strings, which can be compared without serializing them.
  if (
    Array.isArray(one) &&
    Array.isArray(other) &&
    one.length === other.length &&
    one.every((entry, i) => entry === other[i])
  )
    return true
  return other !== undefined && canonicalJson(one) === canonicalJson(other)
}
