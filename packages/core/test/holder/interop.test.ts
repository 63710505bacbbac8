import { createPrivateKey, createPublicKey } from 'node:crypto'
import { createSigner, createVerifier, httpbis } from 'http-message-signatures'
import { describe, expect, test } from 'vitest'
import { checkHolderProof } from '../../src/holder/check.ts'
import { holderRequestFrom } from '../../src/holder/request.ts'
import { signRequest } from '../../src/holder/sign.ts'
import { didKey } from '../../src/proof/did.ts'
import type { KeyAlgorithm } from '../../src/proof/keys.ts'
import { exportPrivateJwk, generatePrivateKey } from '../../src/proof/private-key.ts'
import { BODY, NONCE_A, NOW_MS, toDigest, toExpected } from './forged-proof.ts'

const FIELDS = ['@method', '@authority', '@path', '@query', 'x-service-credential', 'content-digest']
const ALGS = { Ed25519: 'ed25519', 'P-256': 'ecdsa-p256-sha256' } as const
const URLS = [
  'https://shop.example/orders/7?a=1&b=2',
  'https://SHOP.example:443',
  'http://localhost:8787/a%20b/%C3%A4?q=%7Bx%7D&q=',
  'http://[::1]:80/?',
  'http://127.0.0.1:443/x',
]

describe.each<KeyAlgorithm>(['Ed25519', 'P-256'])('with %s, next to http-message-signatures', (algorithm) => {
  const alg = ALGS[algorithm]
  const keys = (async () => {
    const key = await generatePrivateKey(algorithm, { extractable: true })
    const jwk = { ...(await exportPrivateJwk(key)) }
    return { key, theirs: createPrivateKey({ key: jwk, format: 'jwk' }) }
  })()

  test.each(URLS)('we accept what it signs: %s', async (url) => {
    const { key, theirs } = await keys
    const { headers } = await httpbis.signMessage(
      {
        key: createSigner(theirs, alg, didKey(key.publicKey)),
        fields: FIELDS,
        params: ['created', 'nonce', 'keyid', 'alg', 'tag', 'expires'],
        paramValues: {
          created: new Date(NOW_MS),
          expires: new Date(NOW_MS + 30_000),
          nonce: NONCE_A,
          tag: 'service-credential',
        },
      },
      {
        method: 'POST',
        url,
        headers: { 'X-Service-Credential': 'eyJmb28iOiJiYXIifQ', 'Content-Digest': toDigest(BODY) },
      },
    )
    const request = holderRequestFrom('POST', url, new Headers(headers as Record<string, string>), BODY)
    expect(await checkHolderProof(request, toExpected(key))).toMatchObject({
      ok: true,
      nonce: NONCE_A,
      bodyChecked: true,
    })
    expect(await checkHolderProof({ ...request, method: 'PUT' }, toExpected(key))).toMatchObject({
      ok: false,
      code: 'proof_invalid',
    })
  })

  test.each(URLS)('it accepts what we sign: %s', async (url) => {
    const { key, theirs } = await keys
    const headers = { 'x-service-credential': 'eyJmb28iOiJiYXIifQ' }
    const proof = await signRequest(holderRequestFrom('POST', url, new Headers(headers), BODY), {
      key,
      nowMs: NOW_MS,
    })
    const asks = (message: { method: string; url: string; headers: Record<string, string> }) =>
      httpbis.verifyMessage(
        {
          keyLookup: async ({ keyid }) => {
            expect(keyid).toBe(didKey(key.publicKey))
            return {
              id: didKey(key.publicKey),
              algs: [alg],
              verify: createVerifier(createPublicKey(theirs), alg),
            }
          },
          requiredFields: FIELDS,
          requiredParams: ['created', 'nonce', 'keyid', 'tag'],
          notAfter: new Date(NOW_MS + 1000),
        },
        message,
      )
    expect(await asks({ method: 'POST', url, headers: { ...headers, ...proof } })).toBe(true)
    expect(await asks({ method: 'PUT', url, headers: { ...headers, ...proof } })).toBe(false)
  })
})
