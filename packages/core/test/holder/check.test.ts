import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { checkHolderProof } from '../../src/holder/check.ts'
import { generatePrivateKey } from '../../src/proof/private-key.ts'
import { runs } from '../runs.ts'
import {
  BODY,
  COVERED,
  type Forgery,
  forged,
  GET,
  NOW_SECONDS,
  POST,
  received,
  type Sent,
  toDigest,
  toExpected,
  withHeader,
} from './forged-proof.ts'

const holder = await generatePrivateKey('Ed25519')
const INVALID = { ok: false, code: 'proof_invalid' }
const ALLOWED = { ok: true }

const check = (sent: Sent) => checkHolderProof(received(sent), toExpected(holder))
const attempt = async (sent: Sent, forgery: Forgery = {}) => check(await forged(sent, holder, forgery))
const field = (sent: Sent, name: string) => [sent.headers[name]].flat()[0] as string
const changed = (sent: Sent, name: string, change: (value: string) => string) =>
  withHeader(sent, name, change(field(sent, name)))

describe('signatures on one request', () => {
  const OTHER_INPUT = 'proxy=("@method");created=1;tag="proxy"'
  const OTHER_SIGNATURE = `proxy=:${Buffer.alloc(64).toString('base64')}:`

  test('are told apart by their tag: others are not looked at, wherever they stand', async () => {
    const good = await forged(GET, holder)
    const before = changed(
      changed(good, 'signature-input', (v) => `${OTHER_INPUT}, ${v}`),
      'signature',
      (v) => `${OTHER_SIGNATURE},${v}`,
    )
    const after = changed(
      changed(good, 'signature-input', (v) => `${v} ,\t${OTHER_INPUT}`),
      'signature',
      (v) => `${v}, ${OTHER_SIGNATURE}`,
    )
    const lines = withHeader(
      withHeader(good, 'signature-input', [OTHER_INPUT, field(good, 'signature-input')]),
      'signature',
      [field(good, 'signature'), OTHER_SIGNATURE],
    )
    for (const sent of [before, after, lines]) expect(await check(sent)).toMatchObject(ALLOWED)
    expect(await check(changed(good, 'signature-input', (v) => `${OTHER_INPUT}, ${v}`))).toMatchObject(
      ALLOWED,
    )
  })

  test('are rejected when two have our tag, even if one of them is good', async () => {
    const first = await forged(GET, holder)
    const second = await forged(GET, holder, {
      label: 'sig2',
      params: { nonce: '"BBBBBBBBBBBBBBBBBBBBBBBB"' },
    })
    const both = (name: string) => [field(first, name), field(second, name)]
    expect(await check(second)).toMatchObject(ALLOWED)
    expect(
      await check(
        withHeader(
          withHeader(first, 'signature-input', both('signature-input')),
          'signature',
          both('signature'),
        ),
      ),
    ).toMatchObject(INVALID)
    expect(await check(withHeader(first, 'signature-input', both('signature-input')))).toMatchObject(INVALID)
  })

  test('are rejected when a label stands twice in either field, so that no reader can pick another', async () => {
    const good = await forged(GET, holder)
    expect(await check(changed(good, 'signature-input', (v) => `sig1=("@method"), ${v}`))).toMatchObject(
      INVALID,
    )
    expect(await check(changed(good, 'signature-input', (v) => `${v}, sig1=("@method")`))).toMatchObject(
      INVALID,
    )
    expect(await check(changed(good, 'signature-input', (v) => `${v}, ${v}`))).toMatchObject(INVALID)
    expect(await check(changed(good, 'signature', (v) => `sig1=:AAAA:, ${v}`))).toMatchObject(INVALID)
  })

  test('need the same label in both fields', async () => {
    const good = await forged(GET, holder)
    expect(await check(withHeader(good, 'signature', undefined))).toMatchObject(INVALID)
    expect(await check(changed(good, 'signature', (v) => v.replace('sig1', 'sig2')))).toMatchObject(INVALID)
    expect(await check(changed(good, 'signature-input', (v) => v.replace('sig1', 'sig2')))).toMatchObject(
      INVALID,
    )
    expect(await check(await forged(GET, holder, { label: '*a-b_c.d' }))).toMatchObject(ALLOWED)
  })

  test.each([
    ['', ''],
    ['', ','],
    [',', ''],
    ['', ';x=;'],
    ['', ' x'],
    ['\t', ''],
    ['', ';created=1'],
    ['', ';tag="service-credential"'],
  ])('need well-formed fields: Signature-Input with %j before and %j after', async (before, after) => {
    const spoilt = changed(await forged(GET, holder), 'signature-input', (v) => before + v + after)
    expect(await check(spoilt)).toMatchObject(before + after === '' ? ALLOWED : INVALID)
  })

  test.each([
    ['without its last padding', (v: string) => v.replace('==:', '=:')],
    ['without padding', (v: string) => v.replace('==:', ':')],
    ['with a parameter', (v: string) => `${v};a=1`],
    ['as a string', (v: string) => v.replaceAll(':', '"')],
    ['as an inner list', (v: string) => v.replace('sig1=', 'sig1=(').concat(')')],
    ['as a bare key', () => 'sig1'],
    ['malformed', (v: string) => v.slice(0, -1)],
    ['in base64url', (v: string) => v.replaceAll('+', '-').replaceAll('/', '_').replace('==', '')],
    ['empty', () => ''],
  ])('need the signature as plain bytes, not %s', async (_, change) => {
    expect(await check(changed(await forged(GET, holder), 'signature', change))).toMatchObject(INVALID)
  })

  test('need an inner list', async () => {
    const sent = withHeader(
      await forged(GET, holder),
      'signature-input',
      'sig1="@method";tag="service-credential"',
    )
    expect(await check(sent)).toMatchObject(INVALID)
  })

  test('may not carry a parameter that we do not know, since it might be a condition', async () => {
    expect(await attempt(GET, { params: { audience: '"shop.example"' } })).toMatchObject(INVALID)
    expect(await attempt(GET, { params: { x: '1' } })).toMatchObject(INVALID)
  })
})

describe('bounds', () => {
  test('allow 8 signatures and no more', async () => {
    const good = await forged(GET, holder)
    const others = (count: number) => Array.from({ length: count }, (_, i) => `o${i}=()`).join(', ')
    expect(await check(changed(good, 'signature-input', (v) => `${others(7)}, ${v}`))).toMatchObject(ALLOWED)
    expect(await check(changed(good, 'signature-input', (v) => `${others(8)}, ${v}`))).toMatchObject(INVALID)
  })

  test('allow 24 components and no more', async () => {
    const many = (count: number): [Sent, Forgery] => {
      const names = Array.from({ length: count - COVERED.length }, (_, i) => `x-${i}`)
      const headers = { ...GET.headers, ...Object.fromEntries(names.map((name) => [name, 'v'])) }
      return [{ ...GET, headers }, { covered: [...COVERED, ...names.map((name) => `"${name}"`)] }]
    }
    expect(await attempt(...many(24))).toMatchObject(ALLOWED)
    expect(await attempt(...many(25))).toMatchObject(INVALID)
  })

  test('allow 4,096 characters of signature fields and no more, on one line or on many', async () => {
    const good = await forged(GET, holder)
    const room = 4096 - field(good, 'signature-input').length - field(good, 'signature').length
    const padded = (length: number) => `o="${'a'.repeat(length - 4)}"`
    const lines = (length: number) =>
      withHeader(good, 'signature-input', [field(good, 'signature-input'), padded(length)])
    expect(await check(lines(room))).toMatchObject(ALLOWED)
    expect(await check(lines(room + 1))).toMatchObject(INVALID)
    expect(await check(changed(good, 'signature', (v) => `${v}, ${padded(room)}`))).toMatchObject(INVALID)
  })
})

describe('components beyond the required ones', () => {
  test('may be any fields that are there', async () => {
    expect(await attempt(GET, { covered: ['"accept"', ...COVERED] })).toMatchObject(ALLOWED)
    const changedAfterwards = withHeader(
      await forged(GET, holder, { covered: [...COVERED, '"accept"'] }),
      'accept',
      'text/html',
    )
    expect(await check(changedAfterwards)).toMatchObject(INVALID)
  })

  test('may be @scheme and @target-uri where the scheme is known', async () => {
    const invented = { '"@scheme"': 'https', '"@target-uri"': 'https://shop.example/orders/7?a=1&b=2' }
    const covered = [...COVERED, '"@scheme"', '"@target-uri"']
    expect(await attempt({ ...GET, scheme: 'https' }, { covered, invented })).toMatchObject(ALLOWED)
    expect(await attempt({ ...GET, scheme: 'http' }, { covered, invented })).toMatchObject(INVALID)
    expect(await attempt(GET, { covered, invented })).toMatchObject(INVALID)
  })

  test('may come in any order', async () => {
    expect(await attempt(GET, { covered: COVERED.toReversed() })).toMatchObject(ALLOWED)
  })
})

describe('the body', () => {
  test('counts as none when it has no bytes', async () => {
    expect(await attempt({ ...GET, body: new Uint8Array() })).toMatchObject({ ok: true, bodyChecked: true })
  })

  test.each<Sent['body']>(['none', new Uint8Array()])(
    'may be none with the digest of nothing covered, and with no other',
    async (body) => {
      expect(
        await attempt({
          ...POST,
          headers: { ...GET.headers, 'content-digest': toDigest(new Uint8Array()) },
          body,
        }),
      ).toMatchObject(ALLOWED)
      expect(await attempt({ ...POST, body })).toMatchObject(INVALID)
    },
  )

  test('needs a sha-256; others may stand beside it', async () => {
    const withDigest = (value: string | string[]) => attempt(withHeader(POST, 'content-digest', value))
    expect(await withDigest(`${toDigest(BODY, 'sha-512')}, ${toDigest(BODY)}`)).toMatchObject(ALLOWED)
    expect(await withDigest([toDigest(BODY), toDigest(BODY, 'sha-512')])).toMatchObject(ALLOWED)
    expect(await withDigest(toDigest(BODY, 'sha-512'))).toMatchObject(INVALID)
    expect(await withDigest(`${toDigest(BODY)}, ${toDigest(BODY)}`)).toMatchObject(INVALID)
    expect(await withDigest(`${toDigest(new Uint8Array(1))}, ${toDigest(BODY)}`)).toMatchObject(INVALID)
    expect(await withDigest('sha-256=:AAAA:')).toMatchObject(INVALID)
    expect(await withDigest('nonsense here')).toMatchObject(INVALID)
  })

  test('is not missed by a field that was not covered', async () => {
    expect(await attempt(withHeader(GET, 'content-digest', 'nonsense'), { covered: COVERED })).toMatchObject(
      ALLOWED,
    )
  })

  describe('unseen', () => {
    const unseen = { ...GET, body: 'unseen' } as const

    test('is said to be unchecked', async () => {
      expect(await attempt(unseen)).toMatchObject({ ok: true, bodyChecked: false })
      expect(await attempt({ ...POST, body: 'unseen' })).toMatchObject({ ok: true, bodyChecked: false })
    })

    test.each([
      ['content-digest', toDigest(BODY)],
      ['content-length', '18'],
      ['content-length', ['0', '18']],
      ['content-length', 'many'],
      ['content-length', ''],
      ['transfer-encoding', 'chunked'],
    ])('needs its digest covered when %s is %j', async (name, value) => {
      const sent = withHeader(unseen, name, value)
      expect(await attempt(sent, { covered: COVERED })).toMatchObject(INVALID)
      expect(await attempt(withHeader(sent, 'content-digest', toDigest(BODY)))).toMatchObject({
        ok: true,
        bodyChecked: false,
      })
      expect(await attempt(withHeader(sent, 'content-digest', 'nonsense'))).toMatchObject(INVALID)
    })

    test.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
      'needs its digest covered with %s, whatever the fields say',
      async (method) => {
        const sent = { ...unseen, method }
        expect(await attempt(sent, { covered: COVERED })).toMatchObject(INVALID)
        expect(await attempt(withHeader(sent, 'content-length', '0'), { covered: COVERED })).toMatchObject(
          INVALID,
        )
        expect(await attempt(withHeader(sent, 'content-digest', toDigest(new Uint8Array())))).toMatchObject({
          ok: true,
          bodyChecked: false,
        })
      },
    )

    test('does not need it for a length of zero', async () => {
      expect(await attempt(withHeader(unseen, 'content-length', ' 0 '))).toMatchObject(ALLOWED)
    })
  })
})

describe('whatever comes in', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.string({
      unit: fc.constantFrom(
        'sig1',
        '=',
        '(',
        ')',
        '"',
        '@method',
        ';',
        'tag',
        'service-credential',
        ',',
        ' ',
        ':',
        '1',
        '%',
        '?',
        '\\',
      ),
      maxLength: 40,
    }),
  )
  const lines = fc.option(fc.array(text, { maxLength: 3 }), { nil: undefined })
  const PREFIX =
    'sig1=("@method" "@authority" "@path" "@query" "x-service-credential" "content-digest");tag="service-credential"'

  test('never throws, never allows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(text, { minLength: 4, maxLength: 4 }),
        lines,
        lines,
        lines,
        fc.boolean(),
        async ([method, authority, path, query], input, signature, digest, isOurs) => {
          const fields: Readonly<Record<string, readonly string[] | undefined>> = {
            'signature-input': isOurs ? [`${PREFIX}${input?.join('') ?? ''}`] : input,
            signature,
            'content-digest': digest,
          }
          const request = {
            method,
            authority,
            path,
            query,
            header: (name: string) => fields[name],
            body: BODY,
          } as ReturnType<typeof received>
          expect((await checkHolderProof(request, toExpected(holder))).ok).toBe(false)
        },
      ),
      { numRuns: runs(500) },
    )
  })

  test('no denial repeats what was sent', async () => {
    const secret = 'sesame-sesame-sesame-sesame'
    const denials = [
      await attempt(GET, { params: { keyid: `"${secret}"` } }),
      await attempt(GET, { params: { [secret]: '1' } }),
      await attempt(GET, { params: { nonce: `"${secret} "` } }),
      await attempt(GET, { covered: [...COVERED, `"${secret}"`], invented: { [`"${secret}"`]: 'v' } }),
      await attempt({ ...GET, path: secret }),
      await attempt(GET, { params: { created: `${NOW_SECONDS - 100}`, alg: `"${secret}"` } }),
    ]
    for (const denial of denials) {
      expect(denial).toMatchObject(INVALID)
      expect(JSON.stringify(denial)).not.toContain('sesame')
    }
  })
})
