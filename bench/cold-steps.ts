import { readCredentialHeader, type SignedCredential } from '@countersign/core'
import { decodeBase58 } from '../packages/core/src/encoding/base58.ts'
import { decodeBase64url } from '../packages/core/src/encoding/base64url.ts'
import { canonicalJson } from '../packages/core/src/encoding/jcs.ts'
import { isJsonObject, type JsonObject, parseJson } from '../packages/core/src/encoding/json.ts'
import { decodeUtf8 } from '../packages/core/src/encoding/utf8.ts'
import { crypto } from '../packages/core/src/proof/crypto.ts'
import type { Measured, Subject } from './measure.ts'
import { inTurn, required, type Sample } from './sample.ts'

/**
 * Our cold way from the header on, each subject one step longer than the one before: what a step
 * costs is the difference. Timing each step by itself would lie, since a text that is put together
 * lazily is paid for by the step that reads it first.
 */
export function coldSteps(sample: Sample, headers: readonly string[]): Subject[] {
  const prefix = (name: string, work: (header: string) => unknown): Subject => {
    const next = inTurn(headers)
    return {
      name,
      run(times) {
        for (let i = 0; i < times; i++)
          if (work(next()) === undefined) throw new Error(`${name}: a good header was refused`)
      },
    }
  }
  return [
    prefix('base64url, UTF-8', decoded),
    prefix('strict JSON', parsed),
    prefix('shape', shaped),
    prefix('canonical JSON', (header) => canonical(shaped(header))),
    prefix('SHA-256, twice', (header) => hashed(shaped(header))),
    prefix('base58', (header) => {
      const credential = shaped(header)
      return hashed(credential) && decodeSignature(credential)
    }),
    prefix('signature', (header) => {
      const credential = shaped(header)
      return (
        crypto.verify(sample.key.publicKey, hashed(credential), decodeSignature(credential)) === true ||
        undefined
      )
    }),
  ]
}

export interface Step {
  readonly name: string
  readonly quietUs: number
  readonly quietRatio: number
}

/**
 * The cost of each step by itself, at quiet moments; the last one is what the whole decision takes
 * beyond the steps.
 */
export function stepCosts(prefixes: readonly Measured[], whole: Measured): Step[] {
  return [...prefixes, { ...whole, name: 'all other checks' }].map(
    ({ name, quietUs, quietRatio }, i, all) => {
      const shorter = all[i - 1]
      return {
        name,
        quietUs: quietUs - (shorter?.quietUs ?? 0),
        quietRatio: quietRatio - (shorter?.quietRatio ?? 0),
      }
    },
  )
}

function decoded(header: string): string {
  return required(decodeUtf8(required(decodeBase64url(header))))
}

function parsed(header: string): JsonObject {
  const read = parseJson(decoded(header), { depthMax: 16 })
  if ('fault' in read || !isJsonObject(read.value)) throw new Error('our own header is not strict JSON')
  return read.value
}

function shaped(header: string): SignedCredential {
  const read = readCredentialHeader(header)
  if ('ok' in read) throw new Error(`our own credential was refused: ${read.code}`)
  return read
}

function canonical({ document, hasPlainStrings }: SignedCredential): readonly [string, string] {
  return [
    canonicalJson(document.proof as JsonObject, 'proofValue', hasPlainStrings),
    canonicalJson(document, 'proof', hasPlainStrings),
  ]
}

function hashed(credential: SignedCredential): Uint8Array {
  const [proof, document] = canonical(credential)
  const bytes = new Uint8Array(64)
  bytes.set(crypto.sha256(proof) as Uint8Array)
  bytes.set(crypto.sha256(document) as Uint8Array, 32)
  return bytes
}

function decodeSignature({ proof }: SignedCredential): Uint8Array {
  return required(decodeBase58(proof.proofValue.slice(1)))
}
