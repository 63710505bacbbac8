import { permissions as allPermissions, type Permission, rateLimits } from '@countersign/core/contract'
import { afterEach, describe, expect, test } from 'vitest'
import { Problem } from '../../src/problem.ts'
import type { RouteRequest } from '../../src/route.ts'
import type { Routes } from '../../src/routes/all.ts'
import { AUDIT_REJECTED } from '../../src/store/audit-rows.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { type AppDouble, createAppDouble, type DoubleOptions, SITE } from './app-double.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const OTHER_SITE = 'bank.example' as typeof SITE

const seen: RouteRequest[] = []
const subject = {
  ppid: 'did:service:ppid_4xk2p7q9d3m6w8zn',
  site_id: SITE,
  scope: [],
  credential_id: 'cred_01k9x3v0h2e8y6q4b7d5m1n8ra',
  permission_id: 'perm_x',
  expires_at: '2030-01-01T00:00:00Z',
}
const routes = {
  introspect: async (request) => {
    seen.push(request as unknown as RouteRequest)
    return { status: 200, body: { active: false } }
  },
  revoke_token: async () => ({ status: 200, body: { success: true, revoked: false } }),
  protected_action: async (request) => {
    request.requirePresentation()
    seen.push(request as unknown as RouteRequest)
    return {
      status: 200,
      body: {
        allowed: true,
        action: null,
        subject,
        presented: 'credential',
        view: { epoch: 'm3x9q2k7v5t1', seq: 1, age_ms: 0 },
      },
    }
  },
  exchange_proof: async (request) => {
    seen.push(request as unknown as RouteRequest)
    throw new Problem('issuer_untrusted')
  },
  revoke_user: async (request) => {
    seen.push(request as unknown as RouteRequest)
    throw new Problem('revocation_forbidden')
  },
  revocation_status: async (request) => {
    seen.push(request as unknown as RouteRequest)
    return {
      status: 200,
      body: { success: true, as_of: { epoch: 'm3x9q2k7v5t1', time: '2030-01-01T00:00:00Z' }, statuses: {} },
    }
  },
  forward_auth: async (request) => {
    request.requirePresentation()
    return { status: 200, headers: { 'X-Service-Subject': 'x' } }
  },
  list_keys: async () => ({ status: 200, body: { items: [], next_cursor: null } }),
  delete_key: async () => ({ status: 204 }),
  create_site: async () => {
    throw new Problem('already_exists')
  },
  alive: async () => ({ status: 200, body: { status: 'alive' } }),
} satisfies Routes as Routes

let double: AppDouble
function open(options: DoubleOptions = {}): AppDouble {
  seen.length = 0
  double = createAppDouble({ routes, ...options })
  return double
}
afterEach(() => double.app.close())

const introspect = (key: string | string[], payload: unknown = { token: 'x' }, headers = {}) =>
  double.call('POST', '/api/auth/introspect', {
    headers: { ...JSON_TYPE, 'x-api-key': key as string, ...headers },
    payload: payload as object,
  })

describe('finding the endpoint', () => {
  test('answers a path that is not there, and one whose endpoint is not built, with not_found', async () => {
    open()
    for (const path of [
      '/nothing/here',
      '/api/sites/shop.example/feed',
      '/api/sites/%zz/keys',
      '/healthz/',
    ]) {
      expect((await double.call('GET', path)).json.code, path).toBe('not_found')
    }
  })
  test('A146 answers another method with method_not_allowed and what is allowed', async () => {
    open()
    const answer = await double.call('GET', '/api/auth/introspect?token=x')
    expect([answer.status, answer.json.code, answer.headers.allow]).toEqual([
      405,
      'method_not_allowed',
      'POST',
    ])
    for (const method of ['OPTIONS', 'PUT', 'PROPFIND']) {
      const other = await double.call(method, '/healthz', {
        headers: { origin: 'https://evil.example', 'access-control-request-method': 'GET' },
      })
      expect([other.status, other.headers.allow, other.headers['access-control-allow-origin']]).toEqual([
        405,
        'GET, HEAD',
        undefined,
      ])
    }
  })
  test('does not read the body of what is not there', async () => {
    open()
    expect(
      (
        await double.call('POST', '/nothing', {
          headers: { 'content-type': 'text/plain' },
          payload: 'x'.repeat(100_000),
        })
      ).status,
    ).toBe(404)
  })
  test('answers HEAD like GET, without the body', async () => {
    open()
    const answer = await double.call('HEAD', '/healthz')
    expect([answer.status, answer.text]).toEqual([200, ''])
  })
  test('refuses a URL over its limit, wherever it points', async () => {
    open()
    expect((await double.call('GET', `/healthz?${'a'.repeat(8192)}`)).json.code).toBe('uri_too_long')
    expect((await double.call('GET', `/${'a'.repeat(8192)}`)).json.code).toBe('uri_too_long')
    expect((await double.call('GET', `/${'a'.repeat(8191)}`)).json.code).toBe('not_found')
  })
})

describe('request ids', () => {
  test('echoes a sane one and replaces any other', async () => {
    open()
    expect(
      (await double.call('GET', '/healthz', { headers: { 'x-request-id': 'abc.DEF_1-2' } })).headers[
        'x-request-id'
      ],
    ).toBe('abc.DEF_1-2')
    for (const silly of ['<script>', 'a b', '', 'x'.repeat(129), 'a\u00e9']) {
      expect(
        (await double.call('GET', '/healthz', { headers: { 'x-request-id': silly } })).headers[
          'x-request-id'
        ],
      ).toMatch(/^[A-Za-z0-9_-]{12}-[0-9a-z]+$/)
    }
  })
})

describe('the kind of body', () => {
  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/jsonx',
    'nonsense',
    '',
  ])('A130 rejects %j where JSON is wanted', async (type) => {
    open()
    const answer = await double.call('POST', '/api/auth/exchange-proof', {
      headers: { 'content-type': type },
      payload: '{}',
    })
    expect(answer.json.code).toBe('unsupported_media_type')
  })
  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
  ])('takes %j', async (type) => {
    open()
    const answer = await double.call('POST', '/api/auth/exchange-proof', {
      headers: { 'content-type': type },
      payload: '{"credential":{}}',
    })
    expect(answer.json.code).toBe('issuer_untrusted')
  })
  test.each(['gzip', 'deflate', 'br', 'x-gzip', 'zstd'])('refuses a body in %s (A224)', async (encoding) => {
    open()
    const headers = { ...JSON_TYPE, 'content-encoding': encoding }
    expect(
      (await double.call('POST', '/api/auth/exchange-proof', { headers, payload: '{"credential":{}}' })).json
        .code,
    ).toBe('unsupported_media_type')
  })
  test('refuses a body where none is taken', async () => {
    open()
    expect((await double.call('GET', '/healthz', { headers: JSON_TYPE, payload: '{}' })).json.code).toBe(
      'unsupported_media_type',
    )
  })
  test('takes no body at all where it is optional', async () => {
    open()
    const answer = await double.call('POST', '/api/protected/action', {
      headers: { 'x-service-credential': 'abc' },
    })
    expect(answer.status).toBe(200)
    expect(seen[0]?.body).toEqual({})
    expect(seen[0]?.holderRequest.body).toBe('none')
  })
  test('takes forms where OAuth clients send them, and passes over what it does not know', async () => {
    open()
    const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-api-key': double.key() }
    expect(
      (await double.call('POST', '/api/auth/introspect', { headers, payload: 'token=a%20b&client_id=x' }))
        .status,
    ).toBe(200)
    expect(seen[0]?.body).toEqual({ token: 'a b' })
    expect(
      (await double.call('POST', '/api/auth/introspect', { headers, payload: 'token=a&token=b' })).json.code,
    ).toBe('request_malformed')
    expect(
      (
        await double.call('POST', '/api/auth/introspect', {
          headers,
          payload: Buffer.from('token=\xff', 'latin1'),
        })
      ).json.code,
    ).toBe('request_malformed')
  })
})

describe('who calls', () => {
  test('asks for a key before it looks at anything else (A140)', async () => {
    open()
    const secret = double.key()
    const junk = { headers: JSON_TYPE, payload: '{{{' }
    expect((await double.call('POST', '/api/auth/introspect', junk)).json.code).toBe('api_key_missing')
    expect(
      (await double.call('POST', `/api/auth/introspect?api_key=${secret}&x-api-key=${secret}`, junk)).json
        .code,
    ).toBe('api_key_missing')
    expect(
      (
        await double.call('POST', '/api/auth/introspect', {
          ...junk,
          headers: { ...JSON_TYPE, authorization: `Bearer ${secret}` },
        })
      ).json.code,
    ).toBe('api_key_missing')
  })
  test('refuses every key that is nearly right (A151), and looks none of them up whose checksum is wrong', async () => {
    let lookUps = 0
    open()
    const secret = double.key()
    double.app.close()
    const { keys } = double
    open({ store: { apiKeyBySha256: async (sha256) => (lookUps++, keys.get(sha256)) } })
    for (const near of [
      'x',
      secret.slice(0, -1),
      `${secret}A`,
      secret.toUpperCase(),
      secret.replace('svc_sk_', 'svc_at_'),
      `${secret.slice(0, 50)}${secret[50] === 'A' ? 'B' : 'A'}${secret.slice(51)}`,
    ]) {
      const answer = await introspect(near)
      expect([answer.status, answer.json.code, answer.headers['www-authenticate']], near).toEqual([
        401,
        'api_key_invalid',
        'ApiKey realm="countersign", error="api_key_invalid"',
      ])
    }
    expect(lookUps).toBe(0)
    expect((await introspect(secret)).status).toBe(200)
  })
  test('refuses a header of authentication that was sent twice', async () => {
    open()
    const secret = double.key()
    expect((await introspect([secret, secret])).json.code).toBe('auth_ambiguous')
    for (const name of ['x-service-credential', 'authorization']) {
      const headers = { [name]: ['a', 'a'] as unknown as string }
      expect((await double.call('POST', '/api/protected/action', { headers })).json.code, name).toBe(
        'auth_ambiguous',
      )
    }
  })
  test('refuses an expired key at the very millisecond of its end', async () => {
    open()
    const secret = double.key({ expiresAtMs: double.now.ms + 500 })
    double.now.ms += 499
    expect((await introspect(secret)).status).toBe(200)
    double.now.ms += 1
    expect((await introspect(secret)).json.code).toBe('api_key_invalid')
  })
  test('refuses a key without the permission, and says which is needed (A149)', async () => {
    open()
    const secret = double.key({ permissions: ['tokens:revoke', 'feed:read'] })
    const answer = await introspect(secret)
    expect([answer.status, answer.json.code]).toEqual([403, 'api_key_forbidden'])
    expect(answer.json.detail).toContain('tokens:introspect')
  })
  test('lets an operator through every door, and no other key through the operator’s', async () => {
    open()
    expect((await introspect(double.key({ siteId: null, permissions: [] }))).status).toBe(200)
    const create = (key: string) =>
      double.call('POST', '/api/sites', {
        headers: { ...JSON_TYPE, 'x-api-key': key },
        payload: { site_id: 'new.example' },
      })
    expect((await create(double.key({ siteId: null, permissions: [] }))).json.code).toBe('already_exists')
    expect((await create(double.key({ permissions: ['site:admin'] }))).json.code).toBe('api_key_forbidden')
  })
  test('does not tell a foreign site in a path from one that does not exist', async () => {
    open()
    const headers = { 'x-api-key': double.key({ permissions: ['site:admin'] }) }
    expect((await double.call('GET', `/api/sites/${SITE}/keys`, { headers })).status).toBe(200)
    const foreign = await double.call('GET', `/api/sites/${OTHER_SITE}/keys`, { headers })
    const nowhere = await double.call('GET', '/api/sites/nowhere.example/keys', { headers })
    const unfit = await double.call('GET', '/api/sites/No%20Where/keys', { headers })
    for (const answer of [foreign, nowhere, unfit])
      expect({ ...answer.json, request_id: '' }).toEqual({ ...foreign.json, request_id: '' })
    expect(foreign.status).toBe(404)
  })
  test('takes a key or a credential where either will do, and never both', async () => {
    open()
    const revoke = (headers: Record<string, string>) =>
      double.call('POST', '/api/wallet/revoke-user', {
        headers: { ...JSON_TYPE, ...headers },
        payload: { ppid: subject.ppid, site_id: SITE },
      })
    const key = double.key({ permissions: ['credentials:revoke'] })
    expect((await revoke({})).json.code).toBe('api_key_missing')
    expect((await revoke({ 'x-service-credential': '  ' })).json.code).toBe('api_key_missing')
    expect((await revoke({ 'x-api-key': key })).json.code).toBe('revocation_forbidden')
    expect((await revoke({ 'x-service-credential': 'abc' })).json.code).toBe('revocation_forbidden')
    expect((await revoke({ 'x-api-key': key, 'x-service-credential': 'abc' })).json.code).toBe(
      'auth_ambiguous',
    )
    expect((await revoke({ 'x-api-key': key, authorization: 'Bearer x' })).json.code).toBe('auth_ambiguous')
  })
  test('S11: reinstating has a permission of its own; credentials:revoke only takes access away', async () => {
    const reinstated = {
      success: true,
      ppid: subject.ppid,
      site_id: SITE,
      reinstated_at: '2030-01-01T00:00:00Z',
      already_active: false,
    }
    const entries = [{ ppid: subject.ppid, seq: 1, already_active: false }]
    const answer = { status: 200, body: { ...reinstated, entries, epoch: 'm3x9q2k7v5t1', seq: 1 } }
    open({ routes: { ...routes, reinstate_user: async () => answer } as Routes })
    const reinstate = (...permissions: Permission[]) =>
      double.call('POST', '/api/wallet/reinstate-user', {
        headers: { ...JSON_TYPE, 'x-api-key': double.key({ permissions }) },
        payload: { ppid: subject.ppid, site_id: SITE },
      })
    const others = allPermissions.filter((permission) => permission !== 'credentials:reinstate')
    const refused = await reinstate(...others)
    expect([refused.status, refused.json.code, refused.json.detail]).toEqual([
      403,
      'api_key_forbidden',
      'This API key is not allowed to call this endpoint. Use a key with credentials:reinstate.',
    ])
    expect((await reinstate('credentials:reinstate')).status).toBe(200)
  })
  test('takes a key where it is optional, but no wrong one', async () => {
    open()
    const path = '/api/wallet/revocation-status?credential_ids=cred_aaaaaaaa'
    expect((await double.call('GET', path)).status).toBe(200)
    expect(seen[0]?.caller.kind).toBe('anonymous')
    expect((await double.call('GET', path, { headers: { 'x-api-key': double.key() } })).status).toBe(200)
    expect(seen[1]?.caller).toMatchObject({ kind: 'site', siteId: SITE })
    expect((await double.call('GET', path, { headers: { 'x-api-key': 'svc_sk_x' } })).json.code).toBe(
      'api_key_invalid',
    )
  })
  test('looks for a presentation before it looks at parameters (A015)', async () => {
    open()
    const path = '/api/protected/action?x-service-credential=abc'
    expect((await double.call('POST', path)).json.code).toBe('credential_missing')
    expect(
      (await double.call('POST', path, { headers: { cookie: 'x-service-credential=abc' } })).json.code,
    ).toBe('credential_missing')
    const unknown = await double.call('POST', path, { headers: { 'x-service-credential': 'abc' } })
    expect([unknown.json.code, unknown.json.errors]).toEqual([
      'validation_failed',
      [{ path: '…', message: 'this endpoint takes no query parameters' }],
    ])
  })
  test('lets the guard decide before it looks at what else was sent (A104)', async () => {
    open({ guard: () => Promise.reject(new Problem('proof_invalid')) })
    const headers = { ...JSON_TYPE, 'x-service-credential': 'abc' }
    expect(
      (await double.call('POST', '/api/protected/action?b=2&a=1', { headers, payload: '{{' })).json.code,
    ).toBe('proof_invalid')
    await double.app.close()
    open()
    expect((await double.call('POST', '/api/protected/action', { headers, payload: '{{' })).json.code).toBe(
      'request_malformed',
    )
    expect(
      (await double.call('POST', '/api/protected/action', { headers, payload: '{"x":1}' })).json.code,
    ).toBe('validation_failed')
  })
  test('never runs the route behind the guard with an invalid body or query', async () => {
    let ran = 0
    const protected_action = async () => {
      ran++
      throw new Problem('internal_error')
    }
    open({ routes: { protected_action } })
    const headers = { ...JSON_TYPE, 'x-service-credential': 'abc' }
    const context = (payload: string, query = '') =>
      double.call('POST', `/api/protected/action${query}`, { headers, payload })
    for (const payload of ['{{', '[]', '{"x":1}', '{"action":7}'])
      expect([(await context(payload)).status, ran], payload).toEqual([expect.toBeOneOf([400, 422]), 0])
    expect([(await context('{}', '?a=1')).json.code, ran]).toEqual(['validation_failed', 0])
    await context('{}')
    expect(ran).toBe(1)
  })
  test('refuses a look-alike of the credential header (A014)', async () => {
    open()
    for (const name of ['x_service_credential', 'x-service-credentials', 'service-credential']) {
      expect(
        (await double.call('POST', '/api/protected/action', { headers: { [name]: 'abc' } })).json.code,
      ).toBe('credential_missing')
    }
  })
  test('tells a reverse proxy nothing but 401 and 403', async () => {
    open()
    const key = double.key()
    const ask = (headers: Record<string, string>, query = '') =>
      double.call('GET', `/api/auth/verify${query}`, { headers })
    expect((await ask({ 'x-api-key': key, 'x-service-credential': 'abc' })).status).toBe(200)
    const ambiguous = await ask({
      'x-api-key': key,
      'x-service-credential': 'abc',
      authorization: 'Bearer x',
    })
    expect([ambiguous.status, ambiguous.json.code, ambiguous.json.status]).toEqual([
      401,
      'auth_ambiguous',
      401,
    ])
    expect((await ask({ 'x-service-credential': 'abc' })).status).toBe(401)
    expect(
      (await ask({ 'x-api-key': double.key({ permissions: ['feed:read'] }), 'x-service-credential': 'abc' }))
        .status,
    ).toBe(403)
    expect((await ask({ 'x-api-key': key, 'x-service-credential': 'abc' }, '?colour=red')).status).toBe(401)
    expect((await ask({ 'x-api-key': key, 'x-service-credential': 'abc' }, '?scope=a&scope=b')).status).toBe(
      200,
    )
  })
  test('believes a key for one second before it asks the store again (A148)', async () => {
    open()
    const secret = double.key()
    expect((await introspect(secret)).status).toBe(200)
    double.keys.clear()
    double.now.ms += 999
    expect((await introspect(secret)).status).toBe(200)
    double.now.ms += 1
    expect((await introspect(secret)).json.code).toBe('api_key_invalid')
  })
})

describe('what the audit learns', () => {
  test('has a row for a key that was rejected, without the key', async () => {
    open()
    const secret = double.key({ permissions: ['feed:read'] })
    await introspect(secret)
    await introspect('svc_sk_wrong')
    await double.app.close()
    expect(
      double.audit.map(({ siteId, action, target, detail, context }) => ({
        siteId,
        action,
        target,
        detail,
        actor: context.actor,
      })),
    ).toEqual([
      {
        siteId: SITE,
        action: 'key.refused',
        target: expect.stringMatching(/^key_/),
        detail: { outcome: AUDIT_REJECTED, code: 'api_key_forbidden', endpoint: 'introspect' },
        actor: expect.stringMatching(/^key:key_/),
      },
      {
        siteId: null,
        action: 'key.refused',
        target: undefined,
        detail: { outcome: AUDIT_REJECTED, code: 'api_key_invalid', endpoint: 'introspect' },
        actor: 'anonymous',
      },
    ])
    expect(JSON.stringify(double.audit)).not.toMatch(/svc_sk_/)
  })
})

describe('what was sent', () => {
  test('names every unknown member, and no value', async () => {
    open()
    const answer = await introspect(double.key(), { token: 'x', surprise: 'canary', other: 1 })
    expect([answer.status, answer.json.code]).toEqual([422, 'validation_failed'])
    expect(answer.json.errors.map(({ path }: { path: string }) => path)).toEqual(['surprise', 'other'])
    expect(answer.text).not.toContain('canary')
  })
  test.each([
    ['{', 'request_malformed'],
    ['', 'request_malformed'],
    ['[]', 'request_malformed'],
    ['{"token":"x","token":"y"}', 'request_malformed'],
    ['{"token":"x","tok\\u0065n":"y"}', 'request_malformed'],
    ['{"__proto__":1}', 'request_malformed'],
    ['{"token":9007199254740993}', 'request_malformed'],
    ['{"token":"\\ud800"}', 'request_malformed'],
    ['{"token":"x"} x', 'request_malformed'],
  ])('reads JSON strictly: %s', async (payload, code) => {
    open()
    expect((await introspect(double.key(), payload)).json.code).toBe(code)
  })
  test('blames faults inside the member credential on the credential', async () => {
    open()
    const exchange = (payload: string) =>
      double.call('POST', '/api/auth/exchange-proof', { headers: JSON_TYPE, payload })
    expect((await exchange('{"credential":{"a":1,"a":2}}')).json.code).toBe('credential_malformed')
    expect((await exchange('{"credential":"abc"}')).json.code).toBe('credential_malformed')
    expect((await exchange(`{"credential":{"a":"${'x'.repeat(6144)}"}}`)).json.code).toBe('request_too_large')
    expect((await exchange('{"credential":{},"site_id":1e400}')).json.code).toBe('request_malformed')
    expect((await exchange('{"credential":{},"ttl_seconds":1.5}')).json.code).toBe('ttl_out_of_range')
    await exchange('{"credential":{}}')
    expect(seen[0]?.credentialBody?.credential).toMatchObject({ ok: false })
  })
  test('rejects a body over the limit of its endpoint, told or found out', async () => {
    open()
    const long = `{"credential":{}${' '.repeat(16_384)}}`
    expect(
      (await double.call('POST', '/api/auth/exchange-proof', { headers: JSON_TYPE, payload: long })).json
        .code,
    ).toBe('request_too_large')
    const fits = `{"credential":{}${' '.repeat(16_384 - 17)}}`
    expect(
      (await double.call('POST', '/api/auth/exchange-proof', { headers: JSON_TYPE, payload: fits })).json
        .code,
    ).toBe('issuer_untrusted')
  })
  test('does not read an object of more than 64 members, and lists only some of those that are unknown (A222, S7)', async () => {
    open()
    const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"k${i}":0`).join(',')}}`
    const listed = await introspect(double.key(), members(64))
    expect([listed.json.code, listed.json.errors.length]).toEqual(['validation_failed', 20])
    expect((await introspect(double.key(), members(65))).json.code).toBe('request_malformed')
    expect((await introspect(double.key(), members(1000))).json.code).toBe('request_malformed')
  })
  test('does not decode more than 128 parameters of a query or a form (S7)', async () => {
    open()
    const query = (count: number) => Array.from({ length: count }, (_, i) => `k${i}=%41`).join('&')
    const answers = [128, 129].map((count) =>
      double.call('GET', `/api/wallet/revocation-status?${query(count)}`),
    )
    expect((await Promise.all(answers)).map(({ json }) => json.code)).toEqual([
      'validation_failed',
      'request_malformed',
    ])
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'x-api-key': double.key() }
    const sent = (payload: string) => double.call('POST', '/api/auth/introspect', { headers: form, payload })
    expect((await sent(`${query(127)}&token=x`)).status).toBe(200)
    expect((await sent(`${query(128)}&token=x`)).json.code).toBe('request_malformed')
  })
  test('counts a rejected request without a key by its size (S7)', async () => {
    const allowed = async (payload: string) => {
      open({ config: { rateLimits: { ...rateLimits, keyless: { ...rateLimits.keyless, requests: 12 } } } })
      const exchange = () => double.call('POST', '/api/auth/exchange-proof', { headers: JSON_TYPE, payload })
      for (let count = 0; ; count++) if ((await exchange()).status === 429) return count
    }
    expect(await allowed('{"credential":"abc"}')).toBe(12)
    expect(await allowed(`{"credential":"abc"${' '.repeat(4200)}}`)).toBe(6)
    expect(await allowed(`{"credential":"abc"${' '.repeat(16_000)}}`)).toBe(3)
  })
  test('refuses a single parameter that was sent twice, and one that is not known', async () => {
    open()
    const path = '/api/wallet/revocation-status?credential_ids=cred_aaaaaaaa&credential_ids=cred_bbbbbbbb'
    expect((await double.call('GET', path)).status).toBe(200)
    expect(seen[0]?.query).toEqual({ credential_ids: ['cred_aaaaaaaa', 'cred_bbbbbbbb'] })
    expect((await double.call('GET', `${path}&site_id=a.example&site_id=a.example`)).json.code).toBe(
      'request_malformed',
    )
    expect((await double.call('GET', `${path}&colour=red`)).json.code).toBe('validation_failed')
    expect(
      (await double.call('GET', `${path}&credential_ids=${encodeURIComponent("' OR 1=1 --")}`)).json.code,
    ).toBe('validation_failed')
  })
  test('hands the raw parts of the request on, as the client signed them', async () => {
    open()
    await double.call('POST', '/api/protected/action', {
      headers: {
        ...JSON_TYPE,
        host: 'evil.example',
        'x-service-credential': 'abc',
        prefer: 'respond-async, wait=7',
      },
      payload: '{ "action": "x" }',
    })
    const [request] = seen
    expect(request?.holderRequest).toMatchObject({
      method: 'POST',
      authority: 'id.example',
      scheme: 'https',
      path: '/api/protected/action',
      query: '',
    })
    expect(Buffer.from(request?.holderRequest.body as Uint8Array).toString()).toBe('{ "action": "x" }')
    expect(request?.lines('X-Nothing'.toLowerCase())).toBeUndefined()
    expect(request?.preferWaitSeconds).toBe(7)
    expect(request?.requirePresentation()).toEqual({ header: 'abc' })
  })
})

describe('the exit', () => {
  const failing = (fault: unknown, options: DoubleOptions = {}) =>
    open({
      routes: { introspect: () => Promise.reject(fault), alive: () => Promise.reject(fault) },
      ...options,
    })

  test('answers a store that cannot be asked with 503 and never with 200 (A144)', async () => {
    failing(new StoreUnavailable('SQLITE_BUSY at /var/lib/x'))
    const answer = await introspect(double.key())
    expect([answer.status, answer.json.code, answer.headers['retry-after']]).toEqual([
      503,
      'store_unavailable',
      '1',
    ])
    expect(answer.text).not.toMatch(/SQLITE|var/)
  })
  test('answers a store that cannot be asked for the key with 503 too', async () => {
    open({ store: { apiKeyBySha256: () => Promise.reject(new StoreUnavailable('down')) } })
    expect((await introspect(double.key())).json.code).toBe('store_unavailable')
  })
  test('says nothing of a fault of ours to the caller, and everything to the log', async () => {
    failing(new Error('canary-4711 with svc_at_SECRETSECRET', { cause: new Error('deeper') }))
    const answer = await double.call('GET', '/healthz', { headers: { 'x-request-id': 'r-1' } })
    expect([answer.status, answer.json.code]).toEqual([500, 'internal_error'])
    expect(answer.text).not.toContain('canary')
    const fault = double.logLines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'fault')
    expect(fault).toMatchObject({
      request_id: 'r-1',
      err: { message: 'canary-4711 with …', cause: { message: 'deeper' } },
    })
    expect(double.logLines.join('')).not.toContain('SECRETSECRET')
  })
  test('answers when something that is not even an error was thrown', async () => {
    failing('nonsense')
    expect((await double.call('GET', '/healthz')).status).toBe(500)
  })
  test('tells what scope is missing', async () => {
    open({
      routes: {
        protected_action: () =>
          Promise.reject(
            new Problem('scope_insufficient', 'more', { requiredScope: ['orders:read' as never] }),
          ),
      },
    })
    const answer = await double.call('POST', '/api/protected/action', {
      headers: { 'x-service-credential': 'abc' },
    })
    expect([answer.status, answer.json.required_scope]).toEqual([403, ['orders:read']])
  })
  test('has the headers of a limit on every 429, also on one that a route has thrown', async () => {
    failing(
      new Problem('rate_limited', 'too many', {
        retryAfterSeconds: 9,
        policy: { name: 'live_tokens', quota: 20, windowSeconds: 3600 },
      }),
    )
    const answer = await introspect(double.key())
    expect([
      answer.headers['ratelimit-policy'],
      answer.headers.ratelimit,
      answer.headers['retry-after'],
    ]).toEqual(['"live_tokens";q=20;w=3600', '"live_tokens";r=0;t=9', '9'])
    await double.app.close()
    failing(new Problem('rate_limited'))
    expect((await introspect(double.key())).status).toBe(429)
  })
})
