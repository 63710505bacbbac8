import { beforeAll, describe, expect, test } from 'vitest'
import { readCredentialBody } from '../../src/credential/body.ts'
import { credentialHeader } from '../../src/credential/header.ts'
import { readCredentialHeader, readCredentialObject } from '../../src/credential/read.ts'
import type { JsonObject } from '../../src/encoding/json.ts'
import { issue, newParty, weighing } from '../sample.ts'
import { unhex } from '../vectors.ts'

let good: JsonObject
let text: string
beforeAll(async () => {
  good = await issue(await newParty())
  text = JSON.stringify(good)
})

const parse = (body: string | Uint8Array) =>
  readCredentialBody(typeof body === 'string' ? Buffer.from(body) : body)
const notStrict = (fault: string, offset: number) =>
  `The body is not strict JSON: ${fault} near offset ${offset}. Correct it.`
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('a body with a credential', () => {
  test('is read together with it, exactly as a header would be', () => {
    const body = { site_id: 'shop.example', credential: good, requested_scope: ['orders:read'] }
    expect(parse(JSON.stringify(body))).toStrictEqual({
      members: body,
      credential: readCredentialObject(good),
    })
  })

  test('may spell the name of the member with escapes', () => {
    expect(parse(`{"\\u0063redential":${text}}`)).toStrictEqual({
      members: { credential: good },
      credential: readCredentialObject(good),
    })
  })

  test('says what is wrong with the credential, and keeps the other members', () => {
    const body = { credential: { ...good, validUntil: '2026' }, site_id: 'shop.example' }
    expect(parse(JSON.stringify(body))).toStrictEqual({
      members: body,
      credential: {
        ok: false,
        code: 'credential_malformed',
        detail:
          'The credential is malformed: validUntil is missing or not an RFC 3339 time in UTC with Z. Correct it, or request a new one from its issuer.',
      },
    })
  })

  test('A017 takes the credential as an object, never as text', () => {
    const detail =
      'The credential is malformed: it is not a JSON object. Correct it, or request a new one from its issuer.'
    const answer = { ok: false, code: 'credential_malformed', detail }
    expect(parse(JSON.stringify({ credential: credentialHeader(good) }))).toHaveProperty('credential', answer)
    expect(parse(JSON.stringify({ credential: text }))).toHaveProperty('credential', answer)
    for (const other of ['null', '[]', `[${text}]`, '1', 'true', 'false', '""', '0']) {
      expect(parse(`{"credential":${other}}`)).toHaveProperty('credential', answer)
    }
    expect(parse('{"credential":{}}')).toHaveProperty('credential', {
      ok: false,
      code: 'credential_malformed',
      detail: expect.stringContaining('@context is missing'),
    })
  })

  test('is read from the member of that name only', () => {
    for (const body of [
      { site_id: 'shop.example' },
      {},
      { Credential: good },
      { inner: { credential: good } },
      { credentials: [good] },
    ]) {
      expect(parse(JSON.stringify(body))).toStrictEqual({ members: body, credential: undefined })
    }
  })
})

describe('a body that is none', () => {
  const notObject = { code: 'request_malformed', detail: 'The body is not a JSON object. Send an object.' }

  test('is the fault of the request: not an object', () => {
    for (const body of ['[]', 'null', '1', '"credential"', `[${text}]`, `[{"credential":${text}}]`])
      expect(parse(body)).toStrictEqual(notObject)
  })

  test.each(['ff', 'c0af', 'eda0bdedb880'])(
    'is the fault of the request: bytes that are not UTF-8 (%s)',
    (bytes) => {
      const notUtf8 = { code: 'request_malformed', detail: 'The body is not UTF-8. Send UTF-8.' }
      expect(parse(Buffer.concat([Buffer.from('{"a":"'), unhex(bytes), Buffer.from('"}')]))).toStrictEqual(
        notUtf8,
      )
      expect(
        parse(Buffer.concat([Buffer.from('{"credential":{"a":"'), unhex(bytes), Buffer.from('"}}')])),
      ).toStrictEqual(notUtf8)
    },
  )

  test.each([
    ['nothing at all', '', 'the text ends too early', 0],
    ['a byte order mark', '\ufeff{}', 'not a JSON value', 0],
    ['a bad value of another member', '{"a":tru,"credential":{}}', 'not a JSON value', 5],
    ['a bad value after the credential', '{"credential":{},"a":01}', 'not a number', 21],
    [
      'a member twice that is not the credential',
      '{"credential":{},"a":1,"a":2}',
      'two members have the same name',
      26,
    ],
    ['a member called __proto__', '{"credential":{},"__proto__":{}}', 'a member is called __proto__', 28],
    ['a name that does not end, after the credential', '{"credential":{},"a', 'a string does not end', 19],
    ['a comma after the credential and nothing more', '{"credential":{},}', 'a member name is missing', 17],
    ['no end after the credential', '{"credential":{}', 'a comma or a closing brace is missing', 17],
    ['text after the end', '{"credential":{}}x', 'text after the end', 17],
    ['a lone surrogate elsewhere', '{"a":"\\ud800"}', 'a lone surrogate', 13],
  ])('is the fault of the request: %s', (_, body, fault, offset) => {
    expect(parse(body)).toStrictEqual({ code: 'request_malformed', detail: notStrict(fault, offset) })
  })

  test.each([
    ['A018 a member of it twice', '{"credential":{"a":1,"a":2}}', 'two members have the same name', 24],
    ['the credential twice', '{"credential":{},"credential":{}}', 'two members have the same name', 29],
    [
      'the credential twice, once with escapes',
      '{"credential":{},"b":1,"\\u0063redential":{}}',
      'two members have the same name',
      40,
    ],
    [
      'A021 a member of it called __proto__',
      '{"credential":{"proof":{"__proto__":1}}}',
      'a member is called __proto__',
      35,
    ],
    [
      'A023 a number in it',
      '{"credential":{"a":9007199254740993}}',
      'a number that cannot be held exactly',
      19,
    ],
    ['no end', '{"credential":{"a":1', 'a comma or a closing brace is missing', 21],
    ['no value', '{"credential":}', 'not a JSON value', 14],
    ['a bad value behind good members', '{"a":1,"credential":tru}', 'not a JSON value', 20],
    ['a lone surrogate in it', '{"credential":{"a":"\\ud800"}}', 'a lone surrogate', 27],
  ])('is the fault of the credential: %s', (_, body, fault, offset) => {
    expect(parse(body)).toStrictEqual({ code: 'credential_malformed', detail: notStrict(fault, offset) })
  })
})

describe('the depth of a body', () => {
  test('A031 leaves a credential its 16 levels, and not one more', () => {
    // The credential is the first level, and is at depth one in the body.
    const withDepth = (depth: number) =>
      parse(
        `{"credential":${JSON.stringify({ ...good, n: 0 }).replace('"n":0', `"n":${nested(depth - 1)}`)}}`,
      )
    expect(withDepth(16)).toHaveProperty('credential.credential')
    expect(withDepth(17)).toMatchObject({
      code: 'credential_malformed',
      detail: expect.stringContaining('more than 17 levels deep'),
    })
  })

  test('is the fault of the request where it is not in the credential', () => {
    expect(parse(`{"a":${nested(16)}}`)).toHaveProperty('members')
    expect(parse(`{"a":${nested(17)}}`)).toMatchObject({
      code: 'request_malformed',
      detail: expect.stringContaining('more than 17 levels deep'),
    })
    expect(parse('['.repeat(100_000))).toStrictEqual({
      code: 'request_malformed',
      detail: notStrict('more than 17 levels deep', 17),
    })
  })
})

describe('the weight of a credential in a body', () => {
  const tooLarge = {
    code: 'request_too_large',
    detail: 'The credential has more than 6144 bytes. Send a smaller one.',
  }

  test.each([
    ['of one byte', 'x'],
    ['of two bytes', '\u00e9'],
    ['of three bytes', '\u20ac'],
    ['of four bytes', '\u{1f600}'],
  ])('A012 is at most 6,144 bytes, in characters %s', (_, filler) => {
    const heaviest = JSON.stringify(weighing(good, 6144, filler))
    expect(Buffer.byteLength(heaviest)).toBe(6144)
    expect(parse(`{"credential":${heaviest}}`)).toHaveProperty('credential.credential')
    expect(parse(`{"credential":${JSON.stringify(weighing(good, 6145, filler))}}`)).toStrictEqual(tooLarge)
    expect(parse(`{"credential":${JSON.stringify(weighing(good, 20_000, filler))}}`)).toStrictEqual(tooLarge)
  })

  test('counts the blanks in it, and not those around it', () => {
    const heaviest = JSON.stringify(weighing(good, 6144))
    expect(parse(`{"credential":\n  ${heaviest}\n  }`)).toHaveProperty('credential.credential')
    expect(parse(`{"credential":${heaviest.replace('{', '{ ')}}`)).toStrictEqual(tooLarge)
  })

  test('does not count the other members', () => {
    expect(
      parse(JSON.stringify({ a: 'x'.repeat(20_000), credential: good, b: 'x'.repeat(20_000) })),
    ).toHaveProperty('credential.credential')
  })

  test('is looked at before anything the credential says', () => {
    expect(parse(`{"credential":"${'x'.repeat(6142)}"}`)).toHaveProperty(
      'credential.code',
      'credential_malformed',
    )
    expect(parse(`{"credential":"${'x'.repeat(6143)}"}`)).toStrictEqual(tooLarge)
    expect(parse(JSON.stringify({ credential: { ...weighing(good, 6200), type: 1 } }))).toStrictEqual(
      tooLarge,
    )
  })
})

describe('members of a body (S7)', () => {
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',')}}`

  test('are at most 64 in an object outside of the credential', () => {
    expect(parse(members(64))).toHaveProperty('members')
    expect(parse(members(65))).toMatchObject({ code: 'request_malformed' })
    expect(parse(`{"a":${members(65)}}`)).toMatchObject({ code: 'request_malformed' })
  })
  test('are at most 256 in an object of the credential, as in the header', () => {
    const detail = expect.stringContaining('too many members')
    const inHeader = (text: string) => readCredentialHeader(Buffer.from(text).toString('base64url'))
    expect(parse(`{"credential":${members(257)}}`)).toMatchObject({ code: 'credential_malformed', detail })
    expect(inHeader(members(257))).toMatchObject({ code: 'credential_malformed', detail })
    for (const read of [parse(`{"credential":${members(256)}}`), inHeader(members(256))]) {
      expect(JSON.stringify(read)).not.toContain('too many members')
    }
  })
})
