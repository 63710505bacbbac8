// The peer packages bring no types.
// @ts-expect-error
import { DataIntegrityProof } from '@digitalbazaar/data-integrity'
// @ts-expect-error
import * as Ed25519Multikey from '@digitalbazaar/ed25519-multikey'
// @ts-expect-error
import { createSignCryptosuite, createVerifyCryptosuite } from '@digitalbazaar/eddsa-jcs-2022-cryptosuite'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import type { JsonObject } from '../../src/encoding/json.ts'
import { checkProof } from '../../src/proof/check.ts'
import { didKey, didKeyMethod } from '../../src/proof/did.ts'
import { type PrivateKey, type PublicKey, parseMultikey } from '../../src/proof/keys.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { signDocument } from '../../src/proof/sign.ts'
import { findSuite, type Suite } from '../../src/proof/suites.ts'

const CREATED_MS = Date.UTC(2026, 10, 14, 12)
const SUITE = findSuite('eddsa-jcs-2022') as Suite

const credential = (issuer: string): JsonObject => ({
  '@context': ['https://www.w3.org/ns/credentials/v2', 'https://w3id.org/countersign/access/v1'],
  id: 'did:service:cred_01k9x3v0h2e8y6q4b7d5m1n8ra',
  type: ['VerifiableCredential', 'AccessCredential'],
  issuer,
  validFrom: '2026-11-14T12:00:00Z',
  validUntil: '2026-12-14T12:00:00Z',
  credentialSubject: {
    id: 'did:service:ppid_4f7d2a9c1b8e',
    site_id: 'shop.example',
    scope: ['orders:read', 'orders:write'],
    note: 'naïve “quotes” \u0007 \u2028 😀',
    '\u20ac': 1.5e-7,
    '\ufb33': -0,
    '10': 1,
    '9': [],
  },
})

/** The document loader of the peer: one key, in memory. Everything else is an error. */
function loaderFor(publicKey: PublicKey) {
  return async (url: string) => {
    if (url !== didKeyMethod(publicKey)) throw new Error(`asked for ${url}`)
    const document = {
      '@context': 'https://w3id.org/security/multikey/v1',
      id: didKeyMethod(publicKey),
      type: 'Multikey',
      controller: didKey(publicKey),
      publicKeyMultibase: publicKey.multikey,
    }
    return { documentUrl: url, document }
  }
}

const purpose = { update: async (proof: JsonObject) => ({ ...proof, proofPurpose: 'assertionMethod' }) }

async function peerSigns(document: JsonObject): Promise<{ signed: JsonObject; publicKey: PublicKey }> {
  const pair = await Ed25519Multikey.generate()
  const publicKey = parseMultikey(pair.publicKeyMultibase) as PublicKey
  pair.id = didKeyMethod(publicKey)
  pair.controller = didKey(publicKey)
  const suite = new DataIntegrityProof({
    signer: pair.signer(),
    date: new Date(CREATED_MS),
    cryptosuite: createSignCryptosuite(),
  })
  const proof: JsonObject = await suite.createProof({
    document: structuredClone(document),
    purpose,
    documentLoader: loaderFor(publicKey),
  })
  return { signed: { ...document, proof }, publicKey }
}

async function peerAccepts({ proof, ...document }: JsonObject, publicKey: PublicKey): Promise<boolean> {
  const suite = new DataIntegrityProof({ cryptosuite: createVerifyCryptosuite() })
  const { verified } = await suite.verifyProof({
    proof: structuredClone(proof),
    document: structuredClone(document),
    documentLoader: loaderFor(publicKey),
  })
  return verified
}

describe('what @digitalbazaar signs', () => {
  test('we accept', async () => {
    const { signed, publicKey } = await peerSigns(credential('did:web:issuer.example'))
    expect(await peerAccepts(signed, publicKey)).toBe(true)
    expect(await checkProof(signed, publicKey, SUITE)).toBe(true)
  })

  test('we reject after a change, as they do', async () => {
    const { signed, publicKey } = await peerSigns(credential('did:web:issuer.example'))
    const spoiled = { ...signed, validUntil: '2027-12-14T12:00:00Z' }
    expect(await peerAccepts(spoiled, publicKey)).toBe(false)
    expect(await checkProof(spoiled, publicKey, SUITE)).toBe(false)
  })
})

describe('what we sign', () => {
  let key: PrivateKey
  let signed: JsonObject

  beforeAll(async () => {
    key = await generatePrivateKey('Ed25519')
    signed = await signDocument(credential(didKey(key.publicKey)), {
      key,
      verificationMethod: didKeyMethod(key.publicKey),
      createdMs: CREATED_MS,
    })
  })

  test('@digitalbazaar accepts', async () => {
    expect(await peerAccepts(signed, key.publicKey)).toBe(true)
  })

  test('@digitalbazaar rejects after a change', async () => {
    expect(await peerAccepts({ ...signed, issuer: 'did:web:other.example' }, key.publicKey)).toBe(false)
  })

  test('@digitalbazaar accepts for any JSON, because both write the same canonical text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()), async (claims) => {
        fc.pre(JSON.stringify(claims).isWellFormed() && !JSON.stringify(claims).includes('__proto__'))
        const document = { ...credential(didKey(key.publicKey)), credentialSubject: claims as JsonObject }
        const made = await signDocument(document, {
          key,
          verificationMethod: didKeyMethod(key.publicKey),
          createdMs: CREATED_MS,
        })
        expect(await peerAccepts(made, key.publicKey)).toBe(true)
      }),
      { numRuns: 50 },
    )
  })

  test('is stricter than the suite asks in one thing: a context appended after signing is rejected', async () => {
    const appended = { ...signed, '@context': [...(signed['@context'] as string[]), 'https://evil.example'] }
    expect(await peerAccepts(appended, key.publicKey)).toBe(true)
    expect(await checkProof(appended, key.publicKey, SUITE)).toBe(false)
  })
})
