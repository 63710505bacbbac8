import { beforeAll, describe, expect, test } from 'vitest'
import { readCredentialBody } from '../../src/credential/body.ts'
import type { DenialCode } from '../../src/credential/denial.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { verify } from '../../src/verify/verify.ts'
import {
  createData,
  createDemand,
  edited,
  issue,
  newParty,
  type Party,
  PlainSite,
  rawHeader,
  SITE,
  shown,
  signedWith,
  trusted,
} from '../sample.ts'

let issuer: Party
let site: PlainSite
let good: JsonObject
let text: string
beforeAll(async () => {
  issuer = await newParty()
  site = new PlainSite(trusted(issuer))
  good = await signedWith(issuer, (c) => {
    c.note = '>>>???~~~>>?>?>~' // gives + and / in ordinary base64
    c.credentialSubject.n = 77
  })
  text = JSON.stringify(good)
})

const judge = async (presented: { header: string }): Promise<DenialCode | 'allowed'> => {
  const verdict = await verify(presented, createDemand(), createData(site))
  return verdict.ok ? 'allowed' : verdict.code
}
const judgeText = (content: string | Uint8Array) => judge(rawHeader(content))
/** The valid text with one part replaced. */
const with77 = (piece: string) => {
  expect(text).toContain('"n":77')
  return text.replace('"n":77', piece)
}

test('the credential that each attack spoils is good', async () => {
  expect(await judge(shown(good))).toBe('allowed')
})

describe('group 1: encoding', () => {
  test('A002 nothing but spaces is no credential', async () => {
    expect(await judge({ header: '' })).toBe('credential_missing')
    expect(await judge({ header: '    ' })).toBe('credential_missing')
  })

  test('A003 the alphabet of ordinary base64', async () => {
    const { header } = shown(good)
    const standard = header.replaceAll('-', '+').replaceAll('_', '/')
    expect(standard).not.toBe(header)
    expect(await judge({ header: standard })).toBe('credential_malformed')
  })

  test('A004 padding, and bits that are not needed', async () => {
    for (let pad = 0; pad < 3; pad++) {
      // whitespace after the end is allowed and changes the length
      const padded = `${text}${' '.repeat(pad)}`
      const { header } = rawHeader(padded)
      expect(await judge({ header }), `${pad} blanks`).toBe('allowed')
      expect(await judge({ header: `${header}=` })).toBe('credential_malformed')
      expect(await judge({ header: `${header}==` })).toBe('credential_malformed')
      const rest = header.length % 4
      if (rest === 0) continue
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const next = alphabet[alphabet.indexOf(header.at(-1) as string) + 1] as string
      expect(await judge({ header: header.slice(0, -1) + next }), `unused bits, rest ${rest}`).toBe(
        'credential_malformed',
      )
    }
  })

  test('A010 encoded twice', async () => {
    expect(await judge(rawHeader(shown(good).header))).toBe('credential_malformed')
  })

  test('A011 A012 more than 8,192 characters, before anything is decoded', async () => {
    expect(await judge({ header: 'A'.repeat(8192) })).toBe('credential_malformed')
    expect(await judge({ header: 'A'.repeat(8193) })).toBe('header_too_large')
    expect(await judge({ header: 'A'.repeat(16_385) })).toBe('header_too_large')
    expect(await judge({ header: ' '.repeat(8193) })).toBe('header_too_large')
    const filled = (extra: number) => rawHeader(text + ' '.repeat(6144 - text.length + extra))
    expect(filled(0).header).toHaveLength(8192)
    expect(await judge(filled(0))).toBe('allowed')
    expect(await judge(filled(1))).toBe('header_too_large')
  })

  test('A012 the same object in a body over its limit', () => {
    const body = (size: number) =>
      readCredentialBody(
        Buffer.from(`{"credential":${text.replace('{', `{${' '.repeat(size - text.length)}`)}}`),
      )
    expect(body(6144)).toMatchObject({ credential: { credential: { site: SITE } } })
    expect(body(6145)).toMatchObject({ code: 'request_too_large' })
  })

  test('A017 a string where a body should have an object', () => {
    for (const credential of [shown(good).header, text]) {
      expect(readCredentialBody(Buffer.from(JSON.stringify({ credential })))).toMatchObject({
        credential: { code: 'credential_malformed' },
      })
    }
  })
})

describe('group 2: JSON and canonical form', () => {
  test('A018 two members of one name, whichever comes first, also through escapes', async () => {
    const evil = JSON.stringify({ ...(good.credentialSubject as JsonObject), scope: ['orders:refund'] })
    expect(await judgeText(text.replace(/}$/, `,"credentialSubject":${evil}}`))).toBe('credential_malformed')
    expect(await judgeText(text.replace('{', `{"credentialSubject":${evil},`))).toBe('credential_malformed')
    expect(await judgeText(text.replace('{', `{"credentialSubj\\u0065ct":${evil},`))).toBe(
      'credential_malformed',
    )
    expect(await judgeText(text.replace(/}$/, `,"issuer":${JSON.stringify(good.issuer)}}`))).toBe(
      'credential_malformed',
    )
  })

  test('A020 the same five levels deep in the proof', async () => {
    expect(await judgeText(text.replace('"proof":{', '"proof":{"a":{"b":{"c":{"d":{"e":1,"e":2}}}},'))).toBe(
      'credential_malformed',
    )
  })

  test('A021 __proto__ anywhere, signed or not, and nothing is poisoned', async () => {
    for (const place of ['{', '"credentialSubject":{', '"proof":{']) {
      expect(
        await judgeText(text.replace(place, `${place}"__proto__":{"scope":["orders:read"]},`)),
        place,
      ).toBe('credential_malformed')
      expect(await judgeText(text.replace(place, `${place}"__prot\\u006f__":1,`)), place).toBe(
        'credential_malformed',
      )
    }
    expect(({} as { scope?: unknown }).scope).toBeUndefined()
  })

  test('A023 A024 numbers that a double cannot hold', async () => {
    const big = JSON.stringify(await signedWith(issuer, (c) => (c.credentialSubject.n = 9007199254740991)))
    expect(await judgeText(big)).toBe('allowed')
    expect(await judgeText(big.replace('9007199254740991', '9007199254740993'))).toBe('credential_malformed')
    expect(await judgeText(big.replace('9007199254740991', '9007199254740992'))).toBe('credential_malformed')
    const none = JSON.stringify(await signedWith(issuer, (c) => (c.credentialSubject.n = null)))
    for (const huge of ['1e400', '-1e400', '1e999999999']) {
      expect(await judgeText(with77(`"n":${huge}`)), huge).toBe('credential_malformed')
      expect(await judgeText(none.replace('"n":null', `"n":${huge}`)), `${huge} for null`).toBe(
        'credential_malformed',
      )
    }
  })

  test('A025 other spellings of a signed number are the same number', async () => {
    for (const [signed, spelled] of [
      [1, '1.0'],
      [1, '1E0'],
      [0, '-0'],
      [100, '1e2'],
      [0.5, '5e-1'],
    ] as const) {
      const canonical = JSON.stringify(await signedWith(issuer, (c) => (c.credentialSubject.n = signed)))
      const other = canonical.replace(`"n":${signed}`, `"n":${spelled}`)
      expect(other).not.toBe(canonical)
      expect(await judgeText(other), spelled).toBe('allowed')
    }
    expect(await judgeText(with77('"n":78'))).toBe('credential_signature_invalid')
  })

  test('A027 bytes that are no UTF-8', async () => {
    const bytes = Buffer.from(text)
    const where = bytes.indexOf('>>>')
    for (const bad of ['ff', 'c0af', 'eda080', 'f4908080', 'e282', '80']) {
      const spoiled = Buffer.concat([
        bytes.subarray(0, where),
        Buffer.from(bad, 'hex'),
        bytes.subarray(where + 3),
      ])
      expect(await judgeText(spoiled), bad).toBe('credential_malformed')
    }
    expect(await judgeText(Buffer.concat([Buffer.from('efbbbf', 'hex'), bytes])), 'byte order mark').toBe(
      'credential_malformed',
    )
  })

  test('lone surrogates, spelled as escapes', async () => {
    for (const bad of ['\\ud800', '\\udc00', '\\ud800x', '\\udc00\\ud800']) {
      expect(await judgeText(with77(`"n":"${bad}"`)), bad).toBe('credential_malformed')
    }
  })

  test('what needs an escape is verified in each of its spellings, and in no other text', async () => {
    const odd = 'a"b\\c\n\u0001\u2028\u{1f600}'
    const signed = JSON.stringify(await signedWith(issuer, (c) => Object.assign(c, { [odd]: [odd] })))
    const spelled = [
      signed,
      signed.replaceAll('\\n', '\\u000a'),
      signed.replaceAll('\u{1f600}', '\\ud83d\\ude00'),
      signed.replaceAll('shop', '\\u0073hop'),
      `\n${signed}`,
    ]
    expect(new Set(spelled).size).toBe(spelled.length)
    for (const each of spelled) expect(await judgeText(each), each).toBe('allowed')
    for (const other of [signed.replaceAll('\\n', '\\t'), signed.replaceAll('\\"', '\\\\')])
      expect(await judgeText(other), other).toBe('credential_signature_invalid')
  })

  test('A029 what is almost JSON', async () => {
    for (const bad of [
      'NaN',
      'Infinity',
      '-Infinity',
      '077',
      '+77',
      '.5',
      '0x4d',
      'undefined',
      '77,',
      '"\n"',
      '"\t"',
      "'77'",
      '7_7',
      '[1,]',
      '"\\x41"',
    ]) {
      expect(await judgeText(with77(`"n":${bad}`)), bad).toBe('credential_malformed')
    }
    for (const bad of [
      '"n":77 "m":1',
      '"n" 77',
      '"n":[1 2]',
      'n:77',
      '"n":tru',
      '"n":',
      '"n":77;',
      '"n"=77',
    ]) {
      expect(await judgeText(with77(bad)), bad).toBe('credential_malformed')
    }
    expect(await judgeText(text.replace('{', '{/* c */'))).toBe('credential_malformed')
    expect(await judgeText(text.replace(/}$/, ',}'))).toBe('credential_malformed')
  })

  test('A030 anything after the document', async () => {
    for (const tail of [text, 'x', '\0', ',', '}'])
      expect(await judgeText(text + tail), tail.slice(0, 9)).toBe('credential_malformed')
  })

  test('A031 nesting: 16 levels are read, 17 are not, and 100,000 cost nothing', async () => {
    const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels))
    expect(await judge(shown(await signedWith(issuer, (c) => (c.deep = nested(15)))))).toBe('allowed')
    const deep = (levels: number) => text.replace('{', `{"deep":${'['.repeat(levels)}${']'.repeat(levels)},`)
    expect(await judgeText(deep(16))).toBe('credential_malformed')
    expect(await judgeText(deep(2000))).toBe('credential_malformed')
    for (const levels of [5000, 100_000]) {
      const body = readCredentialBody(Buffer.from(`{"credential":${deep(levels)}}`))
      expect(body).toMatchObject({
        code: 'credential_malformed',
        detail: expect.stringContaining('17 levels'),
      })
    }
  })

  test('A034 integer-like names are ordered as text', async () => {
    const extra = { 10: 'ten', 9: 'nine', 1: 'one', a: 0 }
    expect(await judge(shown(await signedWith(issuer, (c) => (c.credentialSubject.extra = extra))))).toBe(
      'allowed',
    )
  })

  test('A035 something else than an object at the top', async () => {
    for (const other of ['[]', '"x"', 'null', '1', 'true', `[${text}]`, JSON.stringify(text)]) {
      expect(await judgeText(other), other.slice(0, 9)).toBe('credential_malformed')
    }
  })

  test('A036 a member added after signing', async () => {
    for (const path of ['', 'credentialSubject', 'proof']) {
      const spoiled = edited(good, (c) => Object.assign(path === '' ? c : c[path], { more: 'x' }))
      expect(await judge(shown(spoiled)), path).toBe('credential_signature_invalid')
    }
  })

  test('A038 another @context, changed or signed so', async () => {
    const evil = 'https://evil.example/v1'
    const changes: [string, (c: JsonObject) => void][] = [
      ['reordered', (c) => void (c['@context'] as string[]).reverse()],
      ['one more', (c) => void (c['@context'] as string[]).push(evil)],
      ['one less', (c) => void (c['@context'] as string[]).pop()],
      ['a string', (c) => void (c['@context'] = 'https://www.w3.org/ns/credentials/v2')],
      [
        'an object inside',
        (c) =>
          void (c['@context'] = [
            'https://www.w3.org/ns/credentials/v2',
            { '@vocab': 'https://w3id.org/countersign/access/v1' },
          ]),
      ],
    ]
    for (const [name, change] of changes) {
      expect(await judge(shown(edited(good, change))), `${name}, changed`).toBe('credential_unsupported')
      expect(await judge(shown(await signedWith(issuer, change))), `${name}, signed so`).toBe(
        'credential_unsupported',
      )
    }
    expect(await judge(shown(edited(good, (c) => c.proof['@context'].push(evil)))), 'only in the proof').toBe(
      'credential_unsupported',
    )
    expect(
      await judge(shown(edited(good, (c) => delete c.proof['@context']))),
      'taken out of the proof',
    ).toBe('credential_signature_invalid')
  })
})

test('the credential of another issue is not better for being whole', async () => {
  const other = await issue(issuer)
  expect(await judge(shown(edited(other, (c) => (c.proof = (good as { proof: unknown }).proof))))).toBe(
    'credential_signature_invalid',
  )
})
