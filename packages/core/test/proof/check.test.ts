import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { encodeBase58 } from '../../src/encoding/base58.ts'
import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import { checkProof, signingInput } from '../../src/proof/check.ts'
import { crypto } from '../../src/proof/crypto.ts'
import { didKeyMethod } from '../../src/proof/did.ts'
import type { KeyAlgorithm, PrivateKey } from '../../src/proof/keys.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { signDocument } from '../../src/proof/sign.ts'
import { findSuite, requireSuite, suites } from '../../src/proof/suites.ts'

const ALGORITHMS: readonly KeyAlgorithm[] = ['Ed25519', 'P-256']
const CREATED_MS = Date.UTC(2026, 10, 14, 12)

const unsecured = (): JsonObject => ({
  '@context': ['https://www.w3.org/ns/credentials/v2', 'https://w3id.org/countersign/access/v1'],
  id: 'did:service:cred_01k9x3v0h2e8y6q4b7d5m1n8ra',
  credentialSubject: { scope: ['orders:read'], limit: 3, delegable: false, note: null },
})

type Spoil = (document: JsonObject, proof: JsonObject) => void

describe.each(ALGORITHMS)('a proof by a %s key', (algorithm) => {
  const suite = requireSuite(algorithm)
  let key: PrivateKey
  let signed: JsonObject

  beforeAll(async () => {
    key = await generatePrivateKey(algorithm)
    signed = await signDocument(unsecured(), {
      key,
      verificationMethod: didKeyMethod(key.publicKey),
      createdMs: CREATED_MS,
    })
  })

  const check = async (document: JsonObject) => checkProof(document, key.publicKey, suite)

  /** Signs any proof, like an issuer that does not follow the rules. */
  async function signedAs(document: JsonObject, proof: JsonObject): Promise<JsonObject> {
    const { bytes } = await signingInput(document, proof)
    return { ...document, proof: { ...proof, proofValue: `z${encodeBase58(await key.sign(bytes))}` } }
  }

  function options(): JsonObject {
    const { proofValue: _, ...rest } = signed.proof as JsonObject
    return rest
  }

  test('is made in the form that the suite prescribes, and holds', async () => {
    expect(signed).toEqual({
      ...unsecured(),
      proof: {
        type: 'DataIntegrityProof',
        cryptosuite: suite.name,
        created: '2026-11-14T12:00:00Z',
        verificationMethod: didKeyMethod(key.publicKey),
        proofPurpose: 'assertionMethod',
        '@context': unsecured()['@context'],
        proofValue: expect.stringMatching(/^z[1-9A-HJ-NP-Za-km-z]{80,88}$/),
      },
    })
    expect(await check(signed)).toBe(true)
  })

  test('holds whatever the order of the members', async () => {
    const turned = Object.fromEntries(Object.entries(signed).toReversed())
    turned.proof = Object.fromEntries(Object.entries(signed.proof as JsonObject).toReversed())
    expect(await check(turned)).toBe(true)
  })

  test('holds without a context anywhere, and without one in the proof alone', async () => {
    const { '@context': _, ...plain } = unsecured()
    const without = await signDocument(plain, {
      key,
      verificationMethod: 'x',
      createdMs: CREATED_MS,
      proofPurpose: 'authentication',
    })
    expect(without.proof).not.toHaveProperty('@context')
    expect((without.proof as JsonObject).proofPurpose).toBe('authentication')
    expect(await check(without)).toBe(true)
    const { '@context': __, ...bare } = options()
    expect(await check(await signedAs(unsecured(), bare))).toBe(true)
  })

  test('leaves the document it signs as it was, and changes nothing by checking', async () => {
    const document = unsecured()
    await signDocument(document, { key, verificationMethod: 'x', createdMs: CREATED_MS })
    expect(document).toEqual(unsecured())
    const before = structuredClone(signed)
    await check(signed)
    expect(signed).toEqual(before)
  })

  test.each<[string, Spoil]>([
    ['a changed claim', (document) => Object.assign(document.credentialSubject as JsonObject, { limit: 4 })],
    [
      'an added claim',
      (document) => Object.assign(document.credentialSubject as JsonObject, { extra: true }),
    ],
    ['a removed claim', (document) => delete (document.credentialSubject as JsonObject).note],
    ['an added member', (document) => Object.assign(document, { evil: 1 })],
    [
      'an added scope',
      (document) => ((document.credentialSubject as JsonObject).scope as JsonValue[]).push('orders:write'),
    ],
    [
      'a context appended to the document',
      (document) => (document['@context'] as JsonValue[]).push('https://evil.example'),
    ],
    [
      'a context appended to both',
      (document, proof) => {
        for (const part of [document, proof]) (part['@context'] as JsonValue[]).push('https://evil.example')
      },
    ],
    ['a context taken from the proof', (_, proof) => delete proof['@context']],
    ['another time (A046)', (_, proof) => Object.assign(proof, { created: '2026-11-14T12:00:01Z' })],
    ['no time', (_, proof) => delete proof.created],
    [
      'another method (A046)',
      (_, proof) => Object.assign(proof, { verificationMethod: 'did:web:other.example#key-1' }),
    ],
    ['an added domain (A046)', (_, proof) => Object.assign(proof, { domain: 'shop.example' })],
    ['another purpose (A045)', (_, proof) => Object.assign(proof, { proofPurpose: 'authentication' })],
    ['another type (A044)', (_, proof) => Object.assign(proof, { type: 'Ed25519Signature2020' })],
    ['another suite (A043)', (_, proof) => Object.assign(proof, { cryptosuite: 'eddsa-rdfc-2022' })],
    ['no proof value', (_, proof) => delete proof.proofValue],
    [
      'a proof value that is no text',
      (_, proof) => Object.assign(proof, { proofValue: [proof.proofValue] as JsonValue }),
    ],
    ['an empty proof value', (_, proof) => Object.assign(proof, { proofValue: '' })],
    ['only the prefix', (_, proof) => Object.assign(proof, { proofValue: 'z' })],
    [
      'another prefix',
      (_, proof) => Object.assign(proof, { proofValue: `u${(proof.proofValue as string).slice(1)}` }),
    ],
    ['no prefix', (_, proof) => Object.assign(proof, { proofValue: (proof.proofValue as string).slice(1) })],
    [
      'a leading zero byte',
      (_, proof) => Object.assign(proof, { proofValue: `z1${(proof.proofValue as string).slice(1)}` }),
    ],
    ['a space', (_, proof) => Object.assign(proof, { proofValue: `${proof.proofValue} ` })],
    ['an endless value', (_, proof) => Object.assign(proof, { proofValue: `z${'2'.repeat(100_000)}` })],
    ['no proof (A040)', (document) => delete document.proof],
    ['a null proof (A040)', (document) => Object.assign(document, { proof: null })],
    ['an empty proof (A040)', (document) => Object.assign(document, { proof: {} })],
    [
      'a list of proofs (A041)',
      (document) => Object.assign(document, { proof: [document.proof] as JsonValue }),
    ],
    ['a proof that is text', (document) => Object.assign(document, { proof: 'DataIntegrityProof' })],
  ])('is invalid with %s', async (_, spoil) => {
    const document = structuredClone(signed)
    spoil(document, document.proof as JsonObject)
    expect(await check(document)).toBe(false)
    expect(await check(signed)).toBe(true)
  })

  test('is invalid when its own context differs from the document’s, even if it was signed so', async () => {
    expect(
      await check(
        await signedAs(unsecured(), { ...options(), '@context': ['https://www.w3.org/ns/credentials/v2'] }),
      ),
    ).toBe(false)
    const { '@context': _, ...plain } = unsecured()
    expect(await check(await signedAs(plain, options()))).toBe(false)
    expect(await check(await signedAs(unsecured(), options()))).toBe(true)
  })

  test('is invalid when it names another type, even if it was signed so', async () => {
    expect(await check(await signedAs(unsecured(), { ...options(), type: 'Ed25519Signature2020' }))).toBe(
      false,
    )
  })

  test('is invalid for another key or in the other suite', async () => {
    const other = await generatePrivateKey(algorithm)
    expect(await checkProof(signed, other.publicKey, suite)).toBe(false)
    const otherAlgorithm = algorithm === 'Ed25519' ? 'P-256' : 'Ed25519'
    expect(await checkProof(signed, key.publicKey, requireSuite(otherAlgorithm))).toBe(false)
    const misnamed = await signedAs(unsecured(), {
      ...options(),
      cryptosuite: requireSuite(otherAlgorithm).name,
    })
    expect(await check(misnamed)).toBe(false)
    expect(await checkProof(misnamed, key.publicKey, requireSuite(otherAlgorithm))).toBe(false)
  })

  test('is invalid with the signature of another document of the same key', async () => {
    const other = await signDocument(
      { ...unsecured(), id: 'other' },
      { key, verificationMethod: didKeyMethod(key.publicKey), createdMs: CREATED_MS },
    )
    expect(await check({ ...signed, proof: other.proof as JsonObject })).toBe(false)
  })

  test('is invalid after any change of one character of the proof value', async () => {
    const { proofValue } = signed.proof as { proofValue: string }
    await fc.assert(
      fc.asyncProperty(
        fc.nat(proofValue.length - 1),
        fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 1 }),
        async (at, character) => {
          fc.pre(proofValue[at] !== character)
          const spoiled = proofValue.slice(0, at) + character + proofValue.slice(at + 1)
          expect(
            await check({ ...signed, proof: { ...(signed.proof as JsonObject), proofValue: spoiled } }),
          ).toBe(false)
        },
      ),
      { numRuns: 50 },
    )
  })

  test('is not put on top of another proof', async () => {
    await expect(
      signDocument(signed, { key, verificationMethod: 'x', createdMs: CREATED_MS }),
    ).rejects.toThrow(TypeError)
  })
})

describe('the suites', () => {
  test('are two, each for one kind of key', () => {
    expect(suites.map(({ name, algorithm }) => [name, algorithm])).toEqual([
      ['eddsa-jcs-2022', 'Ed25519'],
      ['ecdsa-jcs-2019', 'P-256'],
    ])
  })

  test.each([
    'eddsa-rdfc-2022',
    'none',
    '',
    'EDDSA-JCS-2022',
    'eddsa-jcs-2022 ',
    'toString',
    '__proto__',
    undefined,
    null,
    0,
    ['eddsa-jcs-2022'],
  ])('A043: do not include %j', (name) => {
    expect(findSuite(name)).toBeUndefined()
  })

  test('throw for a kind of key that none of them signs with', () => {
    expect(() => requireSuite('RSA' as KeyAlgorithm)).toThrow(TypeError)
  })
})

test('answers at once where the backend does', async () => {
  const key = await generatePrivateKey('Ed25519')
  const signed = await signDocument(unsecured(), { key, verificationMethod: 'x', createdMs: CREATED_MS })
  const answer = checkProof(signed, key.publicKey, requireSuite('Ed25519'))
  expect(answer instanceof Promise).toBe(crypto.name === 'web')
  expect(await answer).toBe(true)
})
