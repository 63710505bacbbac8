import {
  createMemoryNonces,
  credentialHeader,
  type DelegationTerms,
  delegateCredential,
  didKey,
  generatePrivateKey,
  holderRequestFrom,
  type JsonObject,
  type PrivateKey,
  type Scope,
  signRequest,
} from '@countersign/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createGuard, type Guard } from '../../src/guard/guard.ts'
import type { GuardOptions } from '../../src/guard/options.ts'
import type { GuardBody, GuardRequest } from '../../src/guard/request.ts'
import { testRequest } from '../../src/testing/test-request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/test-site.ts'
import { outcome, ROUTE } from '../protected.ts'

let site: TestSite
let guard: Guard
let bound: TestCredential
beforeEach(async () => {
  site = await createTestSite({ startMs: Date.UTC(2026, 10, 14, 12) })
  guard = await site.guard()
  bound = await site.issue({ bound: true, ttlSeconds: 86_400 })
})
afterEach(() => site.close())

const BODY = '{"item":7}'
const signed = (method = 'POST', url = ROUTE, body: string | undefined = BODY) =>
  bound.headersFor(method, url, body)
const post = (headers: Record<string, string | string[]>, body: string | undefined = BODY, url = ROUTE) =>
  testRequest('POST', url, headers, body)
const by = (request: GuardRequest, of = guard) => outcome(of.verify(request, { scope: 'orders:read' }))

describe('a bound credential', () => {
  test('is accepted with a signature of this very request and body', async () => {
    expect(await guard.verify(post(await signed()))).toMatchObject({ ok: true, holder: 'verified' })
  })

  test('says so when the adapter could not show the body', async () => {
    const request: GuardRequest = { ...post(await signed()), body: () => 'unseen' }
    expect(await guard.verify(request)).toMatchObject({ ok: true, holder: 'verified_without_body' })
  })

  test('A096 is not accepted without a signature, and its body is not even read', async () => {
    let reads = 0
    const unsigned = { ...post({ 'x-service-credential': bound.header }), body: () => (reads++, undefined) }
    expect(await by(unsigned)).toBe('proof_required')
    expect(reads).toBe(0)
  })

  test('has its body read once, and only when all else is right', async () => {
    let reads = 0
    const read = (): GuardBody => (reads++, new TextEncoder().encode(BODY))
    expect(await by({ ...post(await signed()), body: read })).toBe('allowed')
    expect(reads).toBe(1)
    expect(await outcome(guard.verify({ ...post(await signed()), body: read }, { scope: 'admin' }))).toBe(
      'scope_insufficient',
    )
    const unbound = await site.issue()
    expect(await by({ ...post(await unbound.headersFor('POST', ROUTE)), body: read })).toBe('allowed')
    await site.revoke(bound)
    expect(await by({ ...post(await signed()), body: read })).toBe('credential_revoked')
    expect(reads).toBe(1)
  })

  test('A097 is not accepted with the signature of another holder', async () => {
    const other = await site.issue({ bound: true })
    const { 'signature-input': input, signature } = await other.headersFor('POST', ROUTE, BODY)
    expect(
      await by(post({ ...(await signed()), 'signature-input': input ?? '', signature: signature ?? '' })),
    ).toBe('proof_invalid')
  })

  test.each([
    ['@method', 'A098'],
    ['@authority', 'A098'],
    ['@path', 'A098'],
    ['@query', 'A098'],
    ['x-service-credential', 'A098'],
    ['content-digest', 'A098'],
  ])('is not accepted when the signature leaves %s out (%s)', async (component) => {
    const headers = await signed()
    headers['signature-input'] = (headers['signature-input'] ?? '')
      .replace(`"${component}"`, '')
      .replace('  ', ' ')
      .replace('( ', '(')
      .replace(' )', ')')
    expect(headers['signature-input']).not.toContain(component)
    expect(await by(post(headers))).toBe('proof_invalid')
  })

  test('A098 is not accepted with another body than was signed', async () => {
    expect(await by(post(await signed(), '{"item":8}'))).toBe('proof_invalid')
    expect(await by(post(await signed(), ''))).toBe('proof_invalid')
    const get = await signed('GET', ROUTE, undefined)
    expect(await by(testRequest('GET', ROUTE, get, 'a body that was not signed'))).toBe('proof_invalid')
  })

  test.each([
    ['61 s old', -61_000, 'proof_invalid'],
    ['60 s old', -60_000, 'allowed'],
    ['10 s ahead', 10_000, 'allowed'],
    ['11 s ahead', 11_000, 'proof_invalid'],
    ['61 s ahead', 61_000, 'proof_invalid'],
  ])('A100 with a proof that is %s', async (_, offsetMs, expected) => {
    expect(await by(await requestSigned({ nowMs: site.clock.nowMs + offsetMs }))).toBe(expected)
  })

  test('A101 is not accepted twice with one signature, not even at the same time', async () => {
    const request = post(await signed())
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => by(request)))
    expect(outcomes.filter((one) => one === 'allowed')).toHaveLength(1)
    expect(outcomes.filter((one) => one === 'proof_replayed')).toHaveLength(19)
  })

  test('A104 is not accepted with a proof for another method, host, path or query', async () => {
    const url = 'https://shop.example/api/orders?a=1&b=2'
    const made = await bound.headersFor('POST', url, BODY)
    expect(await by(testRequest('PUT', url, made, BODY))).toBe('proof_invalid')
    expect(await by(post(made, BODY, 'https://api.shop.example/api/orders?a=1&b=2'))).toBe('proof_invalid')
    expect(await by(post(made, BODY, 'https://shop.example/api/order?a=1&b=2'))).toBe('proof_invalid')
    expect(await by(post(made, BODY, 'https://shop.example/api/orders?b=2&a=1'))).toBe('proof_invalid')
    expect(await by(post(made, BODY, url))).toBe('allowed')
  })

  test.each(['hmac-sha256', 'rsa-v1_5-sha256', 'ecdsa-p256-sha256'])(
    'A105 is not accepted with alg="%s"',
    async (alg) => {
      const headers = await signed()
      headers['signature-input'] += `;alg="${alg}"`
      expect(await by(post(headers))).toBe('proof_invalid')
    },
  )

  test('A108 is not accepted with a keyid that points elsewhere', async () => {
    const other = await generatePrivateKey('Ed25519')
    expect(await by(await requestSigned({ keyid: didKey(other.publicKey) }))).toBe('proof_invalid')
  })

  const requestSigned = async (options: { nowMs?: number; keyid?: string }) => {
    if (bound.holderKey === undefined) throw new Error('no holder')
    const headers = { 'x-service-credential': bound.header }
    const request = holderRequestFrom('GET', ROUTE, new Headers(headers), 'none')
    return testRequest('GET', ROUTE, {
      ...headers,
      ...(await signRequest(request, { key: bound.holderKey, nowMs: site.clock.nowMs, ...options })),
    })
  }
})

describe('the host that was signed', () => {
  const at = async (url: string, options: Partial<GuardOptions> = {}) => {
    const there = await site.guard(options)
    return by(post(await signed('POST', url), BODY, url), there)
  }

  test.each([
    'https://shop.example/x',
    'https://SHOP.example:443/x',
    'http://shop.example/x',
    'http://shop.example:80/x',
  ])('%s is accepted: it is the site itself', async (url) => {
    expect(await at(url)).toBe('allowed')
  })

  test.each([
    'https://evil.example/x',
    'https://notshop.example/x',
    'https://shop.example.evil.example/x',
    'http://10.0.0.7/x',
    'https://evil.shop.example/x',
    'https://api.shop.example/x',
    'http://shop.example:8080/x',
    'https://shop.example:8443/x',
    'http://localhost:3000/x',
    'http://app.localhost/x',
    'http://127.0.0.1:4444/x',
    'http://[::1]:3000/x',
  ])(
    'A104 S8 %s is rejected without publicOrigin: a caller that replays a signature writes the Host line too',
    async (url) => {
      expect(await at(url)).toBe('proof_invalid')
      // The control arm: the same request is accepted where the operator has said that callers use
      // this address.
      expect(await at(url, { publicOrigin: new URL(url).origin })).toBe('allowed')
    },
  )

  test.each([
    'http://localhost:3000/x',
    'http://app.localhost/x',
    'http://127.0.0.1:4444/x',
    'http://[::1]:3000/x',
    'https://shop.localhost/x',
  ])('S8 %s is accepted where the site is a loopback name itself', async (url) => {
    const local = await createTestSite({ siteId: 'shop.localhost', startMs: site.clock.nowMs })
    const credential = await local.issue({ bound: true })
    const request = testRequest('GET', url, await credential.headersFor('GET', url))
    expect(await by(request, await local.guard())).toBe('allowed')
    const elsewhere = url.replace(/localhost|127\.0\.0\.1|\[::1\]/, 'evil.example')
    expect(
      await by(
        testRequest('GET', elsewhere, await credential.headersFor('GET', elsewhere)),
        await local.guard(),
      ),
    ).toBe('proof_invalid')
    await local.close()
  })

  describe('is named when it may be why a proof was rejected', () => {
    const loadDetail = async (of: Guard, signedUrl: string, seenUrl: string) => {
      const verdict = await of.verify(post(await signed('POST', signedUrl), BODY, seenUrl))
      if (verdict.ok) throw new Error('accepted')
      return verdict.detail
    }

    test('a request under another name than that of the site', async () => {
      // What a self-hosted Next and a proxy without `proxy_set_header Host` show the application.
      expect(await loadDetail(guard, 'https://shop.example/x', 'http://localhost:3000/x')).toBe(
        'This application was called as localhost:3000, which is not the site shop.example. Its operator must set publicOrigin to the address that callers use.',
      )
      expect(await loadDetail(guard, 'https://shop.example/x', 'http://<script>/x')).toContain(
        'was called under a name, which is not',
      )
    })

    test('a signature for another host than publicOrigin', async () => {
      const behind = await site.guard({ publicOrigin: 'https://api.other.example/v1' })
      expect(await loadDetail(behind, 'https://shop.example/x', 'https://shop.example/x')).toMatch(
        /Sign exactly the method, host.* expects signatures for https:\/\/api\.other\.example\/v1, its publicOrigin/,
      )
    })

    test('a signature for another loopback name than the one that the application sees', async () => {
      const local = await createTestSite({ siteId: 'shop.localhost', startMs: site.clock.nowMs })
      const credential = await local.issue({ bound: true })
      const headers = await credential.headersFor('GET', 'http://127.0.0.1:3000/x')
      const verdict = await (await local.guard()).verify(
        testRequest('GET', 'http://localhost:3000/x', headers),
      )
      expect(verdict).toMatchObject({
        code: 'proof_invalid',
        detail: expect.stringMatching(
          /was called as localhost:3000\. If callers use another host, its operator must set publicOrigin/,
        ),
      })
      await local.close()
    })

    test('but not when something else is wrong with the proof', async () => {
      const headers = await signed()
      await site.advance(62_000)
      const verdict = await guard.verify(post(headers))
      expect(verdict).toMatchObject({
        code: 'proof_invalid',
        detail: expect.not.stringContaining('publicOrigin'),
      })
    })

    test('on the console, once for each guard', async () => {
      const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
      const { onStateChange: _, ...options } = site.guardOptions
      const quiet = createGuard(options)
      for (let i = 0; i < 3; i++) await loadDetail(quiet, 'https://shop.example/x', 'http://localhost:3000/x')
      expect(warned.mock.calls.filter(([text]) => String(text).includes('publicOrigin'))).toHaveLength(1)
      warned.mockRestore()
      await quiet.close()
    })
  })

  test('is publicOrigin, where that is set, whatever the request says', async () => {
    const behindProxy = await site.guard({ publicOrigin: 'https://api.other.example' })
    const headers = await signed('POST', 'https://api.other.example/api/orders?page=2')
    expect(await by(post(headers, BODY, 'http://10.0.0.7:3000/api/orders?page=2'), behindProxy)).toBe(
      'allowed',
    )
    const made = await signed('POST', 'https://shop.example/api/orders?page=2')
    expect(await by(post(made, BODY, 'https://shop.example/api/orders?page=2'), behindProxy)).toBe(
      'proof_invalid',
    )
  })

  test('comes with the path that a proxy takes away', async () => {
    const mounted = await site.guard({ publicOrigin: 'https://api.other.example/v1/' })
    const headers = await signed('POST', 'https://api.other.example/v1/orders')
    expect(await by(post(headers, BODY, 'http://10.0.0.7:3000/orders'), mounted)).toBe('allowed')
    const elsewhere = await signed('POST', 'https://api.other.example/orders')
    expect(await by(post(elsewhere, BODY, 'http://10.0.0.7:3000/orders'), mounted)).toBe('proof_invalid')
  })

  test.each([
    '*',
    'https://shop.example/x#y',
    'https://user@shop.example/',
    'ftp://shop.example/',
    'https://shop.example\\evil/',
  ])('is not read out of %s: a proof for the front page is no good there', async (url) => {
    for (const verifier of [guard, await site.guard({ publicOrigin: 'https://shop.example' })]) {
      expect(await by(post(await signed('POST', 'https://shop.example/'), BODY, url), verifier)).toBe(
        'proof_invalid',
      )
    }
  })
})

describe('nonces', () => {
  test('are asked of the store that was given; one that cannot tell rejects every request', async () => {
    const uses: string[] = []
    let isBroken = false
    const nonceStore = {
      async consume({ nonce }: { nonce: string }) {
        if (isBroken) throw new Error('redis is gone: secret://user:password@host')
        uses.push(nonce)
        return 'fresh' as const
      },
    }
    const shared = await site.guard({ nonceStore })
    expect(await by(post(await signed()), shared)).toBe('allowed')
    expect(uses).toHaveLength(1)
    isBroken = true
    const verdict = await shared.verify(post(await signed()))
    expect(verdict).toMatchObject({ ok: false, status: 503, code: 'store_unavailable', retryable: true })
    expect(JSON.stringify(verdict)).not.toContain('secret')
  })

  test('of two processes with one store: a proof works at one of them only', async () => {
    const nonceStore = createMemoryNonces({ startedAtMs: -Infinity })
    const [one, two] = [await site.guard({ nonceStore }), await site.guard({ nonceStore })]
    const request = post(await signed())
    expect(await by(request, one)).toBe('allowed')
    expect(await by(request, two)).toBe('proof_replayed')
  })

  test('that an earlier process may have seen are refused after a start, for 3 s', async () => {
    const { nonceStore: _, ...withoutStore } = site.guardOptions
    const restarted = createGuard(withoutStore)
    await restarted.ready()
    const old = post(await signed())
    expect(await by(old, restarted)).toBe('proof_invalid')
    await site.advance(2_000)
    expect(await by(post(await signed()), restarted)).toBe('proof_invalid')
    await site.advance(1_000)
    expect(await by(post(await signed()), restarted)).toBe('allowed')
    expect(await by(old, restarted)).toBe('proof_invalid')
    await restarted.close()
  })
})

describe('a site that requires holder proofs', () => {
  test('S9 rejects bearer tokens, whether they are known or not, and looks none of them up', async () => {
    const token = await site.exchange(bound)
    const withToken = (text: string) =>
      guard.verify(testRequest('GET', ROUTE, { authorization: `Bearer ${text}` }), { scope: 'orders:read' })
    // The control arm: the same token is accepted while proofs are optional.
    const allowed = await withToken(token)
    if (!allowed.ok) throw new Error(allowed.detail)
    const signal = guard.signal(allowed)
    await site.changeSite({ holder_proof: 'required' })
    for (const text of [token, `svc_at_${'0'.repeat(49)}`, 'nonsense'])
      expect(await withToken(text)).toMatchObject({
        ok: false,
        status: 401,
        code: 'proof_required',
        needs: 'holder_proof',
      })
    expect(signal.reason).toMatchObject({ denial: { code: 'proof_required' } })
    await site.changeSite({ holder_proof: 'optional' })
    expect(await withToken(token)).toMatchObject({ ok: true })
  })

  test('takes no other', async () => {
    const unbound = await site.issue()
    expect(await by(post(await unbound.headersFor('POST', ROUTE)))).toBe('allowed')
    await site.changeSite({ holder_proof: 'required' })
    expect(await by(post(await unbound.headersFor('POST', ROUTE)))).toBe('proof_required')
    expect(await by(post(await signed()))).toBe('allowed')
  })
})

describe('a delegated credential', () => {
  interface Link {
    readonly credential: JsonObject
    readonly key: PrivateKey
  }
  let made = 0
  const handOn = async (parent: Link, changes: Partial<DelegationTerms> = {}): Promise<Link> => {
    const key = await generatePrivateKey('Ed25519')
    const credential = await delegateCredential(
      parent.credential,
      {
        credentialId: `cred_delegated${++made}` as DelegationTerms['credentialId'],
        scope: ['orders:read'] as Scope[],
        holderKey: didKey(key.publicKey),
        delegable: true,
        validFromMs: site.clock.nowMs,
        validUntilMs: site.clock.nowMs + 60_000,
        ...changes,
      },
      { key: parent.key, createdMs: site.clock.nowMs },
    )
    return { credential, key }
  }
  const root = async (): Promise<Link & { readonly of: TestCredential }> => {
    const of = await site.issue({ scope: ['orders:read', 'orders:write'], delegable: true })
    if (of.holderKey === undefined) throw new Error('no holder')
    return { credential: of.credential, key: of.holderKey, of }
  }
  const shownBy = async ({ credential, key }: Link) => {
    const headers = { 'x-service-credential': credentialHeader(credential) }
    const request = holderRequestFrom('GET', ROUTE, new Headers(headers), 'none')
    return testRequest('GET', ROUTE, {
      ...headers,
      ...(await signRequest(request, { key, nowMs: site.clock.nowMs })),
    })
  }

  test('is accepted, three links deep, with the scope of its last link', async () => {
    const leaf = await handOn(await handOn(await root()))
    expect(await guard.verify(await shownBy(leaf))).toMatchObject({
      ok: true,
      subject: { scope: ['orders:read'] },
    })
  })

  test('A109 A111 A112 A115 is not accepted with more than its parent has', async () => {
    const parent = await root()
    const child = await handOn(parent)
    const spoilt = async (change: (copy: Record<string, never>) => void) => {
      const copy = structuredClone(child.credential) as Record<string, never>
      change(copy)
      return by(await shownBy({ ...child, credential: copy }))
    }
    expect(await by(await shownBy(child))).toBe('allowed')
    const subject = (copy: Record<string, never>) =>
      copy.credentialSubject as unknown as Record<string, unknown>
    expect(await spoilt((copy) => (subject(copy).scope = ['orders:read', 'admin']))).toBe(
      'delegation_invalid',
    )
    expect(
      await spoilt((copy) => ((copy as Record<string, unknown>).validUntil = '2027-01-01T00:00:00Z')),
    ).toBe('delegation_invalid')
    expect(await by(await shownBy({ credential: child.credential, key: parent.key }))).toBe('proof_invalid')
  })

  test('A116 dies with every link above it, at once', async () => {
    for (const place of [0, 1, 2]) {
      const top = await root()
      const middle = await handOn(top)
      const leaf = await handOn(middle)
      expect(await by(await shownBy(leaf))).toBe('allowed')
      const link = [top, middle, leaf][place]?.credential as { id: string }
      await site.revoke(link.id.slice('did:service:'.length))
      expect(await by(await shownBy(leaf))).toBe('credential_revoked')
    }
  })

  test('A114 is not accepted when it is too deep, A119 nor when it is too long', async () => {
    let link: Link = await root()
    for (let depth = 0; depth < 3; depth++) link = await handOn(link, { delegable: true })
    expect(await by(await shownBy(link))).toBe('allowed')
    const deeper = { ...(link.credential as Record<string, unknown>), parent: link.credential }
    expect(
      await by(
        testRequest('GET', ROUTE, {
          'x-service-credential': Buffer.from(JSON.stringify(deeper)).toString('base64url'),
        }),
      ),
    ).toMatch(/delegation_too_deep|header_too_large/)
    expect(await by(testRequest('GET', ROUTE, { 'x-service-credential': 'e30'.repeat(3_000) }))).toBe(
      'header_too_large',
    )
  })
})
