import { rateLimits } from '@countersign/core/contract'
import { afterEach, describe, expect, test } from 'vitest'
import type { RouteRequest } from '../../src/route.ts'
import type { Routes } from '../../src/routes/all.ts'
import { type AppDouble, createAppDouble, type DoubleOptions } from './app-double.ts'

const FORM = 'application/x-www-form-urlencoded'
const BASIC_CHALLENGE = 'Basic realm="countersign", charset="UTF-8"'

const seen: RouteRequest[] = []
const routes = {
  introspect: async (request) => {
    seen.push(request as unknown as RouteRequest)
    return { status: 200, body: { active: false } }
  },
  revoke_token: async () => ({ status: 200, body: { success: true, revoked: false } }),
  list_keys: async () => ({ status: 200, body: { items: [], next_cursor: null } }),
} satisfies Routes as Routes

let double: AppDouble
afterEach(() => double.app.close())

/** An app with one API key, and ways to call introspection with it. */
function open(options: DoubleOptions = {}) {
  seen.length = 0
  double = createAppDouble({ routes, ...options })
  const secret = double.key({ permissions: ['tokens:introspect', 'tokens:revoke'] })
  const id = [...double.keys.values()].at(-1)?.keyId ?? ''
  return { secret, id }
}

const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
const send = (
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
  path = '/api/auth/introspect',
) =>
  double.call('POST', path, {
    headers: { 'content-type': FORM, ...headers },
    payload: new URLSearchParams({ token: 'x', ...fields }).toString(),
  })
const withBasic = (authorization: string) => send({}, { authorization })

describe('HTTP Basic', () => {
  test('authenticates with the id and the secret of an API key, with a form and with JSON', async () => {
    const { id, secret } = open()
    const authorization = basic(id, secret)
    expect((await send({ token_type_hint: 'access_token' }, { authorization })).status).toBe(200)
    expect((await send({}, { authorization }, '/api/auth/revoke')).status).toBe(200)
    const json = await double.call('POST', '/api/auth/introspect', {
      headers: { 'content-type': 'application/json', authorization },
      payload: { token: 'x' },
    })
    expect(json.status).toBe(200)
    expect(seen.map(({ caller }) => caller)).toEqual(Array(2).fill(expect.objectContaining({ keyId: id })))
  })

  test('the scheme has any letter case, and both parts are encoded like a form', async () => {
    const { id, secret } = open()
    const encoded = (text: string) => text.replaceAll('_', '%5F').replaceAll('k', '%6b')
    const authorization = basic(encoded(id), encoded(secret))
    expect((await withBasic(authorization)).status).toBe(200)
    expect((await withBasic(authorization.replace('Basic', 'bAsIc'))).status).toBe(200)
  })

  test('a client_id beside it, which some clients send, changes nothing', async () => {
    const { id, secret } = open()
    expect((await send({ client_id: id }, { authorization: basic(id, secret) })).status).toBe(200)
  })

  test('another id, secret or encoding is 401, with its own challenge', async () => {
    const { id, secret } = open()
    const other = double.key()
    const good = Buffer.from(`${id}:${secret}`).toString('base64')
    for (const authorization of [
      basic(id, other),
      basic('key_other', secret),
      basic('', secret),
      basic(id, ''),
      basic(secret, id),
      basic(`${id} `, secret),
      basic(id, `${secret}%`),
      basic(id, `${secret}%ff`),
      `Basic ${Buffer.from(`${id}${secret}`).toString('base64')}`,
      `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`,
      `Basic ${good}=`,
      `Basic ${good} ${good}`,
      'Basic',
      'Basic ',
      'Basic !',
    ]) {
      const answer = await withBasic(authorization)
      expect([answer.status, answer.json.code], authorization).toEqual([401, 'api_key_invalid'])
      expect(answer.headers['www-authenticate'], authorization).toBe(BASIC_CHALLENGE)
    }
    expect(double.audit.length).toBeGreaterThan(0)
    expect(double.logLines.join('')).not.toContain(secret)
  })

  test('is an API key at these endpoints only', async () => {
    const { id, secret } = open()
    const answer = await double.call('GET', '/api/sites/shop.example/keys', {
      headers: { authorization: basic(id, secret) },
    })
    expect(answer.json.code).toBe('api_key_missing')
    expect(answer.headers['www-authenticate']).toBe('ApiKey realm="countersign"')
  })
})

describe('client_secret_post', () => {
  test('authenticates with client_id and client_secret in the form', async () => {
    const { id, secret } = open()
    expect((await send({ client_id: id, client_secret: secret })).status).toBe(200)
    expect((await send({ client_id: id, client_secret: secret }, {}, '/api/auth/revoke')).status).toBe(200)
    expect(seen[0]?.caller).toMatchObject({ kind: 'site', keyId: id })
  })

  test('another id or secret, or only one of them, is 401 without the challenge of Basic', async () => {
    const { id, secret } = open()
    const codes = async (fields: Readonly<Record<string, string>>) => {
      const { json, headers } = await send(fields)
      expect(headers['www-authenticate']).toMatch(/^ApiKey realm/)
      return json.code
    }
    expect(await codes({ client_id: id, client_secret: double.key() })).toBe('api_key_invalid')
    expect(await codes({ client_id: 'key_other', client_secret: secret })).toBe('api_key_invalid')
    expect(await codes({ client_secret: secret })).toBe('api_key_invalid')
    expect(await codes({ client_id: id, client_secret: '' })).toBe('api_key_missing')
    expect(await codes({ client_id: id })).toBe('api_key_missing')
    expect(await codes({})).toBe('api_key_missing')
    expect(double.logLines.join('')).not.toContain(secret)
  })

  test('is not read from the URL, and not from JSON', async () => {
    const { id, secret } = open()
    const query = new URLSearchParams({ client_id: id, client_secret: secret }).toString()
    expect((await send({}, {}, `/api/auth/introspect?${query}`)).json.code).toBe('api_key_missing')
    const json = await double.call('POST', '/api/auth/introspect', {
      headers: { 'content-type': 'application/json' },
      payload: { token: 'x', client_id: id, client_secret: secret },
    })
    expect(json.json.code).toBe('api_key_missing')
  })

  test('the content is validated after the caller', async () => {
    const { id, secret } = open()
    const form = (fields: Record<string, string>) =>
      double.call('POST', '/api/auth/introspect', {
        headers: { 'content-type': FORM },
        payload: new URLSearchParams(fields).toString(),
      })
    expect((await form({ client_id: id, client_secret: 'x' })).json.code).toBe('api_key_invalid')
    expect((await form({ client_id: id, client_secret: secret })).json.code).toBe('validation_failed')
  })

  test('a parameter that is sent twice is malformed', async () => {
    const { id, secret } = open()
    const answer = await double.call('POST', '/api/auth/introspect', {
      headers: { 'content-type': FORM },
      payload: `token=x&client_id=${id}&client_secret=${secret}&client_secret=${secret}`,
    })
    expect([answer.status, answer.json.code]).toEqual([400, 'request_malformed'])
  })
})

test('more than one method is 400, whichever two they are', async () => {
  const { id, secret } = open()
  const authorization = basic(id, secret)
  const answers = [
    await send({}, { 'x-api-key': secret, authorization }),
    await send({ client_id: id, client_secret: secret }, { 'x-api-key': secret }),
    await send({ client_id: id, client_secret: secret }, { authorization }),
    await send({ client_assertion: 'e30.e30.AA' }, { authorization }),
  ]
  expect(answers.map(({ status, json }) => [status, json.code])).toEqual(
    Array(4).fill([400, 'auth_ambiguous']),
  )
  expect(seen).toEqual([])
})

test('an Authorization of another scheme is not an API key, and does not disturb one', async () => {
  const { id, secret } = open()
  const authorization = 'Bearer svc_at_x'
  expect((await send({}, { authorization })).json.code).toBe('api_key_missing')
  expect((await send({}, { authorization, 'x-api-key': secret })).status).toBe(200)
  expect((await send({ client_id: id, client_secret: secret }, { authorization })).status).toBe(200)
})

describe('the rate limits', () => {
  const limited = (changes: Partial<Record<keyof typeof rateLimits, number>>) => ({
    config: {
      rateLimits: Object.fromEntries(
        Object.entries(rateLimits).map(([name, limit]) => [
          name,
          { ...limit, requests: changes[name as keyof typeof rateLimits] ?? limit.requests },
        ]),
      ) as typeof rateLimits,
    },
  })

  test('count invalid secrets, however they are sent; a valid one of the same address still works', async () => {
    const { id, secret } = open(limited({ wrong_key: 3 }))
    expect((await withBasic(basic(id, secret))).status).toBe(200)
    const statuses = [
      (await withBasic(basic(id, 'x'))).status,
      (await withBasic('Basic !')).status,
      (await send({ client_id: id, client_secret: 'x' })).status,
      (await withBasic(basic(id, 'x'))).status,
      (await withBasic('Basic !')).status,
      (await send({ client_id: id, client_secret: 'x' })).status,
      (await withBasic(basic(id, secret))).status,
      (await send({ client_id: id, client_secret: secret })).status,
    ]
    expect(statuses).toEqual([401, 401, 401, 429, 429, 429, 200, 200])
  })

  test('count a form without a valid secret by its size, before the next is read', async () => {
    const { id, secret } = open(limited({ keyless: 4 }))
    const large = { client_id: id, client_secret: 'x', filler: 'x'.repeat(13_000) }
    expect((await send(large)).status).toBe(401)
    expect((await send({})).status).toBe(429)
    expect((await send({ client_id: id, client_secret: secret })).status).toBe(429)
    // A key in a header does not need the allowance.
    expect((await withBasic(basic(id, secret))).status).toBe(200)
    double.now.ms += 30_000
    for (let i = 0; i < 10; i++)
      expect((await send({ client_id: id, client_secret: secret })).status).toBe(200)
  })

  test('count a malformed form, too; one that is announced as too large is not read', async () => {
    const { id } = open(limited({ keyless: 4 }))
    expect((await send({ client_id: id, filler: 'x'.repeat(17_000) })).status).toBe(413)
    const malformed = await double.call('POST', '/api/auth/introspect', {
      headers: { 'content-type': FORM },
      payload: `token=x&token=x&filler=${'x'.repeat(13_000)}`,
    })
    expect(malformed.status).toBe(400)
    expect((await send({})).status).toBe(429)
  })
})
