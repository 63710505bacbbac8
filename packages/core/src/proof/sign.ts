import { encodeBase58 } from '../encoding/base58.ts'
import type { JsonObject } from '../encoding/json.ts'
import { formatTime } from '../encoding/rfc3339.ts'
import { signingInput } from './check.ts'
import type { PrivateKey } from './keys.ts'
import { requireSuite } from './suites.ts'

export interface SignOptions {
  readonly key: PrivateKey
  /** The full DID URL of the key, `issuer#fragment`. */
  readonly verificationMethod: string
  readonly createdMs: number
  /** Default: `assertionMethod`. */
  readonly proofPurpose?: string
}

/**
 * Returns a copy of the document with a Data Integrity proof, in the suite of the key. Throws a
 * TypeError if the document already has a proof or has a value without a JSON form.
 */
export async function signDocument(unsecured: JsonObject, options: SignOptions): Promise<JsonObject> {
  const { key, verificationMethod, createdMs, proofPurpose = 'assertionMethod' } = options
  if (unsecured.proof !== undefined) throw new TypeError('the document has a proof already')
  const proof: JsonObject = {
    type: 'DataIntegrityProof',
    cryptosuite: requireSuite(key.publicKey.algorithm).name,
    created: formatTime(createdMs),
    verificationMethod,
    proofPurpose,
  }
  if (unsecured['@context'] !== undefined) proof['@context'] = unsecured['@context']
  const { bytes } = await signingInput(unsecured, proof)
  const signature = await key.sign(bytes)
  return { ...unsecured, proof: { ...proof, proofValue: `z${encodeBase58(signature)}` } }
}
