import { describe, expect, test } from 'vitest'
import { checkHolderProof } from '../../src/holder/check.ts'
import { type SignRequestOptions, signRequest } from '../../src/holder/sign.ts'
import { didKey } from '../../src/proof/did.ts'
import type { KeyAlgorithm } from '../../src/proof/keys.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import {
  BODY,
  GET,
  NONCE_A,
  NOW_MS,
  NOW_SECONDS,
  received,
  type Sent,
  toDigest,
  toExpected,
  withHeader,
} from './forged-proof.ts'

const key = await generatePrivateKey('Ed25519')
const sign = (sent: Sent, options: Partial<SignRequestOptions> = {}) =>
  signRequest(received(sent), { key, nowMs: NOW_MS, ...options })

describe.each<KeyAlgorithm>(['Ed25519', 'P-256'])('a holder with %s', (algorithm) => {
  test.each<[string, Sent]>([
    ['without a body', GET],
    ['with an empty body', { ...GET, body: new Uint8Array() }],
    ['with a body', { ...GET, method: 'POST', body: BODY }],
    ['without a query', { ...GET, query: '' }],
    ['without a path', { ...GET, path: '' }],
    ['to a port', { ...GET, authority: '[::1]:8787' }],
  ])('makes proofs that pass the check: %s', async (_, sent) => {
    const holder = await generatePrivateKey(algorithm)
    const fields = await sign(sent, { key: holder })
    const request = received({ ...sent, headers: { ...sent.headers, ...fields } })
    expect(await checkHolderProof(request, toExpected(holder))).toMatchObject({
      ok: true,
      createdMs: NOW_SECONDS * 1000,
      bodyChecked: true,
    })
  })
})

test('covers what there is, and writes it in one way', async () => {
  const keyid = didKey(key.publicKey)
  const tail = `;created=${NOW_SECONDS};nonce="${NONCE_A}";keyid="${keyid}";tag="service-credential"`
  const get = await sign(GET, { nonce: NONCE_A })
  expect(Object.keys(get)).toEqual(['signature-input', 'signature'])
  expect(get['signature-input']).toBe(
    `sig1=("@method" "@authority" "@path" "@query" "x-service-credential")${tail}`,
  )
  expect(get.signature).toMatch(/^sig1=:[A-Za-z0-9+/]{86}==:$/)

  expect(await sign({ ...GET, body: new Uint8Array() }, { nonce: NONCE_A })).toEqual(get)

  const post = await sign({ ...GET, headers: {}, body: BODY }, { nonce: NONCE_A, label: 'holder' })
  expect(post['signature-input']).toBe(
    `holder=("@method" "@authority" "@path" "@query" "content-digest")${tail}`,
  )
  expect(post['content-digest']).toBe(toDigest(BODY))
})

test('names the key as the caller spells it', async () => {
  const fields = await sign(GET, { keyid: 'did:jwk:abc' })
  const request = received({ ...GET, headers: { ...GET.headers, ...fields } })
  expect(await checkHolderProof(request, toExpected(key, { holderDid: 'did:jwk:abc' }))).toMatchObject({
    ok: true,
  })
  expect(await checkHolderProof(request, toExpected(key))).toMatchObject({ ok: false, code: 'proof_invalid' })
})

test('takes a new nonce of 144 bits for every proof', async () => {
  const nonces = await Promise.all(
    Array.from({ length: 50 }, async () => /nonce="([^"]*)"/.exec((await sign(GET))['signature-input'])?.[1]),
  )
  expect(new Set(nonces).size).toBe(50)
  for (const nonce of nonces) expect(nonce).toMatch(/^[A-Za-z0-9_-]{24}$/)
})

test.each<[string, Partial<Sent>, Partial<SignRequestOptions>]>([
  ['an unseen body', { body: 'unseen' }, {}],
  ['a Content-Digest of its own', withHeader(GET, 'content-digest', toDigest(BODY)), {}],
  ['no authority', { authority: '' }, {}],
  ['a path that is not one', { path: 'orders' }, {}],
  ['a line break in the credential', withHeader(GET, 'x-service-credential', 'a\nb'), {}],
  ['a short nonce', {}, { nonce: 'short' }],
  ['a label that is no key', {}, { label: 'Sig 1' }],
  ['a keyid that is not ASCII', {}, { keyid: 'é' }],
  ['an empty keyid', {}, { keyid: '' }],
  ['no time', {}, { nowMs: Number.NaN }],
])('throws a TypeError for %s', async (_, part, options) => {
  await expect(sign({ ...GET, ...part }, options)).rejects.toThrow(TypeError)
})
