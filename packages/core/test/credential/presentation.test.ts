import { describe, expect, test } from 'vitest'
import { findPresentation } from '../../src/credential/presentation.ts'

/** Field lines by lower-case name, as in a server. */
const find = (lines: Record<string, string[]>) => findPresentation((name) => lines[name])
const code = (lines: Record<string, string[]>) => {
  const found = find(lines)
  return 'ok' in found ? found.code : found
}

describe('a credential header', () => {
  test('is found, without the blanks around it', () => {
    expect(find({ 'x-service-credential': [' abc '] })).toEqual({ header: 'abc' })
  })

  test('is found beside an Authorization of another scheme', () => {
    expect(find({ 'x-service-credential': ['abc'], authorization: ['Basic eDp5'] })).toEqual({
      header: 'abc',
    })
    expect(find({ 'x-service-credential': ['abc'], authorization: ['Bearerish x'] })).toEqual({
      header: 'abc',
    })
    expect(find({ 'x-service-credential': ['abc'], authorization: ['Digest a="x", b="y"'] })).toEqual({
      header: 'abc',
    })
  })

  test('A001 A014 A015 is missing when there is none under exactly that name', () => {
    expect(code({})).toBe('credential_missing')
    expect(code({ 'x-service-credential': [] })).toBe('credential_missing')
    expect(
      code({
        x_service_credential: ['abc'],
        'x-service-credentials': ['abc'],
        cookie: ['X-Service-Credential=abc'],
      }),
    ).toBe('credential_missing')
  })

  test('A002 is missing when it is blank', () => {
    expect(code({ 'x-service-credential': [''] })).toBe('credential_missing')
    expect(code({ 'x-service-credential': ['   '] })).toBe('credential_missing')
  })

  test('A007 must stand there once, also when a framework has joined the lines', () => {
    expect(code({ 'x-service-credential': ['abc', 'abc'] })).toBe('auth_ambiguous')
    expect(code({ 'x-service-credential': ['abc, abc'] })).toBe('auth_ambiguous')
    expect(code({ 'x-service-credential': ['', 'abc'] })).toBe('auth_ambiguous')
  })

  test('A009 must not come together with a bearer token', () => {
    for (const authorization of ['Bearer svc_at_x', 'bearer svc_at_x', 'Bearer', 'BEARER  x', ' Bearer x']) {
      expect(code({ 'x-service-credential': ['abc'], authorization: [authorization] }), authorization).toBe(
        'auth_ambiguous',
      )
    }
  })
})

describe('a bearer token', () => {
  test('A136 is found whatever the letter case of its scheme', () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect(find({ authorization: [`${scheme} svc_at_x`] })).toEqual({ bearer: 'svc_at_x' })
  })

  test('A136 is not found behind two spaces, another scheme, or with blanks in it', () => {
    for (const value of [
      'Bearer  svc_at_x',
      'Basic svc_at_x',
      'Bearer',
      'Bearer ',
      'svc_at_x',
      'Bearer a b',
      ' Bearer x',
      'Bearer x\u00e4',
      'xBearer y',
    ]) {
      expect(code({ authorization: [value] }), value).toBe('token_invalid')
    }
  })

  test('A139 must stand there once', () => {
    expect(code({ authorization: ['Bearer a', 'Bearer a'] })).toBe('auth_ambiguous')
    expect(code({ authorization: ['Bearer a, Bearer b'] })).toBe('auth_ambiguous')
    expect(code({ authorization: ['Basic eDp5, bearer b'] })).toBe('auth_ambiguous')
    expect(code({ authorization: ['Digest a="x", b="y"'] })).toBe('token_invalid')
  })

  test('is taken beside a blank credential header', () => {
    expect(find({ 'x-service-credential': [' '], authorization: ['Bearer a'] })).toEqual({ bearer: 'a' })
  })
})

describe('an access token of an OAuth issuer', () => {
  test('is distinguished from an opaque token by its form', () => {
    expect(find({ authorization: ['Bearer e30.e30.AA'] })).toEqual({ jwt: 'e30.e30.AA', scheme: 'Bearer' })
    expect(find({ authorization: ['bearer e30.e30.'] })).toEqual({ jwt: 'e30.e30.', scheme: 'Bearer' })
    for (const token of ['e30.e30', 'e30.e30.AA.AA.AA', '.e30.AA', 'e30..AA', 'e30.e+0.AA'])
      expect(find({ authorization: [`Bearer ${token}`] }), token).toEqual({ bearer: token })
  })

  test('is found behind the DPoP scheme, whatever its letter case', () => {
    for (const scheme of ['DPoP', 'dpop', 'DPOP'])
      expect(find({ authorization: [`${scheme} e30.e30.AA`] })).toEqual({ jwt: 'e30.e30.AA', scheme: 'DPoP' })
  })

  test('is the only token that the DPoP scheme takes', () => {
    for (const token of ['svc_at_x', 'e30.e30', 'DPoP'])
      expect(code({ authorization: [`DPoP ${token}`] }), token).toBe('token_invalid')
  })

  test('A009 must not come together with a credential', () => {
    for (const authorization of ['DPoP e30.e30.AA', 'Bearer e30.e30.AA', 'dpop', ' DPoP x'])
      expect(code({ 'x-service-credential': ['abc'], authorization: [authorization] }), authorization).toBe(
        'auth_ambiguous',
      )
  })

  test('A139 must be sent once', () => {
    expect(code({ authorization: ['DPoP e30.e30.AA', 'Bearer e30.e30.AA'] })).toBe('auth_ambiguous')
    expect(code({ authorization: ['DPoP e30.e30.AA, DPoP e30.e30.AA'] })).toBe('auth_ambiguous')
    expect(code({ authorization: ['Basic eDp5, dpop e30.e30.AA'] })).toBe('auth_ambiguous')
  })
})

test('JSON in place of a credential is recognised, though its commas look like two of them', () => {
  expect(find({ 'x-service-credential': ['{"a":1,"b":2}'] })).toMatchObject({
    code: 'auth_ambiguous',
    detail:
      'X-Service-Credential contains raw JSON. Send the base64url encoding of that JSON, without padding.',
  })
})

test('denials say what to send', () => {
  expect(find({})).toEqual({
    ok: false,
    code: 'credential_missing',
    detail: 'The request has no credential. Send a signed credential in X-Service-Credential.',
  })
  expect(find({ authorization: ['Basic x'] })).toMatchObject({
    detail: 'The Authorization header has no bearer token. Send it as "Authorization: Bearer svc_at_…".',
  })
  expect(find({ 'x-service-credential': ['a', 'b'] })).toMatchObject({
    detail: 'X-Service-Credential was sent more than once. Send it once.',
  })
  expect(find({ authorization: ['a', 'b'] })).toMatchObject({
    detail: 'Authorization was sent more than once. Send it once.',
  })
  expect(find({ 'x-service-credential': ['a'], authorization: ['Bearer b'] })).toMatchObject({
    detail: 'The request has a credential and a bearer token. Send one of them.',
  })
})
