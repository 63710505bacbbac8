import { createHash, randomUUID } from 'node:crypto'
import { type CryptoKey, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import type { HolderRequest } from '../../src/holder/request.ts'
import { checkDpopProof } from '../../src/jwt/dpop.ts'

const NOW = 1_800_000_000_000
const TOKEN = 'header.payload.signature'
let jwk: JWK
let privateKey: CryptoKey
let thumbprint: string
beforeAll(async () => {
  const pair = await generateKeyPair('ES256', { extractable: true })
  privateKey = pair.privateKey
  jwk = await exportJWK(pair.publicKey)
  thumbprint = await calculateJwkThumbprint(jwk)
})

const request = (changed: Partial<HolderRequest> = {}, proofs: readonly string[] = []): HolderRequest => ({
  method: 'POST',
  authority: 'api.shop.example',
  scheme: 'https',
  path: '/orders',
  query: '?page=2',
  header: (name) => (name === 'dpop' && proofs.length > 0 ? proofs : undefined),
  body: 'none',
  ...changed,
})
const claims = () => ({
  htm: 'POST',
  htu: 'https://api.shop.example/orders',
  iat: NOW / 1000,
  jti: randomUUID(),
  ath: createHash('sha256').update(TOKEN).digest('base64url'),
})
const prove = (changed: object = {}, header: object = {}) =>
  new SignJWT({ ...claims(), ...changed })
    .setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk, ...header })
    .sign(privateKey)
const check = async (proofs: readonly string[], changed: Partial<HolderRequest> = {}, nowMs = NOW) => {
  const answer = await checkDpopProof(request(changed, proofs), { token: TOKEN, thumbprint, nowMs })
  return answer.ok ? 'valid' : answer.code
}

test('a proof of this request is valid, and has a nonce to consume', async () => {
  const answer = await checkDpopProof(request({}, [await prove({ jti: 'one-time-id' })]), {
    token: TOKEN,
    thumbprint,
    nowMs: NOW,
  })
  expect(answer).toEqual({
    ok: true,
    nonce: 'one-time-id',
    createdMs: NOW,
    usableUntilMs: NOW + 60_001,
    bodyChecked: false,
  })
})

test('the scheme is not compared where TLS may end in front', async () => {
  const { scheme: _, ...behind } = request({}, [await prove()])
  expect(await checkDpopProof(behind, { token: TOKEN, thumbprint, nowMs: NOW })).toMatchObject({ ok: true })
})

test('without a proof it is asked for', async () => {
  expect(await check([])).toBe('proof_required')
})

describe('rejected is', () => {
  test.each<[string, object, object]>([
    ['another type', {}, { typ: 'JWT' }],
    ['another method', { htm: 'GET' }, {}],
    ['another path', { htu: 'https://api.shop.example/else' }, {}],
    ['another host', { htu: 'https://evil.example/orders' }, {}],
    ['another port', { htu: 'https://api.shop.example:8443/orders' }, {}],
    ['another scheme', { htu: 'http://api.shop.example/orders' }, {}],
    ['a user in the URL', { htu: 'https://a@api.shop.example/orders' }, {}],
    ['no URL', { htu: '/orders' }, {}],
    ['an old proof', { iat: NOW / 1000 - 61 }, {}],
    ['a proof from the future', { iat: NOW / 1000 + 11 }, {}],
    ['a time as a text', { iat: String(NOW / 1000) }, {}],
    ['a short jti', { jti: 'a' }, {}],
    ['the hash of another token', { ath: createHash('sha256').update('x').digest('base64url') }, {}],
    ['no hash of the token', { ath: undefined }, {}],
  ])('%s', async (_, changed, header) => {
    expect(await check([await prove(changed, header)])).toBe('proof_invalid')
  })

  test('two proofs', async () => {
    expect(await check([await prove(), await prove()])).toBe('proof_invalid')
  })

  test('another key, and a key that did not sign', async () => {
    const other = await generateKeyPair('ES256', { extractable: true })
    const otherJwk = await exportJWK(other.publicKey)
    const foreign = new SignJWT(claims()).setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk: otherJwk })
    expect(await check([await foreign.sign(other.privateKey)])).toBe('proof_invalid')
    const claimed = new SignJWT(claims()).setProtectedHeader({ typ: 'dpop+jwt', alg: 'ES256', jwk })
    expect(await check([await claimed.sign(other.privateKey)])).toBe('proof_invalid')
  })

  test('a private key in the header', async () => {
    const pair = await generateKeyPair('ES256', { extractable: true })
    const secret = await exportJWK(pair.privateKey)
    expect(await check([await prove({}, { jwk: secret })])).toBe('proof_invalid')
  })

  test('anything at a time that is not a number', async () => {
    expect(await check([await prove()], {}, Number.NaN)).toBe('proof_invalid')
  })
})
