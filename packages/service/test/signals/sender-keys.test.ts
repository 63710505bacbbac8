import {
  type OAuthIssuer,
  parseJwtKey,
  readJwt,
  type SiteId,
  toThumbprint,
  type UnverifiedJwt,
} from '@countersign/core'
import type { SignalSender } from '@countersign/core/contract'
import { beforeEach, describe, expect, test } from 'vitest'
import { readKeySet } from '../../src/keys/oauth-keys.ts'
import { createSenderKeys, type SenderKeys } from '../../src/signals/sender-keys.ts'
import { quiet } from '../log/log-double.ts'
import { CLIENT, goodToken, IDP, newSigner, type TestSigner } from './test-sender.ts'

const SITE = 'shop.example' as SiteId
const NO_ISSUER = { issuer: IDP, keys: new Map() } as unknown as OAuthIssuer

const signedBy = async (signer: TestSigner, header = {}) => {
  const token = goodToken('backchannel_logout', SITE)
  return readJwt(await signer.sign(token.claims, { ...token.header, ...header })) as UnverifiedJwt
}

describe('keys of a sender with jwks_uri', () => {
  let nowMs = 1000
  let fetches = 0
  let published: readonly TestSigner[] | undefined
  let keys: SenderKeys
  let signer: TestSigner
  beforeEach(async () => {
    nowMs = 1000
    fetches = 0
    signer = await newSigner()
    published = [signer]
    keys = createSenderKeys(
      {
        async fetch() {
          fetches++
          await Promise.resolve()
          if (published === undefined) return { fault: 'the host does not answer' }
          return readKeySet({ keys: published.map(({ jwk }) => jwk) })
        },
      },
      { monotonicMs: () => nowMs, log: quiet },
    )
  })
  const sender: SignalSender = {
    type: 'backchannel_logout',
    issuer: IDP,
    jwks_uri: 'https://idp.example/keys',
    audience: [CLIENT],
    subject: 'sub',
  }
  const check = (jwt: UnverifiedJwt) => keys.check(jwt, sender, NO_ISSUER, SITE)

  test('are fetched once for many signals at the same time, and then every five minutes', async () => {
    const jwt = await signedBy(signer)
    expect(await Promise.all([check(jwt), check(jwt), check(jwt)])).toEqual(['valid', 'valid', 'valid'])
    nowMs += 299_999
    expect(await check(jwt)).toBe('valid')
    expect(fetches).toBe(1)
    nowMs += 1
    expect(await check(jwt)).toBe('valid')
    expect(fetches).toBe(2)
  })

  test('a key that the site has marked as compromised verifies nothing, fetched or given', async () => {
    const jwt = await signedBy(signer)
    const key = parseJwtKey(signer.jwk)
    if (key === undefined) throw new Error('the key is not read')
    const id = await toThumbprint(key.jwk)
    const compromised = new Map([[`${IDP}#${id}`, { id, key, status: 'compromised' }]])
    const issuer = { issuer: IDP, keys: compromised } as unknown as OAuthIssuer
    const { jwks_uri: _, ...others } = sender
    const given: SignalSender = { ...others, jwks: { keys: [signer.jwk as Record<string, unknown>] } }
    for (const one of [sender, given]) {
      expect(await keys.check(jwt, one, NO_ISSUER, SITE)).toBe('valid')
      expect(await keys.check(jwt, one, issuer, SITE)).toBe('invalid')
    }
  })

  test('are fetched again for an unknown key, at most every ten seconds', async () => {
    expect(await check(await signedBy(signer))).toBe('valid')
    const next = await newSigner()
    const jwt = await signedBy(next)
    nowMs += 1
    // The set was fetched a moment ago: whether the key is new cannot be said yet.
    expect(await check(jwt)).toBe('unavailable')
    published = [signer, next]
    nowMs += 10_000
    expect(await check(jwt)).toBe('valid')
    expect(fetches).toBe(2)
    nowMs += 10_000
    expect(await check(await signedBy(await newSigner()))).toBe('invalid')
    expect(fetches).toBe(3)
  })

  test('a removed key verifies nothing once the set is fetched again', async () => {
    const jwt = await signedBy(signer)
    expect(await check(jwt)).toBe('valid')
    published = [await newSigner()]
    nowMs += 300_000
    expect(await check(jwt)).toBe('invalid')
  })

  test('that cannot be fetched are unavailable; a known set is used for a day', async () => {
    const jwt = await signedBy(signer)
    published = undefined
    expect(await check(jwt)).toBe('unavailable')
    published = [signer]
    nowMs += 9999
    expect(await check(jwt)).toBe('unavailable')
    nowMs += 1
    expect(await check(jwt)).toBe('valid')
    published = undefined
    nowMs += 23 * 3_600_000
    expect(await check(jwt)).toBe('valid')
    nowMs += 3_600_000
    expect(await check(jwt)).toBe('unavailable')
  })

  test('a wrong signature of a known key fetches nothing', async () => {
    await check(await signedBy(signer))
    const other = await newSigner('ES256', signer.kid)
    nowMs += 60_000
    expect(await check(await signedBy(other))).toBe('invalid')
    expect(fetches).toBe(1)
  })

  test('a token with HMAC or without a signature fetches nothing', async () => {
    const jwt = await signedBy(signer)
    for (const alg of ['HS256', 'none', 'RS512', undefined, 7])
      expect(await check({ ...jwt, header: { ...jwt.header, alg: alg as string } })).toBe('invalid')
    expect(fetches).toBe(0)
  })
})

describe('keys of a sender', () => {
  const keySets = { fetch: () => Promise.reject(new Error('nothing is fetched')) }
  const keys = createSenderKeys(keySets, {
    monotonicMs: () => 0,
    log: quiet,
  })
  const fixed = (...signers: TestSigner[]): SignalSender => ({
    type: 'backchannel_logout',
    issuer: IDP,
    jwks: { keys: signers.map(({ jwk }) => jwk) },
    audience: [CLIENT],
    subject: 'sub',
  })

  test.each(['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'])('sign with %s', async (alg) => {
    const signer = await newSigner(alg)
    expect(await keys.check(await signedBy(signer), fixed(signer), NO_ISSUER, SITE)).toBe('valid')
    const other = await newSigner(alg, signer.kid)
    expect(await keys.check(await signedBy(other), fixed(signer), NO_ISSUER, SITE)).toBe('invalid')
  })

  test('a token without kid is accepted only if exactly one key fits', async () => {
    const [one, two, rsa] = [await newSigner(), await newSigner(), await newSigner('RS256')]
    const jwt = await signedBy(one, { kid: undefined })
    expect(await keys.check(jwt, fixed(one, rsa), NO_ISSUER, SITE)).toBe('valid')
    expect(await keys.check(jwt, fixed(one, two), NO_ISSUER, SITE)).toBe('invalid')
  })
})
