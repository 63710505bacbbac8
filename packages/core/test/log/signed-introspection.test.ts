import { describe, expect, test } from 'vitest'
import {
  checkIntrospection,
  type IntrospectionProof,
  introspectionText,
  isIntrospectionNonce,
  parseIntrospectionProof,
  signIntrospection,
} from '../../src/log/signed-introspection.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { at, EPOCH, OTHER_SITE, SITE, token } from './log-sample.ts'

const FACTS = {
  active: true,
  sub: 'did:service:ppid_alicealice',
  scopes: ['orders:read'],
  exp: 1_794_657_600,
}
const FIELDS = {
  nonce: 'q83vEjRWeJCrze8SNFZ4kA',
  site_id: SITE,
  token_sha256: token(1),
  head: { epoch: EPOCH, seq: 7, hash: token(7) },
  as_of: at(0),
  kid: 'feed-1',
}
const key = await generatePrivateKey('Ed25519')
const otherKey = await generatePrivateKey('Ed25519')

describe('a signed answer of introspection', () => {
  test('is signed over its own first line and the canonical JSON of proof and facts', () => {
    expect(introspectionText({ active: false }, FIELDS)).toBe(
      `countersign-introspection\n{"as_of":"2026-11-14T12:00:00Z","facts":{"active":false},"head":{"epoch":"${EPOCH}","hash":"${token(7)}","seq":7},"kid":"feed-1","nonce":"q83vEjRWeJCrze8SNFZ4kA","site_id":"shop.example","token_sha256":"${token(1)}"}`,
    )
  })

  test.each([FACTS, { active: false }])(
    'proves the facts %j, and goes through JSON unharmed',
    async (facts) => {
      const proof = await signIntrospection(facts, FIELDS, key)
      const received = parseIntrospectionProof(JSON.parse(JSON.stringify(proof))) as IntrospectionProof
      expect(received).toEqual(proof)
      expect(await checkIntrospection(facts, received, key.publicKey)).toBe(true)
      expect(await checkIntrospection(facts, received, otherKey.publicKey)).toBe(false)
    },
  )

  test.each<[string, Record<string, unknown>]>([
    ['nonce', { nonce: 'A'.repeat(22) }],
    ['site', { site_id: OTHER_SITE }],
    ['token', { token_sha256: token(2) }],
    ['head', { head: { ...FIELDS.head, seq: 8 } }],
    ['time', { as_of: at(1) }],
    ['key name', { kid: 'feed-2' }],
  ])('A251 proves nothing when its %s was changed', async (_, change) => {
    const proof = await signIntrospection(FACTS, FIELDS, key)
    expect(
      await checkIntrospection(FACTS, { ...proof, ...change } as IntrospectionProof, key.publicKey),
    ).toBe(false)
  })

  test.each<[string, Record<string, unknown>]>([
    ['a scope', { ...FACTS, scopes: ['orders:read', 'admin:all'] }],
    ['an end', { ...FACTS, exp: FACTS.exp + 1 }],
    ['another member', { ...FACTS, may_act: true }],
    ['a yes in place of a no', { ...FACTS, active: false }],
  ])('A251 does not prove facts with %s that was not signed', async (_, facts) => {
    const proof = await signIntrospection(FACTS, FIELDS, key)
    expect(await checkIntrospection(facts as never, proof, key.publicKey)).toBe(false)
  })

  test.each<[string, Record<string, unknown>]>([
    ['a member more', { more: 1 }],
    ['a nonce of 120 bits', { nonce: 'A'.repeat(20) }],
    ['a nonce that is spelled otherwise', { nonce: `${'A'.repeat(21)}B` }],
    ['a site with capitals', { site_id: 'Shop.example' }],
    ['a short hash', { token_sha256: 'abc' }],
    ['half a head', { head: { epoch: EPOCH, seq: 7 } }],
    ['a head with a member more', { head: { ...FIELDS.head, more: 1 } }],
    ['a negative seq', { head: { ...FIELDS.head, seq: -1 } }],
    ['a time that cannot be read', { as_of: 'now' }],
    ['an empty key name', { kid: '' }],
    ['a short signature', { signature: 'A'.repeat(85) }],
  ])('with %s is not read', async (_, change) => {
    const proof = await signIntrospection(FACTS, FIELDS, key)
    expect(parseIntrospectionProof({ ...proof, ...change })).toBeUndefined()
  })

  test.each([null, undefined, 'proof', [], {}])('is not read from %j', (value) => {
    expect(parseIntrospectionProof(value)).toBeUndefined()
  })

  test('takes a nonce of exactly 128 bits in base64url', () => {
    for (const nonce of ['A'.repeat(22), `${'_'.repeat(21)}w`, 'q83vEjRWeJCrze8SNFZ4kA'])
      expect(isIntrospectionNonce(nonce)).toBe(true)
    for (const nonce of [
      '',
      'A'.repeat(21),
      'A'.repeat(23),
      `${'A'.repeat(21)}B`,
      `${'A'.repeat(21)}=`,
      ` ${'A'.repeat(21)}`,
      7,
      null,
    ])
      expect(isIntrospectionNonce(nonce)).toBe(false)
  })
})
