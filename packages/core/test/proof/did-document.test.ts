import { describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '../../src/encoding/json.ts'
import { type DidDocumentKeys, readDidDocument } from '../../src/proof/did-document.ts'
import { type PublicKey, parseMultikey, publicKeyToJwk } from '../../src/proof/keys.ts'

const DID = 'did:web:issuer.example'
const ED25519 = 'z6MkrJVnaZkeFzdQyMZu1cgjg7k1pZZ6pvBQ7XJPt4swbTQ2'
const P256 = 'zDnaepBuvsQ8cpsWrVKw8fbpGpvPeNSjVPTWoq6cRqaYzBKVP'
const P256_JWK = { ...publicKeyToJwk(parseMultikey(P256) as PublicKey) }

const method = (id: string, members: JsonObject = {}): JsonObject => ({
  id: `${DID}#${id}`,
  type: 'Multikey',
  controller: DID,
  publicKeyMultibase: ED25519,
  ...members,
})

function documentWith(members: JsonObject = {}): JsonObject {
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: DID,
    verificationMethod: [method('key-1')],
    assertionMethod: [`${DID}#key-1`],
    ...members,
  }
}

function keysIn(document: JsonValue): Record<string, string> {
  const { keys } = readDidDocument(document, DID) as DidDocumentKeys
  return Object.fromEntries(keys.map(({ id, key }) => [id, key.multikey]))
}

function faultIn(document: JsonValue): string {
  const result = readDidDocument(document, DID)
  if (!('fault' in result)) throw new Error('this document should have been rejected')
  return result.fault
}

describe('a good DID document', () => {
  test('gives the keys that assertionMethod refers to', () => {
    expect(readDidDocument(documentWith(), DID)).toEqual({
      keys: [{ id: 'key-1', key: parseMultikey(ED25519) }],
      leftOut: [],
    })
  })

  test('gives a key that is embedded in assertionMethod', () => {
    expect(
      keysIn(
        documentWith({
          verificationMethod: [],
          assertionMethod: [method('inside', { publicKeyMultibase: P256 })],
        }),
      ),
    ).toEqual({
      inside: P256,
    })
    const { verificationMethod: _, ...without } = documentWith({ assertionMethod: [method('inside')] })
    expect(keysIn(without)).toEqual({ inside: ED25519 })
  })

  test('reads references and ids that are relative to the document', () => {
    expect(keysIn(documentWith({ assertionMethod: ['#key-1'] }))).toEqual({ 'key-1': ED25519 })
    expect(keysIn(documentWith({ verificationMethod: [method('', { id: '#key-1' })] }))).toEqual({
      'key-1': ED25519,
    })
  })

  test.each([
    ['Multikey with P-256', { publicKeyMultibase: P256 }, P256],
    ['Ed25519VerificationKey2020', { type: 'Ed25519VerificationKey2020' }, ED25519],
    ['JsonWebKey', { type: 'JsonWebKey', publicKeyJwk: P256_JWK }, P256],
    ['JsonWebKey2020', { type: 'JsonWebKey2020', publicKeyJwk: P256_JWK }, P256],
  ])('knows %s', (_, members, multikey) => {
    expect(keysIn(documentWith({ verificationMethod: [method('key-1', members)] }))).toEqual({
      'key-1': multikey,
    })
  })

  test('does not give a key that is listed for another purpose only', () => {
    const document = documentWith({
      verificationMethod: [method('key-1'), method('login', { publicKeyMultibase: P256 })],
      authentication: [`${DID}#login`],
      keyAgreement: [method('agree', { publicKeyMultibase: P256 })],
    })
    expect(keysIn(document)).toEqual({ 'key-1': ED25519 })
  })

  test.each([
    ['an unknown type', { type: 'EcdsaSecp256k1VerificationKey2019' }, /type/],
    [
      'a JWK of another curve',
      { type: 'JsonWebKey', publicKeyJwk: { kty: 'EC', crv: 'secp256k1', x: 'AA', y: 'AA' } },
      /neither/,
    ],
    ['a revoked key', { revoked: '2020-01-01T00:00:00Z' }, /revoked/],
    ['a key with an expiry', { expires: '2030-01-01T00:00:00Z' }, /expiry/],
  ])('leaves %s out and says so', (_, members, why) => {
    const document = documentWith({
      verificationMethod: [method('key-1'), method('odd', members)],
      assertionMethod: ['#key-1', '#odd'],
    })
    const { keys, leftOut } = readDidDocument(document, DID) as DidDocumentKeys
    expect(keys.map(({ id }) => id)).toEqual(['key-1'])
    expect(leftOut).toEqual([{ id: 'odd', why: expect.stringMatching(why) }])
    // Without another key the document cannot be used, and the fault says why.
    expect(faultIn(documentWith({ verificationMethod: [method('key-1', members)] }))).toMatch(why)
  })

  test('does not take over a key of another DID that it refers to', () => {
    expect(keysIn(documentWith({ assertionMethod: ['#key-1', 'did:web:other.example#key-1'] }))).toEqual({
      'key-1': ED25519,
    })
    expect(faultIn(documentWith({ assertionMethod: ['did:web:other.example#key-1'] }))).toMatch(
      /no supported assertionMethod key/,
    )
  })

  test('holds up to 32 keys', () => {
    const many = Array.from({ length: 32 }, (_, i) => method(`key-${i}`, { publicKeyMultibase: P256 }))
    expect(
      Object.keys(
        keysIn(
          documentWith({ verificationMethod: many, assertionMethod: many.map(({ id }) => id as string) }),
        ),
      ),
    ).toHaveLength(32)
    const more = [...many, method('key-32')]
    expect(faultIn(documentWith({ verificationMethod: more }))).toMatch(/at most 32/)
    expect(faultIn(documentWith({ assertionMethod: more }))).toMatch(/at most 32/)
  })
})

describe('a DID document is rejected', () => {
  test.each([
    ['for another DID', documentWith({ id: 'did:web:issuer.example:a' }), /not that of/],
    ['for the DID in another case', documentWith({ id: 'did:web:Issuer.example' }), /not that of/],
    ['without an id', (({ id: _, ...rest }) => rest)(documentWith()), /not that of/],
    ['when it is a list', [documentWith()], /not an object/],
    ['when it is null', null, /not an object/],
    ['when verificationMethod is an object', documentWith({ verificationMethod: method('key-1') }), /list/],
    ['when assertionMethod is a string', documentWith({ assertionMethod: `${DID}#key-1` }), /list/],
    [
      'without assertionMethod',
      (({ assertionMethod: _, ...rest }) => rest)(documentWith()),
      /no supported assertionMethod key/,
    ],
    ['with a method that is a number', documentWith({ verificationMethod: [7] }), /not an object/],
    ['with an assertion that is a number', documentWith({ assertionMethod: [7] }), /not an object/],
    ['with a reference to nothing', documentWith({ assertionMethod: ['#key-2'] }), /#key-2, which is not/],
    ['with the same reference twice', documentWith({ assertionMethod: ['#key-1', `${DID}#key-1`] }), /twice/],
    [
      'with two methods of one name',
      documentWith({ verificationMethod: [method('key-1'), method('key-1', { publicKeyMultibase: P256 })] }),
      /two .*#key-1/,
    ],
    [
      'with one name given again by embedding',
      documentWith({ assertionMethod: [method('key-1')] }),
      /two .*#key-1/,
    ],
    [
      'with a method under a foreign id',
      documentWith({ verificationMethod: [method('', { id: 'did:web:other.example#key-1' })] }),
      /id that is not/,
    ],
    [
      'with an id without fragment',
      documentWith({ verificationMethod: [method('', { id: DID })] }),
      /id that is not/,
    ],
    ['with an empty fragment', documentWith({ verificationMethod: [method('')] }), /id that is not/],
    [
      'with a fragment of 129 characters',
      documentWith({ verificationMethod: [method('k'.repeat(129))] }),
      /id that is not/,
    ],
    ['with a strange fragment', documentWith({ verificationMethod: [method('key 1')] }), /id that is not/],
    ['with a second hash', documentWith({ verificationMethod: [method('key#1')] }), /id that is not/],
    [
      'with a foreign controller',
      documentWith({ verificationMethod: [method('key-1', { controller: 'did:web:other.example' })] }),
      /controller/,
    ],
    [
      'with a list of controllers',
      documentWith({ verificationMethod: [method('key-1', { controller: [DID] })] }),
      /controller/,
    ],
    [
      'without a controller',
      documentWith({ verificationMethod: [{ ...(({ controller: _, ...rest }) => rest)(method('key-1')) }] }),
      /controller/,
    ],
    [
      'with a published secret',
      documentWith({ verificationMethod: [method('key-1', { secretKeyMultibase: 'z' })] }),
      /secret/,
    ],
    [
      'with a published secret in a JWK',
      documentWith({
        verificationMethod: [method('key-1', { type: 'JsonWebKey', publicKeyJwk: { ...P256_JWK, d: 'AA' } })],
      }),
      /secret/,
    ],
    [
      'with a broken Multikey',
      documentWith({ verificationMethod: [method('key-1', { publicKeyMultibase: `${ED25519}x` })] }),
      /#key-1: publicKeyMultibase/,
    ],
    [
      'without a Multikey',
      documentWith({ verificationMethod: [method('key-1', { publicKeyMultibase: null })] }),
      /#key-1: publicKeyMultibase/,
    ],
    [
      'with a P-256 key as Ed25519VerificationKey2020',
      documentWith({
        verificationMethod: [
          method('key-1', { type: 'Ed25519VerificationKey2020', publicKeyMultibase: P256 }),
        ],
      }),
      /publicKeyMultibase/,
    ],
    [
      'without a JWK',
      documentWith({ verificationMethod: [method('key-1', { type: 'JsonWebKey' })] }),
      /publicKeyJwk/,
    ],
    [
      'with a broken JWK',
      documentWith({
        verificationMethod: [
          method('key-1', { type: 'JsonWebKey', publicKeyJwk: { ...P256_JWK, y: P256_JWK.x } }),
        ],
      }),
      /publicKeyJwk/,
    ],
  ])('%s', (_, document, fault) => {
    expect(faultIn(document)).toMatch(fault)
  })

  test.each([
    // y = 0, of order four.
    ['a low-order key', 'z6MkeTG3bFFSLYVU7VqhgZxqr6YzpaGrQtFMh1uvqGy1vDnP', /#key-1: publicKeyMultibase/],
    // y = 2, which is not a point.
    [
      'a key off the curve',
      'z6Mkeb4rtEhc8DUtvt5ehaVjdx3TLbQPpnTArkXhqfb1Mq75',
      /#key-1: the Ed25519 key is not a point/,
    ],
  ])('A050: with %s, by name', (_, publicKeyMultibase, fault) => {
    expect(faultIn(documentWith({ verificationMethod: [method('key-1', { publicKeyMultibase })] }))).toMatch(
      fault,
    )
  })
})
