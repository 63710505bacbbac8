import { describe, expect, test } from 'vitest'
import { decodeBase58, encodeBase58 } from '../../src/encoding/base58.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { checkProof, signingInput } from '../../src/proof/check.ts'
import { crypto } from '../../src/proof/crypto.ts'
import { didKeyMethod } from '../../src/proof/did.ts'
import { type PrivateKey, type PublicKey, parseMultikey, publicKeyToJwk } from '../../src/proof/keys.ts'
import { importPrivateKey } from '../../src/proof/private-key.ts'
import { signDocument } from '../../src/proof/sign.ts'
import { findSuite, type Suite } from '../../src/proof/suites.ts'
import { hex, readJsonVector, readVector, unhex } from '../vectors.ts'

const CREATED_MS = Date.UTC(2023, 1, 24, 23, 36, 38)

const ROWS = [
  {
    name: 'eddsa-jcs-2022',
    folder: 'w3c-eddsa-jcs-2022',
    suffix: 'JCS',
    pair: 'keyPair',
    secret: 'privateKeyMultibase',
  },
  {
    name: 'ecdsa-jcs-2019',
    folder: 'w3c-ecdsa-jcs-2019-p256',
    suffix: 'JCSECDSAP256',
    pair: 'p256KeyPair',
    secret: 'secretKeyMultibase',
  },
] as const

describe.each(ROWS)('W3C test vectors: $name', ({ name, folder, suffix, pair, secret }) => {
  const text = (file: string) => readVector(`${folder}/${file}${suffix}.txt`).trim()
  const unsigned = readJsonVector<JsonObject>(`${folder}/unsigned.json`)
  const proofOptions = readJsonVector<JsonObject>(`${folder}/proofConfig${suffix}.json`)
  const signed = readJsonVector<JsonObject>(`${folder}/signed${suffix}.json`)
  const keyPair = readJsonVector<Record<string, string>>(`${folder}/${pair}.json`)
  const key = parseMultikey(keyPair.publicKeyMultibase) as PublicKey
  const suite = findSuite(name) as Suite

  function privateKey(): Promise<PrivateKey> {
    const codecAndSecret = decodeBase58((keyPair[secret] as string).slice(1)) as Uint8Array
    const d = Buffer.from(codecAndSecret.subarray(2)).toString('base64url')
    return importPrivateKey({ ...publicKeyToJwk(key), d })
  }

  test('has the published canonical forms, hashes and signing input', async () => {
    const input = await signingInput(unsigned, proofOptions)
    expect(input.canonicalDocument).toBe(text('canonDoc'))
    expect(input.canonicalProof).toBe(text('proofCanon'))
    expect(hex(input.bytes.subarray(32))).toBe(text('docHash'))
    expect(hex(input.bytes.subarray(0, 32))).toBe(text('proofHash'))
    expect(hex(input.bytes)).toBe(text('combinedHash'))
  })

  test('has the same signing input when it is taken from the signed document', async () => {
    expect(hex((await signingInput(signed, signed.proof as JsonObject)).bytes)).toBe(text('combinedHash'))
  })

  test('reads and writes the published signature, which verifies', async () => {
    const signature = unhex(text('sigHex'))
    expect(`z${encodeBase58(signature)}`).toBe(text('sigBTC58'))
    expect((signed.proof as JsonObject).proofValue).toBe(text('sigBTC58'))
    expect(await crypto.verify(key, unhex(text('combinedHash')), signature)).toBe(true)
  })

  test('accepts the published document', async () => {
    expect(await checkProof(signed, key, suite)).toBe(true)
  })

  test('signs the published document again', async () => {
    const again = await signDocument(unsigned, {
      key: await privateKey(),
      verificationMethod: didKeyMethod(key),
      createdMs: CREATED_MS,
    })
    expect(await checkProof(again, key, suite)).toBe(true)
    if (name === 'eddsa-jcs-2022') {
      expect(again).toEqual(signed)
    } else {
      // ECDSA signatures are random, so only their value may differ.
      expect({ ...again, proof: { ...(again.proof as JsonObject), proofValue: text('sigBTC58') } }).toEqual(
        signed,
      )
    }
  })
})
