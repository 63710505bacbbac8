import { expect, test } from 'vitest'
import { oauthChallenge, resourceChallenge } from '../../src/credential/guard-problems.ts'

const REALM = 'realm="countersign"'
const ALGS = 'algs="ES256 ES384 EdDSA PS256 RS256"'

test('a challenge says what is wrong with an access token, in the scheme that it came with', () => {
  expect(oauthChallenge('token_invalid', 'Bearer')).toBe(`Bearer ${REALM}, error="invalid_token"`)
  expect(oauthChallenge('token_invalid', 'DPoP')).toBe(`DPoP ${REALM}, error="invalid_token", ${ALGS}`)
  expect(oauthChallenge('scope_insufficient', 'Bearer', { scope: ['orders:read', 'orders:write'] })).toBe(
    `Bearer ${REALM}, error="insufficient_scope", scope="orders:read orders:write"`,
  )
})

test('a proof that is missing or wrong gets a DPoP challenge, whatever the scheme', () => {
  expect(oauthChallenge('proof_required', 'Bearer')).toBe(`DPoP ${REALM}, error="invalid_token", ${ALGS}`)
  for (const code of ['proof_invalid', 'proof_replayed'])
    expect(oauthChallenge(code, 'DPoP')).toBe(`DPoP ${REALM}, error="invalid_dpop_proof", ${ALGS}`)
})

test('a client without a token finds the metadata in the first challenge, and the other schemes after it', () => {
  const resourceMetadata = 'https://api.example/.well-known/oauth-protected-resource'
  expect(resourceChallenge({ resourceMetadata, scope: ['a'] })).toBe(
    `Bearer ${REALM}, scope="a", resource_metadata="${resourceMetadata}", DPoP ${REALM}, ${ALGS}, ServiceCredential ${REALM}`,
  )
})

test('a scope that would end its quotes is left out', () => {
  expect(oauthChallenge('scope_insufficient', 'Bearer', { scope: ['a"b', 'a\\b', 'a b', 'ä', 'ok'] })).toBe(
    `Bearer ${REALM}, error="insufficient_scope", scope="ok"`,
  )
})
