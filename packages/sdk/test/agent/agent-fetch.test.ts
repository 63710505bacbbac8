import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { inspect } from 'node:util'
import {
  CREDENTIAL_HEADER,
  checkHolderProof,
  credentialHeader,
  didKey,
  generatePrivateKey,
  type HolderProof,
  isDenial,
  type JsonObject,
  type PrivateKey,
} from '@countersign/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type DevProcess, startDevProcess } from '../../../../scripts/dev-process.ts'
import { type AgentFetchOptions, agentFetch } from '../../src/agent/agent-fetch.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { readDenial } from '../../src/client/read-denial.ts'
import { PLAIN_HTTP } from '../../src/shared/base-url.ts'
import { type Listening, listening } from '../listening.ts'
import { newParty, type Party } from '../party.ts'

interface Seen {
  readonly server: string
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
  /** What the check of the holder proof says, when there is one. */
  readonly proof: HolderProof | string | undefined
}

let issuer: Party
let holder: PrivateKey
let bound: JsonObject
let plain: JsonObject
let home: Listening
let elsewhere: Listening
let seen: Seen[]
/** What the servers answer, by path. */
let answers: Record<string, (response: ServerResponse) => void>

beforeAll(async () => {
  issuer = await newParty()
  holder = await generatePrivateKey('Ed25519')
  bound = await issuer.issue({ holder, delegable: true })
  plain = await issuer.issue()
  const recording = (server: string) => async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    await once(request, 'end')
    const { method = '', url = '', headers } = request
    const body = Buffer.concat(parts)
    seen.push({ server, method, url, headers, body, proof: await proofIn(request, body) })
    const answer = answers[url.split('?')[0] ?? '']
    if (answer === undefined) response.end('fine')
    else answer(response)
  }
  home = await listening(recording('home'))
  elsewhere = await listening(recording('elsewhere'))
})
afterAll(async () => {
  await home?.close()
  await elsewhere?.close()
})
beforeEach(() => {
  seen = []
  answers = {}
})

async function proofIn(
  { method = '', url = '', headers, headersDistinct }: IncomingMessage,
  body: Buffer,
): Promise<Seen['proof']> {
  if (headers['signature-input'] === undefined) return undefined
  const [path = '', ...query] = url.split('?')
  const checked = await checkHolderProof(
    {
      method,
      authority: String(headers.host),
      path,
      query: query.length > 0 ? `?${query.join('?')}` : '',
      header: (name) => headersDistinct[name],
      body: body.length > 0 ? new Uint8Array(body) : 'none',
    },
    {
      holderKey: holder.publicKey,
      holderDid: didKey(holder.publicKey),
      nowMs: Date.now(),
      credentialHeaderSent: true,
    },
  )
  return isDenial(checked) ? checked.detail : checked
}

const redirect = (status: number, location: string) => (response: ServerResponse) =>
  void response.writeHead(status, { location }).end('moved')
const agent = (more: Partial<AgentFetchOptions> = {}) =>
  agentFetch({ credential: plain, origins: home.origin, ...more })
const boundAgent = (more: Partial<AgentFetchOptions> = {}) =>
  agent({ credential: bound, holderKey: holder, ...more })
const last = () => seen.at(-1) as Seen

describe('at an allowed origin', () => {
  test('the credential is in its header and nowhere else', async () => {
    const response = await agent()(`${home.origin}/a?b=c`, { headers: { 'x-mine': '1' } })
    expect(await response.text()).toBe('fine')
    expect(last()).toMatchObject({ method: 'GET', url: '/a?b=c', proof: undefined })
    expect(last().headers).toMatchObject({ [CREDENTIAL_HEADER]: credentialHeader(plain), 'x-mine': '1' })
    expect(last().headers.authorization).toBeUndefined()
  })

  test.each<[string, string, RequestInit]>([
    ['a GET with a query in an odd order', '/a?z=1&a=2&a=%20+', {}],
    ['a GET with an empty query', '/a?', {}],
    ['a path with escapes', '/a%2Fb/%C3%A9/~x', {}],
    [
      'a POST with JSON',
      '/a',
      { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } },
    ],
    ['a POST with bytes', '/a', { method: 'POST', body: new Uint8Array([0, 255, 10]) }],
    ['a POST with a form', '/a', { method: 'POST', body: new URLSearchParams({ a: 'b c' }) }],
    ['a POST without a body', '/a', { method: 'POST' }],
    ['a PATCH', '/a', { method: 'PATCH', body: 'x' }],
    ['a DELETE', '/a', { method: 'DELETE' }],
    ['a HEAD', '/a', { method: 'HEAD' }],
  ])('%s is signed so that the proof holds at the other end', async (_, path, init) => {
    await boundAgent()(home.origin + path, init)
    expect(last().proof).toMatchObject({ ok: true, bodyChecked: true })
    expect(last().url).toBe(path)
  })

  test('a form with files, a stream and a Request are signed too', async () => {
    const form = new FormData()
    form.set('file', new Blob(['abc']), 'a.txt')
    await boundAgent()(`${home.origin}/a`, { method: 'POST', body: form })
    expect(last().headers['content-type']).toMatch(/^multipart\/form-data; boundary=/)
    expect(last().proof).toMatchObject({ ok: true })
    const stream = new Blob(['streamed']).stream()
    await boundAgent()(`${home.origin}/a`, { method: 'POST', body: stream, duplex: 'half' } as RequestInit)
    expect(last()).toMatchObject({ proof: { ok: true }, body: Buffer.from('streamed') })
    await boundAgent()(
      new Request(`${home.origin}/a#part`, { method: 'PUT', body: 'x', headers: { 'x-mine': '2' } }),
    )
    expect(last()).toMatchObject({
      method: 'PUT',
      url: '/a',
      proof: { ok: true },
      headers: { 'x-mine': '2' },
    })
  })

  test('each request has a nonce of its own', async () => {
    const fetch = boundAgent()
    for (let i = 0; i < 3; i++) await fetch(`${home.origin}/a`)
    expect(new Set(seen.map(({ proof }) => (proof as HolderProof).nonce)).size).toBe(3)
  })

  test('fields that it sets itself are refused from the caller', async () => {
    for (const name of [CREDENTIAL_HEADER, 'Signature', 'Signature-Input', 'Content-Digest']) {
      await expect(agent()(`${home.origin}/a`, { headers: { [name]: 'x' } })).rejects.toThrow(TypeError)
    }
    await expect(agent()(`${home.origin}/a`, { headers: { authorization: 'Bearer x' } })).rejects.toThrow(
      TypeError,
    )
    await agent()(`${home.origin}/a`, { headers: { authorization: 'Basic x' } })
    expect(seen).toHaveLength(1)
  })

  test('a body over the limit is not sent', async () => {
    const fetch = agent({ bodyBytesMax: 3 })
    await fetch(`${home.origin}/a`, { method: 'POST', body: 'abc' })
    await expect(fetch(`${home.origin}/a`, { method: 'POST', body: 'abcd' })).rejects.toThrow(/bodyBytesMax/)
    expect(seen).toHaveLength(1)
  })

  test('it stops when its caller says so', async () => {
    const stop = new AbortController()
    answers['/slow'] = () => stop.abort('enough')
    await expect(boundAgent()(`${home.origin}/slow`, { signal: stop.signal })).rejects.toBe('enough')
  })
})

describe('an origin that is not listed', () => {
  const wanting = (code: string) => (response: ServerResponse) => {
    response.writeHead(401, { 'content-type': 'application/problem+json' })
    response.end(JSON.stringify({ code, title: code, status: 401, detail: code }))
  }
  const agent = (more: Partial<AgentFetchOptions> = {}) =>
    agentFetch({ credential: plain, origins: home.origin, ...more })

  test('is told to onUnlisted for every request, and the console stays quiet', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    answers['/in'] = wanting('credential_missing')
    const told: string[] = []
    const fetch = agent({ onUnlisted: (origin) => told.push(origin) })
    for (let i = 0; i < 2; i++) await fetch(`${elsewhere.origin}/in`)
    await fetch(`${home.origin}/x`)
    expect(told).toEqual([elsewhere.origin, elsewhere.origin])
    expect(warned).not.toHaveBeenCalled()
    warned.mockRestore()
  })

  test('that asks for a credential is warned about once; the answer can still be read', async () => {
    const warned = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    answers['/in'] = wanting('credential_missing')
    answers['/other'] = wanting('token_invalid')
    const fetch = agent()
    await fetch(`${elsewhere.origin}/x`)
    await fetch(`${elsewhere.origin}/other`)
    expect(warned).not.toHaveBeenCalled()
    for (let i = 0; i < 2; i++)
      expect(await (await fetch(`${elsewhere.origin}/in`)).json()).toMatchObject({
        code: 'credential_missing',
      })
    expect(warned.mock.calls).toEqual([
      [
        `agentFetch sent no credential to ${elsewhere.origin}, which asks for one: origins lists ${home.origin}`,
      ],
    ])
    warned.mockRestore()
  })
})

describe('elsewhere', () => {
  test('nothing of the credential is shown, whatever the address looks like', async () => {
    const other = `http://localhost:${home.port}`
    for (const url of [
      `${elsewhere.origin}/a`,
      `${other}/a`,
      `${elsewhere.origin}/${home.origin}`,
      `${elsewhere.origin}/?x=${home.origin}`,
    ]) {
      await boundAgent()(url, {
        method: 'POST',
        body: new Blob(['x']).stream(),
        duplex: 'half',
      } as RequestInit)
      expect(last().body.toString()).toBe('x')
      expect(bare(last())).toBe(true)
    }
  })

  test('a redirect from there to an allowed origin does not bring the credential out', async () => {
    answers['/trap'] = redirect(302, `${home.origin}/transfer`)
    await boundAgent()(`${elsewhere.origin}/trap`)
    expect(last()).toMatchObject({ server: 'home', url: '/transfer' })
    expect(bare(last())).toBe(true)
  })
})

function bare({ headers }: Seen): boolean {
  const credentialFields = [
    CREDENTIAL_HEADER,
    'signature',
    'signature-input',
    'content-digest',
    'authorization',
    'cookie',
  ]
  return (
    credentialFields.every((name) => headers[name] === undefined) &&
    !JSON.stringify(headers).includes(credentialHeader(bound).slice(0, 99))
  )
}

describe('redirects', () => {
  test.each([301, 302, 303, 307, 308])(
    'a %i within the origin is followed with the credential, signed again',
    async (status) => {
      answers['/from'] = redirect(status, '/to?x=1')
      const response = await boundAgent()(`${home.origin}/from`)
      expect(await response.text()).toBe('fine')
      expect(seen.map(({ url }) => url)).toEqual(['/from', '/to?x=1'])
      const [first, second] = seen.map(({ proof }) => proof as HolderProof)
      expect([first?.ok, second?.ok]).toEqual([true, true])
      expect(first?.nonce).not.toBe(second?.nonce)
    },
  )

  test.each([
    [301, 'GET', ''],
    [302, 'GET', ''],
    [303, 'GET', ''],
    [307, 'POST', '{"a":1}'],
    [308, 'POST', '{"a":1}'],
  ])('after a %i a POST becomes a %s', async (status, method, body) => {
    answers['/from'] = redirect(status, '/to')
    await boundAgent()(`${home.origin}/from`, {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    })
    expect(last()).toMatchObject({ method, proof: { ok: true } })
    expect(last().body.toString()).toBe(body)
    expect(last().headers['content-type']).toBe(body === '' ? undefined : 'application/json')
  })

  test.each([301, 302, 303, 307, 308])(
    'a %i of a GET to elsewhere is followed without anything that was meant for the origin',
    async (status) => {
      answers['/from'] = redirect(status, `${elsewhere.origin}/to`)
      const headers = { authorization: 'Basic abc', cookie: 'a=b', 'x-api-key': 'k', 'x-mine': '1' }
      await boundAgent()(`${home.origin}/from`, { headers })
      expect(last()).toMatchObject({ server: 'elsewhere', url: '/to', headers: { 'x-mine': '1' } })
      expect(bare(last())).toBe(true)
      expect(last().headers['x-api-key']).toBeUndefined()
    },
  )

  test('another allowed origin is still elsewhere to a redirect', async () => {
    answers['/from'] = redirect(302, `${elsewhere.origin}/to`)
    await boundAgent({ origins: [home.origin, elsewhere.origin] })(`${home.origin}/from`)
    expect(bare(last())).toBe(true)
    await boundAgent({ origins: [home.origin, elsewhere.origin] })(`${elsewhere.origin}/to`)
    expect(bare(last())).toBe(false)
  })

  test('a way back from elsewhere does not bring the credential back', async () => {
    answers['/from'] = redirect(302, `${elsewhere.origin}/via`)
    answers['/via'] = redirect(302, `${home.origin}/to`)
    await boundAgent()(`${home.origin}/from`)
    expect(seen.map(({ server, url }) => server + url)).toEqual(['home/from', 'elsewhere/via', 'home/to'])
    expect(bare(last())).toBe(true)
  })

  test.each([307, 308])('a %i of a POST to elsewhere is handed back: its body stays here', async (status) => {
    answers['/from'] = redirect(status, `${elsewhere.origin}/to`)
    const response = await boundAgent()(`${home.origin}/from`, { method: 'POST', body: 'secret' })
    expect([response.status, response.headers.get('location'), await response.text()]).toEqual([
      status,
      `${elsewhere.origin}/to`,
      'moved',
    ])
    expect(seen).toHaveLength(1)
  })

  test('a redirect to an odd address is handed back', async () => {
    for (const location of ['ftp://x/', 'javascript:1', 'http://[', `http://a:b@127.0.0.1:${home.port}/to`]) {
      answers['/from'] = redirect(302, location)
      expect((await boundAgent()(`${home.origin}/from`)).status).toBe(302)
    }
    expect(seen).toHaveLength(4)
  })

  test('five in a row are followed and no more', async () => {
    for (let i = 0; i < 6; i++) answers[`/${i}`] = redirect(302, `/${i + 1}`)
    expect(await (await agent()(`${home.origin}/1`)).text()).toBe('fine')
    await expect(agent()(`${home.origin}/0`)).rejects.toThrow('more than 5 redirects')
    await expect(agent({ redirectsMax: 0 })(`${home.origin}/5`)).rejects.toThrow('more than 0 redirects')
  })

  test('manual and error mean what they mean to fetch', async () => {
    answers['/from'] = redirect(302, '/to')
    expect((await agent()(`${home.origin}/from`, { redirect: 'manual' })).status).toBe(302)
    await expect(agent()(`${home.origin}/from`, { redirect: 'error' })).rejects.toThrow(TypeError)
    expect(seen).toHaveLength(2)
  })
})

describe('a proof that is refused', () => {
  const refusedWith = (code: string) =>
    Response.json(
      { code, detail: code },
      { status: 401, headers: { 'content-type': 'application/problem+json' } },
    )

  /** A verifier that refuses so often, and what it saw. */
  async function asked(code: string, refusals: number, options: Partial<AgentFetchOptions> = {}) {
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    const inputs: (string | null)[] = []
    const fetch = async (_url: unknown, init: RequestInit) => {
      inputs.push(new Headers(init.headers).get('signature-input'))
      return inputs.length <= refusals ? refusedWith(code) : new Response('fine')
    }
    try {
      const answer = boundAgent({ ...options, fetch: fetch as typeof globalThis.fetch })(`${home.origin}/a`, {
        method: 'POST',
        body: 'x',
      })
      for (let i = 0; i < 20; i++) await vi.advanceTimersByTimeAsync(500)
      return { response: await answer, inputs }
    } finally {
      vi.useRealTimers()
    }
  }

  test.each(['proof_invalid', 'proof_replayed'])(
    'as %s is made again, twice, since a verifier may have just started',
    async (code) => {
      const late = await asked(code, 2)
      expect(await late.response.text()).toBe('fine')
      expect(new Set(late.inputs).size).toBe(3)
      const never = await asked(code, 9)
      expect(await readDenial(never.response)).toMatchObject({ code, needs: 'holder_proof' })
      expect(never.inputs).toHaveLength(3)
    },
  )

  test('is the only thing that is sent again', async () => {
    expect((await asked('credential_revoked', 9)).inputs).toHaveLength(1)
    expect(
      (await asked('proof_invalid', 9, { credential: plain, holderKey: undefined as never })).inputs,
    ).toHaveLength(1)
  })
})

describe('what cannot work is told at once', () => {
  test('keys and credentials that do not belong together', async () => {
    const other = await generatePrivateKey('Ed25519')
    expect(() => agent({ credential: bound })).toThrow('give its holderKey')
    expect(() => agent({ holderKey: holder })).toThrow('leave holderKey out')
    expect(() => agent({ credential: bound, holderKey: other })).toThrow('not the key of this credential')
    expect(() => agent({ credential: { a: 1 } })).toThrow(TypeError)
  })

  test('origins that are none, and http beyond loopback', () => {
    for (const origins of [
      '',
      'shop.example',
      'https://shop.example/path',
      'https://a:b@shop.example',
      'ftp://shop.example',
      '*',
      [],
    ]) {
      expect(() => agent({ origins })).toThrow(TypeError)
    }
    expect(() => agent({ origins: 'http://shop.example' })).toThrow(TypeError)
    expect(() => agent({ origins: 'http://shop.example', [PLAIN_HTTP]: true })).not.toThrow()
    expect(() => agent({ origins: ['https://shop.example', 'https://shop.example:8443/'] })).not.toThrow()
  })
})

test('neither the agent nor an error shows the credential or the key', async () => {
  const fetch = boundAgent()
  const gone = await listening(() => undefined)
  await gone.close()
  const error = await boundAgent({ origins: gone.origin })(`${gone.origin}/a`).catch(
    (thrown: unknown) => thrown,
  )
  const text = [fetch, error].map((thing) => inspect(thing, { depth: 9, showHidden: true })).join()
  expect(text).toContain(fetch.credentialId)
  for (const part of [
    credentialHeader(bound).slice(20, 60),
    (bound.proof as JsonObject).proofValue as string,
  ])
    expect(text).not.toContain(part)
})

describe('with a service', () => {
  let service: DevProcess
  let client: Client
  let action: string
  const act = { method: 'POST', body: '{"action":"list"}', headers: { 'content-type': 'application/json' } }
  beforeAll(async () => {
    service = await startDevProcess()
    const { base_url, operator_key, site_id } = service.dev
    client = createClient({ baseUrl: base_url, apiKey: operator_key })
    await client.addIssuer({ site_id, issuer: issuer.did })
    action = `${base_url}/api/protected/action`
  })
  afterAll(() => service?.stop())
  const atService = (more: Partial<AgentFetchOptions> = {}) =>
    boundAgent({ origins: service.dev.base_url, ...more })

  test('a bound and a plain credential are accepted', async () => {
    expect(await (await atService()(action, act)).json()).toMatchObject({
      allowed: true,
      presented: 'credential',
      action: 'list',
    })
    const answer = await agent({ origins: service.dev.base_url })(action, act)
    expect(await answer.json()).toMatchObject({ allowed: true })
  })

  test('an agent delegates less, the next delegates less still, and the last is accepted', async () => {
    const [next, third] = [await generatePrivateKey('Ed25519'), await generatePrivateKey('P-256')]
    const second = await atService().delegate({
      scope: ['orders:read', 'orders:write'],
      ttlSeconds: 600,
      holderKey: next,
      delegable: true,
    })
    const last = await second.fetch.delegate({ scope: ['orders:read'], ttlSeconds: 60, holderKey: third })
    const answer = await last.fetch(action, act)
    expect(await answer.json()).toMatchObject({
      allowed: true,
      subject: { scope: ['orders:read'], credential_id: last.fetch.credentialId },
    })
    // A116: what the first loses, all lose.
    await client.revokeCredential({ site_id: service.dev.site_id, credential_id: second.fetch.credentialId })
    expect(await readDenial(await last.fetch(action, act))).toMatchObject({
      code: 'credential_revoked',
      needs: 'none',
      retryable: false,
    })
    expect((await atService()(action, act)).status).toBe(200)
  })

  test('to an agent elsewhere only its public key is needed', async () => {
    const next = await generatePrivateKey('Ed25519')
    const { credential, fetch } = await atService().delegate({
      scope: ['orders:read'],
      ttlSeconds: 60,
      holderKey: didKey(next.publicKey),
    })
    expect(fetch).toBeUndefined()
    const there = agentFetch({ credential, holderKey: next, origins: service.dev.base_url })
    expect((await there(action, act)).status).toBe(200)
  })

  test('A109, A111, A115: what no verifier would accept is not delegated', async () => {
    const next = await generatePrivateKey('Ed25519')
    const give = { scope: ['orders:read'], ttlSeconds: 60, holderKey: next }
    await expect(atService().delegate({ ...give, scope: ['admin'] })).rejects.toThrow(
      'does not have that scope',
    )
    await expect(atService().delegate({ ...give, ttlSeconds: 86_400 })).rejects.toThrow('it expires earlier')
    await expect(atService().delegate({ ...give, ttlSeconds: 0 })).rejects.toThrow(TypeError)
    const child = await atService().delegate(give)
    await expect(child.fetch.delegate(give)).rejects.toThrow('not delegable')
    await expect(agent({ origins: service.dev.base_url }).delegate(give)).rejects.toThrow('bound to a key')
  })

  test('a bearer token is used only if asked for, kept, and renewed once when it is refused', async () => {
    let exchanges = 0
    let tokens: string[] = []
    const fetch: typeof globalThis.fetch = (url, init) => {
      if (String(url).endsWith('/exchange-proof')) exchanges++
      else tokens.push(new Headers(init?.headers).get('authorization') ?? 'none')
      return globalThis.fetch(url, init)
    }
    let nowMs = Date.now()
    const exchange = { baseUrl: service.dev.base_url, ttlSeconds: 60 }
    const legacy = agent({ origins: service.dev.base_url, fetch, exchange, nowMs: () => nowMs })
    const answers = await Promise.all([legacy(action, act), legacy(action, act)])
    for (const answer of answers) expect(await answer.json()).toMatchObject({ presented: 'bearer' })
    expect(exchanges).toBe(1)
    expect(tokens[0]).toMatch(/^Bearer svc_at_/)

    await client.revokeToken({ token: String(tokens[0]).slice('Bearer '.length) })
    tokens = []
    expect((await legacy(action, act)).status).toBe(200)
    expect([exchanges, tokens.length, new Set(tokens).size]).toEqual([2, 2, 2])

    nowMs += 53_000
    await legacy(action, act)
    expect(exchanges).toBe(2)
    nowMs += 2000
    await legacy(action, act)
    expect(exchanges).toBe(3)
    await atService({ fetch })(action, act)
    expect([exchanges, tokens.at(-1)]).toEqual([3, 'none'])
    // A bound credential is proven at the exchange; there is no other way to a token.
    expect(await (await atService({ fetch, exchange })(action, act)).json()).toMatchObject({
      presented: 'bearer',
    })
  })

  test('a refused exchange is told, and the route is not asked', async () => {
    const spent = await issuer.issue({ nowMs: Date.now() - 7_200_000, lifeMs: 3_600_000 })
    const legacy = agent({
      credential: spent,
      origins: home.origin,
      exchange: { baseUrl: service.dev.base_url },
    })
    await expect(legacy(`${home.origin}/a`)).rejects.toThrow(
      expect.objectContaining({ code: 'credential_expired' }),
    )
    expect(seen).toHaveLength(0)
  })
})
