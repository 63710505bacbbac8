import { inspect } from 'node:util'
import { type Endpoint, type EndpointId, endpointList, endpoints } from '@countersign/core/contract'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type DevProcess, startDevProcess } from '../../../../scripts/dev-process.ts'
import { seenFetch } from '../../../../test/outside/seen-fetch.ts'
import {
  type AuditExport,
  allItems,
  type Client,
  type ClientOptions,
  calls,
  createClient,
  exportAudit,
} from '../../src/client/client.ts'
import { CountersignError } from '../../src/client/countersign-error.ts'
import { PLAIN_HTTP } from '../../src/shared/base-url.ts'

const KEY = `svc_sk_${'a'.repeat(49)}`
const BASE = 'https://auth.example'

describe('the table of calls', () => {
  /**
   * Not for programs that call: what a browser is sent through, streams that a guard follows, what
   * proxies ask, what tools read.
   */
  const LEFT_OUT = [
    ...[
      'protected_action',
      'forward_auth',
      'start_sign_in_by_link',
      'sign_in_callback',
      'sign_in_callback_by_form',
    ],
    ...['snapshot', 'feed', 'acknowledge', 'report_verdicts'],
    // Pages of the console call these.
    ...['open_session', 'read_session', 'end_session', 'list_sessions', 'end_listed_session'],
    ...['list_person_names'],
    ...['start_provider_sign_in', 'finish_provider_sign_in', 'receive_provider_logout'],
    ...['list_doors', 'start_passkey_sign_in', 'open_session_with_passkey', 'start_step_up', 'step_up'],
    ...['start_passkey', 'add_passkey', 'list_passkeys', 'rename_passkey', 'remove_passkey'],
    ...['start_demo_verifier'],
    // Identity providers call these.
    ...['receive_event', 'receive_logout', 'receive_token_revocation'],
    ...['did_document', 'jwks', 'context', 'openapi', 'site_logo', 'alive', 'ready', 'metrics'],
  ]
  const isPage = ({ auth, answers }: Endpoint) => auth === 'page' || answers[200]?.mediaType === 'text/html'
  const snake = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const named: [EndpointId, keyof typeof calls][] = Object.keys(calls).map((name) => [
    snake(name) as EndpointId,
    name as keyof typeof calls,
  ])

  test('has every endpoint of the contract that a program calls', () => {
    const all = endpointList.filter((endpoint) => !isPage(endpoint)).map(({ id }) => id)
    expect([...named.map(([id]) => id), ...LEFT_OUT].toSorted()).toEqual(all.toSorted())
  })

  test.each(named)('agrees with the contract about %s', (id, name) => {
    const { method, path, idempotency, auth, request } = endpoints[id] as Endpoint
    const row = calls[name]
    expect([row.method, row.path]).toEqual([method, path])
    if (idempotency !== undefined)
      expect(row.repeat).toBe({ replayed: 'keyed', secret: 'secret' }[idempotency])
    else expect(['safe', 'once']).toContain(row.repeat)
    expect(row.key).toBe(auth !== 'none' && auth !== 'credential_in_body')
    expect(row.wait).toBe('prefer' in toShape(request.headers))
    expect(row.body).toBe(request.body !== undefined)
    // The members of path, query and body stand together in one object, so no two may share a name.
    const all = [request.params, request.query, request.body].map((schema) => Object.keys(toShape(schema)))
    expect(new Set(all.flat()).size).toBe(all.flat().length)
    if (method === 'GET' || method === 'DELETE') expect(request.body).toBeUndefined()
    else expect(request.query).toBeUndefined()
  })
})

function toShape(schema: unknown): object {
  const { shape, def } = (schema ?? {}) as { shape?: object; def?: { shape?: object; in?: unknown } }
  return shape ?? def?.shape ?? {}
}

describe('against a service', () => {
  let service: DevProcess
  let client: Client
  let operator: Client
  beforeAll(async () => {
    service = await startDevProcess()
    const fetch = seenFetch as typeof globalThis.fetch
    client = createClient({ baseUrl: service.dev.base_url, apiKey: service.dev.site_key, fetch })
    operator = createClient({ baseUrl: `${service.dev.base_url}/`, apiKey: service.dev.operator_key, fetch })
  })
  afterAll(() => service?.stop())

  test('issues, exchanges, introspects, asks for the status and revokes', async () => {
    const { site_id } = service.dev
    const issued = await client.issueCredential({ site_id, user_ref: 'client-1', scope: ['orders:read'] })
    const token = await client.exchangeProof({ credential: issued.credential, ttl_seconds: 60 })
    expect(token).toMatchObject({ token_type: 'Bearer', site_id, scope: ['orders:read'] })
    expect(await client.introspect({ token: token.access_token })).toMatchObject({
      active: true,
      sub: issued.ppid,
    })
    expect(await client.revokeToken({ token: token.access_token })).toEqual({ success: true, revoked: true })
    expect(await client.introspect({ token: token.access_token })).toEqual({ active: false })

    const other = await client.issueCredential({ site_id, ppid: issued.ppid, scope: ['orders:read'] })
    const ids = [issued.credential_id, other.credential_id]
    expect((await client.revocationStatus({ credential_ids: ids })).statuses[ids[0] as string]).toMatchObject(
      { status: 'active' },
    )
    expect(await client.revokeCredential({ site_id, credential_id: ids[0] as string })).toMatchObject({
      revocation_type: 'credential',
    })
    const revoked = await client.revokeUser({ site_id, ppid: issued.ppid, reason: 'left' })
    expect(revoked).toMatchObject({ already_revoked: false, credential_ids: expect.arrayContaining(ids) })
    expect((await client.revocationStatus({ credential_ids: ids })).statuses[ids[1] as string]).toMatchObject(
      { reason: 'left' },
    )
    expect(await client.reinstateUser({ site_id, ppid: issued.ppid })).toMatchObject({
      already_active: false,
    })
  })

  test('the same idempotency key gets the same answer, and with another body is refused', async () => {
    const { site_id } = service.dev
    const key = { idempotencyKey: 'client-test-1' }
    const first = await client.issueCredential({ site_id, user_ref: 'once', scope: ['orders:read'] }, key)
    expect(await client.issueCredential({ site_id, user_ref: 'once', scope: ['orders:read'] }, key)).toEqual(
      first,
    )
    const other = client.issueCredential({ site_id, user_ref: 'twice', scope: ['orders:read'] }, key)
    await expect(other).rejects.toThrow(
      expect.objectContaining({ code: 'idempotency_conflict', status: 409, retryable: false }),
    )
  })

  test('a user revokes their own access with their credential, which the key does not accompany', async () => {
    const { site_id } = service.dev
    const { credential, ppid } = await client.issueCredential({
      site_id,
      user_ref: 'self',
      scope: ['orders:read'],
    })
    expect(await client.revokeUser({ site_id, ppid }, { credential })).toMatchObject({ success: true })
  })

  test('administers sites, issuers and keys, and walks lists to their end', async () => {
    const site = await operator.createSite({ site_id: 'client.example', name: 'Client' })
    expect(await operator.readSite({ site_id: site.site_id })).toEqual(site)
    expect(await operator.changeSite({ site_id: site.site_id, bearer: 'off' })).toMatchObject({
      bearer: 'off',
    })
    const issuer = 'did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw'
    await operator.addIssuer({ site_id: site.site_id, issuer, label: 'one' })
    expect(
      await operator.changeIssuer({ site_id: site.site_id, issuer, status: 'distrusted' }),
    ).toMatchObject({ status: 'distrusted' })

    const labels = ['a', 'b', 'c', 'd', 'e']
    for (const label of labels)
      await operator.createKey({ site_id: site.site_id, permissions: ['feed:read'], label })
    const keys = []
    for await (const key of allItems(operator.listKeys, { site_id: site.site_id, limit: 2 })) keys.push(key)
    expect(keys.map(({ label }) => label).toSorted()).toEqual(labels)
    expect(
      await operator.deleteKey({ site_id: site.site_id, key_id: String(keys[0]?.key_id) }),
    ).toBeUndefined()
    expect((await operator.listKeys({ site_id: site.site_id })).items).toHaveLength(4)
    expect((await operator.listSites({ limit: 200 })).items).toContainEqual(
      await operator.readSite({ site_id: site.site_id }),
    )
  })

  test('calls endpoints whose members are all optional without any, and those without a body', async () => {
    const { site_id } = service.dev
    const { key_id } = await operator.createOperatorKey({})
    await operator.deleteOperatorKey({ key_id: (await operator.createOperatorKey()).key_id })
    await operator.deleteOperatorKey({ key_id, reason: undefined })

    const { credential } = await client.issueCredential({ site_id, user_ref: 'bare', scope: ['orders:read'] })
    await client.exchangeProof({ credential })
    const token_id = String((await client.listTokens({ site_id, limit: 1 })).items[0]?.token_id)
    expect(await client.revokeTokenById({ site_id, token_id })).toMatchObject({ revoked: true })

    const { webhook_id } = await client.createWebhook({ site_id, url: 'https://hooks.example/bare' })
    expect(await client.rotateWebhookSecret({ site_id, webhook_id })).toMatchObject({ webhook_id })
    const more = { site_id, webhook_id, reason: 'leaked' }
    await expect(client.rotateWebhookSecret(more)).rejects.toThrow(
      expect.objectContaining({ code: 'unsupported_media_type', status: 415 }),
    )
    await client.deleteWebhook({ site_id, webhook_id })
  })

  test('a refusal says what is wrong, for programs', async () => {
    const unknown = createClient({ baseUrl: service.dev.base_url, apiKey: KEY })
    await expect(unknown.listSites()).rejects.toThrow(
      expect.objectContaining({ code: 'api_key_invalid', status: 401, retryable: false }),
    )
    const error = await client
      .issueCredential({ site_id: service.dev.site_id, user_ref: 'x', scope: ['NOT A SCOPE'] })
      .catch((e: unknown) => e)
    expect(error).toBeInstanceOf(CountersignError)
    const { code, denial, requestId } = error as CountersignError
    expect({ code, needs: denial?.needs }).toEqual({ code: 'validation_failed', needs: 'fix_request' })
    expect(denial?.errors?.[0]?.path).toContain('scope')
    expect(requestId).toMatch(/^[A-Za-z0-9._-]+$/)
  })
})

describe('when the service does not answer well', () => {
  /**
   * A service that answers so, one after the other; each answer may be an Error for none at all.
   */
  function scripted(...answers: (Response | Error)[]) {
    const seen: { url: string; init: RequestInit & { headers: Record<string, string> } }[] = []
    const fetch = async (url: unknown, init: unknown) => {
      seen.push({ url: String(url), init: init as never })
      const answer = answers.shift() ?? new Error('no more answers')
      if (answer instanceof Error) throw answer
      return answer
    }
    const client = createClient({ baseUrl: BASE, apiKey: KEY, fetch: fetch as typeof globalThis.fetch })
    return { client, seen }
  }
  const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
    Response.json(
      { code, status, title: code, detail: 'because', request_id: 'r-1' },
      { status, headers: { 'content-type': 'application/problem+json', ...headers } },
    )
  const good = () => Response.json({ success: true, revoked: true })

  test('the reason of a DELETE is in a header, encoded, and never in the URL', async () => {
    const { client, seen } = scripted(
      new Response(null, { status: 204 }),
      new Response(null, { status: 204 }),
    )
    const target = { site_id: 'shop.example', key_id: 'key_1' }
    await client.deleteKey({ ...target, reason: 'Zoë: 100 %' })
    await client.deleteKey(target)
    const url = `${BASE}/api/sites/shop.example/keys/key_1`
    expect(seen.map((each) => each.url)).toEqual([url, url])
    expect(seen.map(({ init }) => init.headers['x-reason'])).toEqual(['Zo%C3%AB%3A%20100%20%25', undefined])
  })

  test('the body is {} when no member of it is given, and absent where an endpoint has none', async () => {
    const { client, seen } = scripted(good(), good(), good(), good())
    const site_id = 'shop.example'
    await client.createOperatorKey({ label: undefined })
    await client.startDrill({ site_id })
    await client.testWebhook({ site_id, webhook_id: 'wh_1' })
    await client.listKeys({ site_id })
    expect(seen.map(({ init }) => [init.body, init.headers['content-type']])).toEqual([
      ['{}', 'application/json'],
      ['{}', 'application/json'],
      [undefined, undefined],
      [undefined, undefined],
    ])
  })

  test('it is asked again with the same idempotency key, and as late as it says', async () => {
    vi.useFakeTimers()
    try {
      const { client, seen } = scripted(
        problem(503, 'store_unavailable', { 'retry-after': '7' }),
        new Error('reset'),
        good(),
      )
      const answer = client.revokeToken({ token: 't' })
      await vi.advanceTimersByTimeAsync(6999)
      expect(seen).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(seen).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(1000)
      expect(await answer).toEqual({ success: true, revoked: true })
      const keys = seen.map(({ init }) => init.headers['idempotency-key'])
      expect(new Set(keys).size).toBe(1)
      expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a refusal that stays is not repeated', async () => {
    const { client, seen } = scripted(problem(403, 'api_key_forbidden'), good())
    await expect(client.revokeToken({ token: 't' })).rejects.toThrow(
      expect.objectContaining({ code: 'api_key_forbidden', requestId: 'r-1' }),
    )
    expect(seen).toHaveLength(1)
  })

  test('a wait of more than half a minute is left to the caller', async () => {
    const { client, seen } = scripted(problem(429, 'rate_limited', { 'retry-after': '31' }), good())
    await expect(client.listSites()).rejects.toThrow(
      expect.objectContaining({ code: 'rate_limited', retryAfterSeconds: 31, retryable: true }),
    )
    expect(seen).toHaveLength(1)
  })

  test('it gives up after two repetitions', async () => {
    const { client, seen } = scripted(
      ...Array.from({ length: 9 }, () => problem(503, 'overloaded', { 'retry-after': '0' })),
    )
    await expect(client.listSites()).rejects.toThrow(expect.objectContaining({ code: 'overloaded' }))
    expect(seen).toHaveLength(3)
  })

  test('a secret whose answer was lost is explained', async () => {
    const { client, seen } = scripted(new Error('reset'), problem(409, 'idempotency_conflict'))
    const call = client.createKey({ site_id: 'shop.example', permissions: ['feed:read'] })
    await expect(call).rejects.toThrow(
      /idempotency_conflict: An earlier try of this call was carried out, but its answer was lost/,
    )
    expect(seen[0]?.init.headers['idempotency-key']).toBe(seen[1]?.init.headers['idempotency-key'])
    const fresh = scripted(problem(409, 'idempotency_conflict')).client
    await expect(fresh.createKey({ site_id: 'shop.example', permissions: ['feed:read'] })).rejects.toThrow(
      /idempotency_conflict: because/,
    )
  })

  test('what can be used up is sent again only when it was never looked at', async () => {
    const used = scripted(new Error('reset'), Response.json({}))
    await expect(used.client.signInResult({ code: 'c', code_verifier: 'v' })).rejects.toThrow(
      expect.objectContaining({ code: 'no_answer' }),
    )
    expect(used.seen).toHaveLength(1)
    const paced = scripted(problem(429, 'rate_limited', { 'retry-after': '0' }), Response.json({ ok: 1 }))
    expect(await paced.client.signInResult({ code: 'c', code_verifier: 'v' })).toEqual({ ok: 1 })
  })

  test('a redirect is not followed and takes no key elsewhere', async () => {
    const { client, seen } = scripted(
      new Response(null, { status: 307, headers: { location: 'https://evil.example/' } }),
    )
    await expect(client.listSites()).rejects.toThrow(
      expect.objectContaining({ code: 'answer_unknown', status: 307 }),
    )
    expect(seen.map(({ url, init }) => [url, init.redirect])).toEqual([[`${BASE}/api/sites`, 'manual']])
  })

  test('an answer of something else is told from one of the service', async () => {
    for (const answer of [
      new Response('<html>', { status: 200 }),
      new Response('{', { headers: { 'content-type': 'application/json' } }),
    ]) {
      await expect(scripted(answer).client.listSites()).rejects.toThrow(
        expect.objectContaining({ code: 'answer_unknown' }),
      )
    }
    const gateway = scripted(
      new Response('bad gateway', { status: 502 }),
      Response.json({ items: [], next_cursor: null }),
    )
    expect(await gateway.client.listSites()).toEqual({ items: [], next_cursor: null })
  })

  test('a time-out is told from a wish to stop', async () => {
    const never = ((_: unknown, { signal }: RequestInit) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener('abort', () => reject(signal.reason)),
      )) as typeof fetch
    const client = createClient({ baseUrl: BASE, fetch: never, timeoutMs: 20, retriesMax: 0 })
    await expect(client.discovery()).rejects.toThrow(
      expect.objectContaining({ code: 'timed_out', retryable: true }),
    )
    await expect(client.discovery({}, { signal: AbortSignal.abort('enough'), timeoutMs: 1000 })).rejects.toBe(
      'enough',
    )
    const stop = new AbortController()
    const call = client.discovery({}, { signal: stop.signal, timeoutMs: 10_000 })
    stop.abort('enough')
    await expect(call).rejects.toBe('enough')
  })

  test('members of the path are escaped, lists are repeated, and nothing that is missing is sent', async () => {
    const { client, seen } = scripted(Response.json({}), Response.json({}), Response.json({}))
    await client.changeIssuer({ site_id: 'shop.example', issuer: 'did:web:a.example%3A8443', label: 'x' })
    await client.revocationStatus({ credential_ids: ['cred_a', 'cred_b'] })
    await client.replayDelivery({ site_id: 'shop.example', delivery_id: 'd/../e' })
    expect(seen.map(({ url }) => url)).toEqual([
      `${BASE}/api/sites/shop.example/issuers/did%3Aweb%3Aa.example%253A8443`,
      `${BASE}/api/wallet/revocation-status?credential_ids=cred_a&credential_ids=cred_b`,
      `${BASE}/api/sites/shop.example/deliveries/d%2F..%2Fe/replay`,
    ])
    expect(seen.map(({ init }) => init.body)).toEqual(['{"label":"x"}', undefined, undefined])
    await expect(client.readSite({ site_id: undefined as never })).rejects.toThrow(
      new TypeError('site_id must be a text'),
    )
  })

  test('wait goes to revocations only', async () => {
    const { client, seen } = scripted(Response.json({}))
    await client.revokeUser({ ppid: 'p', site_id: 's' }, { waitSeconds: 5 })
    expect(seen[0]?.init.headers.prefer).toBe('wait=5')
    await expect(client.listSites({}, { waitSeconds: 5 })).rejects.toThrow(TypeError)
    await expect(client.revokeUser({ ppid: 'p', site_id: 's' }, { waitSeconds: 31 })).rejects.toThrow(
      TypeError,
    )
    await expect(client.listSites({}, { idempotencyKey: 'k' })).rejects.toThrow(TypeError)
  })
})

test('a list that leads in a circle ends', async () => {
  const list = async () => ({ items: [1], next_cursor: 'same' })
  const walk = async () => {
    for await (const item of allItems(list, {})) expect(item).toBe(1)
  }
  await expect(walk()).rejects.toThrow('same page')
})

describe('exportAudit', () => {
  const read = async (options: Partial<ClientOptions>, more: Partial<AuditExport> = {}) => {
    let text = ''
    const order: AuditExport = { format: 'csv', site_id: 'shop.example', ...more }
    for await (const bytes of exportAudit({ baseUrl: BASE, apiKey: KEY, ...options }, order))
      text += new TextDecoder().decode(bytes)
    return text
  }

  test('asks for one format with its filters, and gives the bytes as they are', async () => {
    const fetch = vi.fn(async (_url: string, _init?: RequestInit) => new Response('a,b\r\n'))
    const given = { fetch: fetch as never }
    expect(await read(given, { actor: 'api_key:key_1', rows: 7 })).toBe('a,b\r\n')
    expect(fetch.mock.lastCall).toMatchObject([
      `${BASE}/api/sites/shop.example/audit?format=csv&actor=api_key%3Akey_1&rows=7`,
      { headers: { 'x-api-key': KEY }, redirect: 'manual' },
    ])
    for await (const _ of exportAudit({ baseUrl: BASE, ...given }, { format: 'ocsf', without_site: '1' }))
      break
    expect(fetch.mock.lastCall?.[0]).toBe(`${BASE}/api/audit?format=ocsf&without_site=1`)
    expect(fetch.mock.lastCall?.[1]?.headers).toEqual({})
  })

  test('throws what the service answers, and when the answer breaks off', async () => {
    const problem = JSON.stringify({ code: 'rate_limited', status: 429, title: 't', detail: 'Wait.' })
    const headers = { 'content-type': 'application/problem+json' }
    const rejected = (async () => new Response(problem, { status: 429, headers })) as never
    await expect(read({ fetch: rejected })).rejects.toMatchObject({ code: 'rate_limited' })
    const other = (async () => new Response('hello', { status: 302 })) as never
    await expect(read({ fetch: other })).rejects.toMatchObject({ code: 'answer_unknown' })
    const cut = (async () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.error(new Error('reset'))
          },
        }),
      )) as never
    await expect(read({ fetch: cut })).rejects.toMatchObject({ code: 'no_answer', retryable: true })
    await expect(read({ apiKey: 'nonsense' })).rejects.toThrow(TypeError)
    const stop = AbortSignal.abort(new Error('enough'))
    const aborted = (async () => Promise.reject(new Error('aborted'))) as never
    await expect(read({ fetch: aborted }, { signal: stop })).rejects.toThrow('enough')
  })
})

test('neither the client nor its errors show the key', async () => {
  const fetch = (() => Promise.reject(new Error('reset'))) as never
  const client = createClient({ baseUrl: BASE, apiKey: KEY, fetch, retriesMax: 0 })
  const error = await client.listSites().catch((thrown: unknown) => thrown)
  for (const thing of [client, error])
    expect(inspect(thing, { depth: 9, showHidden: true }) + JSON.stringify(thing)).not.toContain(KEY)
  expect(inspect(client)).toBe('Client { https://auth.example }')
})

test('misuse is told at once, without the key', () => {
  for (const baseUrl of [
    '',
    'auth.example',
    'ftp://a',
    'http://auth.example',
    'https://u:p@a.example',
    'https://a.example?x',
    'https://a.example#x',
  ]) {
    expect(() => createClient({ baseUrl }), baseUrl).toThrow(TypeError)
  }
  for (const baseUrl of [
    'http://127.0.0.1:1',
    'http://[::1]:1',
    'http://localhost:1',
    'http://demo.localhost:1',
    'https://a.example/x/',
  ]) {
    expect(() => createClient({ baseUrl }), baseUrl).not.toThrow()
  }
  expect(() => createClient({ baseUrl: 'http://auth.internal', [PLAIN_HTTP]: true })).not.toThrow()
  expect(() => createClient({ baseUrl: BASE, apiKey: `${KEY}\n` })).toThrow(
    new TypeError('apiKey must be svc_sk_… as it was shown'),
  )
  expect(() => createClient({ baseUrl: BASE, timeoutMs: 0 })).toThrow(TypeError)
  expect(() => createClient({ baseUrl: BASE, retriesMax: -1 })).toThrow(TypeError)
})
