import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJwtForm } from '../../src/credential/presentation.ts'
import { readJwt } from '../../src/jwt/read.ts'

const encode = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const HEADER = { alg: 'ES256', kid: '1' }
const token = (header: unknown, claims: unknown, signature = 'c2ln') =>
  `${encode(header)}.${encode(claims)}.${signature}`

test('a token is read into header, claims and signature', () => {
  const text = token(HEADER, { sub: 'alice' })
  expect(readJwt(text)).toEqual({
    header: HEADER,
    claims: { sub: 'alice' },
    signingInput: text.slice(0, text.lastIndexOf('.')),
    signature: Buffer.from('sig'),
  })
})

describe('not read is', () => {
  test.each([
    ['a token without a signature (RFC 8725 §3.1, none)', token({ alg: 'none' }, {}, '')],
    ['an encrypted token', `${token(HEADER, {})}.a.b`],
    ['two parts', encode(HEADER)],
    ['padding', `${encode(HEADER)}=.${encode({})}.c2ln`],
    ['a header that is no object', token([], {})],
    ['claims that are no object', token(HEADER, 'null')],
    ['duplicate members', token(HEADER, '{"sub":"a","sub":"b"}')],
    ['duplicate members in the header', token('{"alg":"none","alg":"ES256"}', {})],
    ['invalid UTF-8', `${encode(HEADER)}.${Buffer.from([0x22, 0xff, 0x22]).toString('base64url')}.c2ln`],
    ['a prototype', token(HEADER, '{"__proto__":{}}')],
    ['more than 8 KiB', token(HEADER, { sub: 'a'.repeat(8192) })],
    ['deep nesting', token(HEADER, `{"a":${'['.repeat(20)}${']'.repeat(20)}}`)],
  ])('%s', (_, text) => {
    expect(readJwt(text)).toBeUndefined()
  })

  test.each(['jku', 'jwk', 'x5u', 'x5c', 'crit', 'b64', 'zip', 'enc', 'cty'])('a header with %s', (name) => {
    expect(readJwt(token({ ...HEADER, [name]: 'x' }, {}))).toBeUndefined()
  })
})

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[A-Za-z0-9_.=-]{0,80}$/)), (text) => {
      readJwt(text)
      isJwtForm(text)
    }),
  )
})
