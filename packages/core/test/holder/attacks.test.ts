import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { checkHolderProof } from '../../src/holder/check.ts'
import { createMemoryNonces } from '../../src/holder/nonces.ts'
import { didKey } from '../../src/proof/did.ts'
import type { KeyAlgorithm, PrivateKey } from '../../src/proof/keys.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import {
  BODY,
  COVERED,
  type Forgery,
  forged,
  GET,
  NOW_MS,
  NOW_SECONDS,
  POST,
  received,
  type Sent,
  toExpected,
  withHeader,
} from './forged-proof.ts'

const ALG = { Ed25519: 'ed25519', 'P-256': 'ecdsa-p256-sha256' } as const
const INVALID = { ok: false, code: 'proof_invalid' }

describe.each<KeyAlgorithm>(['Ed25519', 'P-256'])('a credential bound to a key of %s', (algorithm) => {
  const holder = generatePrivateKey(algorithm)
  const attacker = generatePrivateKey(algorithm)

  const check = async (sent: Sent, key?: PrivateKey) =>
    checkHolderProof(received(sent), toExpected(key ?? (await holder)))
  const attempt = async (sent: Sent, forgery: Forgery = {}) =>
    check(await forged(sent, await holder, forgery))

  test('lets a good proof in, with and without a body', async () => {
    expect(await attempt(GET)).toMatchObject({ ok: true, bodyChecked: true })
    expect(await attempt(POST)).toMatchObject({ ok: true, bodyChecked: true })
  })

  describe('A096: no proof', () => {
    test.each([
      ['no signature fields', GET],
      ['a Signature alone', withHeader(GET, 'signature', 'sig1=:AAAA:')],
      [
        'a signature with another tag',
        withHeader(GET, 'signature-input', 'sig1=("@method");created=1;tag="web-bot-auth"'),
      ],
      ['a signature without a tag', withHeader(GET, 'signature-input', 'sig1=("@method");created=1')],
      [
        'our tag as a token instead of a string',
        withHeader(GET, 'signature-input', 'sig1=("@method");created=1;tag=service-credential'),
      ],
      [
        'our tag in capitals',
        withHeader(GET, 'signature-input', 'sig1=("@method");created=1;tag="Service-Credential"'),
      ],
      [
        'our tag on a component instead of the signature',
        withHeader(GET, 'signature-input', 'sig1=("@method";tag="service-credential")'),
      ],
    ])('asks for one: %s', async (_, sent) => {
      expect(await check(sent)).toMatchObject({ ok: false, code: 'proof_required' })
    })
  })

  describe('A097: signed by another key', () => {
    test('rejects an attacker’s signature under the holder’s keyid', async () => {
      expect(await attempt(GET, { signer: await attacker })).toMatchObject(INVALID)
    })
    test('rejects keyid and signature of an attacker', async () => {
      expect(await check(await forged(GET, await attacker))).toMatchObject(INVALID)
    })
    test('rejects a key of the other algorithm', async () => {
      const other = await generatePrivateKey(algorithm === 'P-256' ? 'Ed25519' : 'P-256')
      expect(await attempt(GET, { signer: other })).toMatchObject(INVALID)
    })
    test.each([0, 63, 65, 128])('rejects a signature of %i bytes', async (length) => {
      const denial = await attempt(GET, { signer: { sign: () => new Uint8Array(length) } })
      expect(denial).toMatchObject({ ...INVALID, detail: expect.stringContaining('64 bytes') })
    })
    test('rejects a signature of 64 zeros', async () => {
      expect(await attempt(GET, { signer: { sign: () => new Uint8Array(64) } })).toMatchObject(INVALID)
    })
  })

  describe('A098: something is not covered', () => {
    test.each(COVERED)('rejects a proof that leaves out %s', async (gone) => {
      const denial = await attempt(GET, { covered: COVERED.filter((component) => component !== gone) })
      expect(denial).toMatchObject(INVALID)
      expect(denial).toHaveProperty('detail', expect.stringContaining(gone.replaceAll('"', '')))
    })
    test('rejects a proof that covers nothing', async () => {
      expect(await attempt(GET, { covered: [] })).toMatchObject(INVALID)
    })
    test('rejects a body without its digest covered, with or without the field', async () => {
      expect(await attempt(POST, { covered: COVERED })).toMatchObject(INVALID)
      expect(
        await attempt(withHeader(POST, 'content-digest', undefined), { covered: COVERED }),
      ).toMatchObject(INVALID)
      expect(await attempt({ ...GET, body: new Uint8Array(1) })).toMatchObject(INVALID)
    })
    test('lets the credential field be uncovered only where it is not sent', async () => {
      const bodyOnly = withHeader(POST, 'x-service-credential', undefined)
      const proven = received(await forged(bodyOnly, await holder))
      expect(
        await checkHolderProof(proven, toExpected(await holder, { credentialHeaderSent: false })),
      ).toMatchObject({ ok: true })
      expect(await checkHolderProof(proven, toExpected(await holder))).toMatchObject(INVALID)
      const smuggled = received(
        withHeader(await forged(bodyOnly, await holder), 'x-service-credential', 'other'),
      )
      expect(
        await checkHolderProof(smuggled, toExpected(await holder, { credentialHeaderSent: false })),
      ).toMatchObject(INVALID)
    })
    test.each([
      '"x-missing"',
      '"@nonsense"',
      '"@status"',
      '"@query-param"',
      '"@query-param";name="a"',
      '"@request-target"',
      '"@signature-params"',
      '""',
      '"@"',
    ])('rejects to cover %s, which is not there', async (component) => {
      expect(
        await attempt(GET, { covered: [...COVERED, component], invented: { [component]: 'v' } }),
      ).toMatchObject(INVALID)
    })
    test.each(COVERED)('rejects %s twice', async (component) => {
      expect(await attempt(GET, { covered: [...COVERED, component] })).toMatchObject(INVALID)
      expect(await attempt(GET, { covered: [...COVERED, component], lines: COVERED })).toMatchObject(INVALID)
    })
    test.each(['req', 'sf', 'bs', 'tr', 'key="a"', 'name="a"', 'x'])(
      'rejects the component parameter %s on any component',
      async (parameter) => {
        for (const spoilt of COVERED) {
          const covered = COVERED.map((component) =>
            component === spoilt ? `${component};${parameter}` : component,
          )
          expect(await attempt(GET, { covered })).toMatchObject(INVALID)
          expect(await attempt(GET, { covered, lines: COVERED })).toMatchObject(INVALID)
        }
        expect(await attempt(GET, { covered: [...COVERED, `"accept";${parameter}`] })).toMatchObject(INVALID)
        expect(await attempt(GET, { covered: [...COVERED, `"@method";${parameter}`] })).toMatchObject(INVALID)
      },
    )
    test.each(['@method', '1', ':QUJD:', '?1', 'method', '"@METHOD"', '"X-Service-Credential"'])(
      'rejects %s as the name of a component',
      async (component) => {
        expect(
          await attempt(GET, { covered: [...COVERED, component], invented: { [component]: 'v' } }),
        ).toMatchObject(INVALID)
      },
    )
    test('rejects a token as the name of a field that is there', async () => {
      const lines = [...COVERED, '"accept"']
      expect(await attempt(GET, { covered: lines })).toMatchObject({ ok: true })
      expect(await attempt(GET, { covered: [...COVERED, 'accept'], lines })).toMatchObject(INVALID)
    })
  })

  describe('A100: created and expires', () => {
    const at = (created: string | undefined, expires?: string) =>
      attempt(GET, { params: { created, expires } })

    test.each([
      NOW_SECONDS - 61,
      NOW_SECONDS + 61,
      NOW_SECONDS + 20,
      NOW_SECONDS + 11,
      0,
      -NOW_SECONDS,
      999_999_999_999_999,
      NOW_MS,
    ])('rejects created=%i', async (created) => {
      expect(await at(`${created}`)).toMatchObject(INVALID)
    })
    test.each([
      undefined,
      '"now"',
      `"${NOW_SECONDS}"`,
      `${NOW_SECONDS}.0`,
      `${NOW_SECONDS}.5`,
      `@${NOW_SECONDS}`,
      '?1',
      'now',
      ':QUJD:',
      `0${NOW_SECONDS}`,
      '-0',
    ])('rejects created as %s', async (created) => {
      expect(await at(created)).toMatchObject(INVALID)
    })
    test.each([NOW_SECONDS - 59, NOW_SECONDS - 30, NOW_SECONDS + 10])(
      'allows created=%i',
      async (created) => {
        expect(await at(`${created}`)).toMatchObject({
          ok: true,
          createdMs: created * 1000,
          usableUntilMs: created * 1000 + 60_001,
        })
      },
    )
    test('is good to the very millisecond of its 60th second, and 10 s ahead to the millisecond', async () => {
      const request = received(await forged(GET, await holder))
      const ask = async (nowMs: number) =>
        (await checkHolderProof(request, toExpected(await holder, { nowMs }))).ok
      const createdMs = NOW_SECONDS * 1000
      expect(await Promise.all([createdMs + 60_000, createdMs + 60_001].map(ask))).toEqual([true, false])
      expect(await Promise.all([createdMs - 10_000, createdMs - 10_001].map(ask))).toEqual([true, false])
      expect(await ask(Number.NaN)).toBe(false)
    })
    test.each([`${NOW_SECONDS - 5}`, `${NOW_SECONDS}`, '"later"', `${NOW_SECONDS + 5}.0`, '?1', '-1', '0'])(
      'rejects expires=%s',
      async (expires) => {
        expect(await at(`${NOW_SECONDS}`, expires)).toMatchObject(INVALID)
      },
    )
    test('keeps to an earlier expires, and not to a later one', async () => {
      expect(await at(`${NOW_SECONDS}`, `${NOW_SECONDS + 5}`)).toMatchObject({
        ok: true,
        usableUntilMs: (NOW_SECONDS + 5) * 1000,
      })
      expect(await at(`${NOW_SECONDS}`, `${NOW_SECONDS + 500}`)).toMatchObject({
        ok: true,
        usableUntilMs: NOW_SECONDS * 1000 + 60_001,
      })
      expect(await at(`${NOW_SECONDS - 61}`, `${NOW_SECONDS + 500}`)).toMatchObject(INVALID)
    })
  })

  describe('A101: the nonce', () => {
    test('can be used once, on this or any other request', async () => {
      const nonces = createMemoryNonces({ startedAtMs: NOW_MS - 60_000 })
      const use = async (sent: Sent) => {
        const proof = await attempt(sent)
        if (!proof.ok) throw new Error(proof.detail)
        return nonces.consume({ ...proof, holderKey: (await holder).publicKey.multikey, nowMs: NOW_MS })
      }
      expect(await use(GET)).toBe('fresh')
      expect(await use(GET)).toBe('replayed')
      expect(await use(POST)).toBe('replayed')
    })
    test.each([
      undefined,
      '"short"',
      `"${'a'.repeat(21)}"`,
      `"${'a'.repeat(129)}"`,
      `"${'a'.repeat(21)} b"`,
      `"${'='.repeat(24)}"`,
      'a'.repeat(24),
      '1',
      '?1',
      '""',
    ])('is rejected as %s', async (nonce) => {
      expect(await attempt(GET, { params: { nonce } })).toMatchObject(INVALID)
    })
    test.each([
      'a'.repeat(22),
      'a'.repeat(126),
      '0123456789abcdef0123456789abcdef',
      'q83vEjRWeJCrze8SNFZ4kA==',
      'a-_+/.~aaaaaaaaaaaaaaaaa',
    ])('may be %s', async (nonce) => {
      expect(await attempt(GET, { params: { nonce: `"${nonce}"` } })).toMatchObject({ ok: true, nonce })
    })
  })

  describe('A104: a proof made for another request', () => {
    test.each<[string, Sent, Sent]>([
      ['another method', GET, { ...GET, method: 'POST' }],
      ['the method in lower case', GET, { ...GET, method: 'get' }],
      ['another host', GET, { ...GET, authority: 'other.example' }],
      ['another port', GET, { ...GET, authority: 'shop.example:8443' }],
      ['a final dot', GET, { ...GET, authority: 'shop.example.' }],
      ['another path', GET, { ...GET, path: '/orders/8' }],
      ['the path in capitals', GET, { ...GET, path: '/Orders/7' }],
      ['the same path encoded', GET, { ...GET, path: '/orders/%37' }],
      ['a slash at the end', GET, { ...GET, path: '/orders/7/' }],
      ['a query in another order', GET, { ...GET, query: '?b=2&a=1' }],
      ['a query added', { ...GET, query: '' }, GET],
      ['the query dropped', GET, { ...GET, query: '' }],
      ['path and query cut elsewhere', GET, { ...GET, path: '/orders', query: '?/7?a=1&b=2' }],
      ['another credential', GET, withHeader(GET, 'x-service-credential', 'eyJmb28iOiJiYXoifQ')],
      ['a second credential line', GET, withHeader(GET, 'x-service-credential', ['eyJmb28iOiJiYXIifQ', 'x'])],
      ['another body', POST, { ...POST, body: new TextEncoder().encode('{"hello": "mars!"}') }],
      ['no body', POST, { ...POST, body: 'none' }],
    ])('rejects %s', async (_, signed, sent) => {
      const { headers } = await forged(signed, await holder)
      expect(
        await check({
          ...sent,
          headers: {
            ...sent.headers,
            'signature-input': headers['signature-input'] ?? '',
            signature: headers.signature ?? '',
          },
        }),
      ).toMatchObject(INVALID)
    })
    test('tells what is equal by RFC 9421 from what is not', async () => {
      for (const authority of ['SHOP.example', 'shop.example:443', 'shop.example:80', 'shop.example:'])
        expect(await check({ ...(await forged(GET, await holder)), authority })).toMatchObject({ ok: true })
      const overTls = { ...(await forged(GET, await holder)), scheme: 'https' as const }
      expect(await check({ ...overTls, authority: 'shop.example:443' })).toMatchObject({ ok: true })
      expect(await check({ ...overTls, authority: 'shop.example:80' })).toMatchObject(INVALID)
      expect(
        await check({ ...(await forged({ ...GET, query: '' }, await holder)), query: '?' }),
      ).toMatchObject({ ok: true })
    })
    test.each<Partial<Sent>>([
      { method: 'GET\n"@authority": x' },
      { method: '' },
      { authority: 'shop.example\n' },
      { authority: '' },
      { authority: 'user@shop.example' },
      { authority: 'shop.example/orders' },
      { path: '/orders\n"@query": ?' },
      { path: 'orders/7' },
      { path: '/orders 7' },
      { path: '/orders?x' },
      { path: '/örders' },
      { path: '*' },
      { query: 'a=1' },
      { query: '?a\n' },
      { query: '?a#b' },
      { headers: { ...GET.headers, 'x-service-credential': 'a\nb' } },
      { headers: { ...GET.headers, 'x-service-credential': 'a\rb' } },
      { headers: { ...GET.headers, 'x-service-credential': 'ä' } },
      { headers: { ...GET.headers, 'x-service-credential': 'a\0' } },
      { headers: { ...GET.headers, 'x-service-credential': [] } },
    ])('rejects parts that no request can have: %j', async (part) => {
      expect(await attempt({ ...GET, ...part })).toMatchObject(INVALID)
    })
  })

  describe('A105: alg says something else', () => {
    test.each([
      'hmac-sha256',
      'rsa-v1_5-sha256',
      'rsa-pss-sha512',
      'ecdsa-p384-sha384',
      'none',
      '',
      'ED25519',
      'ES256',
      ALG[algorithm === 'P-256' ? 'Ed25519' : 'P-256'],
    ])('rejects alg="%s"', async (alg) => {
      expect(await attempt(GET, { params: { alg: `"${alg}"` } })).toMatchObject(INVALID)
    })
    test('rejects alg as a token, and takes the right one as a string', async () => {
      expect(await attempt(GET, { params: { alg: ALG[algorithm] } })).toMatchObject(INVALID)
      expect(await attempt(GET, { params: { alg: `"${ALG[algorithm]}"` } })).toMatchObject({ ok: true })
    })
    test('rejects an HMAC keyed with the public key', async () => {
      const { publicKey } = await holder
      const hmac = { sign: (base: Uint8Array) => createHmac('sha512', publicKey.bytes).update(base).digest() }
      expect(await attempt(GET, { signer: hmac, params: { alg: '"hmac-sha256"' } })).toMatchObject(INVALID)
      expect(await attempt(GET, { signer: hmac })).toMatchObject(INVALID)
    })
  })

  describe('A108: keyid points elsewhere', () => {
    test('rejects every keyid but the very holder_key', async () => {
      const { publicKey } = await holder
      const did = didKey(publicKey)
      const others = [
        didKey((await attacker).publicKey),
        publicKey.multikey,
        did.toUpperCase(),
        `${did}#${publicKey.multikey}`,
        `${did} `,
        '',
      ]
      for (const keyid of others)
        expect(await attempt(GET, { params: { keyid: `"${keyid}"` } })).toMatchObject(INVALID)
      expect(await attempt(GET, { params: { keyid: undefined } })).toMatchObject(INVALID)
      expect(await attempt(GET, { params: { keyid: ':QUJD:' } })).toMatchObject(INVALID)
      expect(await attempt(GET, { params: { keyid: `"${did}"` } })).toMatchObject({ ok: true })
    })
  })
})

test('the body of these tests has the digest that their requests carry', () => {
  expect(POST.headers['content-digest']).toBe('sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:')
  expect(BODY).toHaveLength(18)
})
