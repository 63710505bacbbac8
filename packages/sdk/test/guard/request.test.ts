import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Guard } from '../../src/guard/guard.ts'
import type { GuardRequest } from '../../src/guard/request.ts'
import { createTestSite, type TestCredential, type TestSite } from '../../src/testing/index.ts'
import { ROUTE } from '../protected.ts'

let site: TestSite
let guard: Guard
let credential: TestCredential
beforeAll(async () => {
  site = await createTestSite()
  guard = await site.guard()
  credential = await site.issue()
})
afterAll(() => site.close())

const request = (changes: object = {}): GuardRequest => ({
  method: 'GET',
  url: ROUTE,
  header: (name) => (name === 'x-service-credential' ? [credential.header] : []),
  ...changes,
})

describe('a request without an adapter', () => {
  test('is a method, an absolute url and a function that lists the lines of a header', async () => {
    expect(await guard.verify(request())).toMatchObject({ ok: true })
  })

  test.each([
    ['a path only', { url: '/api/orders' }, 'the url of the request must be absolute'],
    ['a URL object', { url: new URL(ROUTE) }, 'the url of the request must be absolute'],
    [
      'headers in place of header',
      { header: { 'x-service-credential': 'x' } },
      'must have a header function',
    ],
    ['a header function that returns text', { header: () => 'x' }, 'must return a list of lines'],
    ['a header function that returns undefined', { header: () => undefined }, 'must return a list of lines'],
  ])('with %s is a TypeError that says so', async (_what, changes, words) => {
    await expect(guard.verify(request(changes))).rejects.toThrow(words)
    await expect(guard.verify(request(changes))).rejects.toThrow(TypeError)
  })

  test.each([new Request(ROUTE), new IncomingMessage(new Socket()), undefined, null])(
    'cannot be one of a framework (%#)',
    async (given) => {
      await expect(guard.verify(given as never)).rejects.toThrow('must have a header function')
    },
  )
})

describe('what was sent in the wrong place is recognised, and the code stays', () => {
  const said = async (headers: Record<string, string>) => {
    const verdict = await guard.verify(
      request({ header: (name: string) => (headers[name] === undefined ? [] : [headers[name]]) }),
    )
    return verdict.ok ? 'accepted' : `${verdict.code}: ${verdict.detail}`
  }
  test.each([
    [
      'JSON as it is',
      () => ({ 'x-service-credential': JSON.stringify(credential.credential) }),
      /^auth_ambiguous: .*contains raw JSON.*base64url/,
    ],
    [
      'short JSON',
      () => ({ 'x-service-credential': '{"a":1}' }),
      /^credential_malformed: .*contains raw JSON/,
    ],
    [
      'an API key',
      () => ({ 'x-service-credential': `svc_sk_${'A'.repeat(49)}` }),
      /^credential_malformed: This is an API key.*X-API-Key/,
    ],
    [
      'a bearer token',
      () => ({ 'x-service-credential': `svc_at_${'A'.repeat(49)}` }),
      /^credential_malformed: This is a bearer token/,
    ],
    [
      'a credential as Bearer',
      () => ({ authorization: `Bearer ${credential.header}` }),
      /^token_invalid: .*in X-Service-Credential/,
    ],
    // As any other token that is none (A132).
    [
      'an API key as Bearer',
      () => ({ authorization: `Bearer svc_sk_${'A'.repeat(49)}` }),
      /^token_invalid: This bearer token is not valid here/,
    ],
    [
      'two credentials',
      () => ({ 'x-service-credential': `${credential.header}, ${credential.header}` }),
      /^auth_ambiguous: X-Service-Credential was sent more than once/,
    ],
    [
      'nonsense',
      () => ({ 'x-service-credential': 'nonsense' }),
      /^credential_malformed: The credential is malformed: /,
    ],
    [
      'an unknown token',
      () => ({ authorization: `Bearer svc_at_${'0'.repeat(49)}` }),
      /^token_invalid: This bearer token is not valid here/,
    ],
  ])('%s', async (_what, headers, words) => {
    const answer = await said(headers())
    expect(answer).toMatch(words)
    expect(answer).not.toMatch(/svc_(?:sk|at)_A|eyJ/)
  })
})
