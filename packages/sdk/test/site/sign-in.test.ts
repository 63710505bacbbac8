import { createHash, randomBytes } from 'node:crypto'
import {
  signInRequestSchema,
  signInResultRequestSchema,
  signInResultSchema,
  signInStartedSchema,
} from '@countersign/core/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DevProcess, startDevProcess } from '../../../../scripts/dev-process.ts'
import { createClient } from '../../src/client/client.ts'
import {
  type FinishSignInOptions,
  finishSignIn,
  type PendingSignIn,
  startSignIn,
} from '../../src/site/sign-in.ts'

const BASE = 'https://auth.example'
const SITE = 'shop.example'
const RETURN_URL = 'https://shop.example/back'
const NOW = Date.UTC(2026, 10, 14, 12, 0, 0)

/**
 * The service's side of a sign-in, as the contract has it: what is asked is checked with its
 * schemas, the code works once.
 */
function signInService({ site = SITE, scope = ['orders:read', 'orders:write'] } = {}) {
  const codes = new Map<string, string>()
  let started: ReturnType<typeof signInRequestSchema.parse> | undefined
  const problem = (code: string) =>
    Response.json(
      { code, title: code, detail: code },
      { status: 400, headers: { 'content-type': 'application/problem+json' } },
    )
  const fetch = async (url: string, init: RequestInit) => {
    expect(new Headers(init.headers).has('x-api-key')).toBe(false)
    const body: unknown = JSON.parse(String(init.body))
    if (url === `${BASE}/auth/sdk-request`) {
      started = signInRequestSchema.parse(body)
      const state = randomBytes(32).toString('base64url')
      const answer = signInStartedSchema.parse({
        state,
        auth_url: `${BASE}/sign-in/${state}`,
        expires_in: 600,
      })
      return Response.json(answer, { status: 201 })
    }
    expect(url).toBe(`${BASE}/auth/sdk-result`)
    const { code, code_verifier } = signInResultRequestSchema.parse(body)
    const challenge = codes.get(code)
    codes.delete(code)
    if (createHash('sha256').update(code_verifier).digest('base64url') !== challenge)
      return problem('code_invalid')
    return Response.json(
      signInResultSchema.parse({
        ppid: 'did:service:ppid_4xk2p7q9d3m6w8zn',
        site_id: site,
        scope: started?.requested_scope ?? scope,
        permission_id: 'perm_default',
        credential_id: 'cred_01k9x3v0h2e8y6q4b7d5m1n8ra',
        verified_at: '2026-11-14T12:00:00Z',
        expires_at: '2026-12-14T12:00:00Z',
        issuer: 'did:web:issuer.example',
        oldest_created_at: '2026-11-14T11:00:00Z',
        credential_chain: ['cred_01k9x3v0h2e8y6q4b7d5m1n8ra'],
        holder_thumbprints: [],
      }),
    )
  }
  return {
    fetch: fetch as typeof globalThis.fetch,
    asked: () => started,
    /** Where the browser is sent at the end. */
    callback(changes: Record<string, string | undefined> = {}): string {
      const code = randomBytes(32).toString('base64url')
      codes.set(code, String(started?.code_challenge))
      const url = new URL(RETURN_URL)
      for (const [name, value] of Object.entries({
        code,
        state: started?.client_state,
        iss: BASE,
        ...changes,
      })) {
        if (value !== undefined) url.searchParams.set(name, value)
      }
      return url.href
    },
  }
}

async function begun(more: { scope?: string[] } = {}) {
  const service = signInService()
  const nowMs = () => NOW
  const { authUrl, pending } = await startSignIn({
    baseUrl: BASE,
    siteId: SITE,
    returnUrl: RETURN_URL,
    fetch: service.fetch,
    nowMs,
    ...more,
  })
  const finish = (callback: FinishSignInOptions['callback'], changes: Partial<FinishSignInOptions> = {}) =>
    finishSignIn({ baseUrl: BASE, fetch: service.fetch, nowMs, callback, pending, ...changes })
  return { service, authUrl, pending, finish }
}

const refused = (code: string) => expect.objectContaining({ name: 'SignInError', code })

test('a sign-in ends with who it is', async () => {
  const { service, authUrl, pending, finish } = await begun({ scope: ['orders:read'] })
  expect(authUrl).toMatch(`${BASE}/sign-in/`)
  expect(service.asked()).toMatchObject({
    site_id: SITE,
    return_url: RETURN_URL,
    requested_scope: ['orders:read'],
  })
  expect(JSON.parse(JSON.stringify(pending))).toEqual(pending)
  expect(await finish(service.callback())).toMatchObject({ site_id: SITE, scope: ['orders:read'] })
})

test('the way back may be a URL, a path with a query, or parameters, with others among them', async () => {
  const { service, finish } = await begun()
  const forms = [
    (url: string) => new URL(url),
    (url: string) => url.replace('https://shop.example', ''),
    (url: string) => new URL(url).searchParams,
  ]
  for (const form of forms)
    expect(await finish(form(`${service.callback()}&lang=en`))).toMatchObject({ site_id: SITE })
})

test('what is secret differs each time and the verifier never leaves before the end', async () => {
  const [one, two] = [await begun(), await begun()]
  expect(one.pending.verifier).toMatch(/^[A-Za-z0-9_-]{43}$/)
  expect(
    new Set([one.pending.verifier, two.pending.verifier, one.pending.state, two.pending.state]).size,
  ).toBe(4)
  expect(JSON.stringify(one.service.asked())).not.toContain(one.pending.verifier)
})

describe('A166', () => {
  test('a result without iss is refused, and so is one with another', async () => {
    for (const iss of [
      undefined,
      '',
      'https://evil.example',
      `${BASE}/`,
      'http://auth.example',
      BASE.toUpperCase(),
    ]) {
      const { service, finish } = await begun()
      await expect(finish(service.callback({ iss })), iss).rejects.toThrow(refused('issuer_mismatch'))
    }
    // The control arm: nothing else is wrong with it.
    const { service, finish } = await begun()
    await finish(service.callback({ iss: BASE }))
  })

  test('iss is checked before anything else is believed, also of a refusal', async () => {
    const { service, finish } = await begun()
    await expect(
      finish(service.callback({ iss: 'https://evil.example', error: 'access_denied' })),
    ).rejects.toThrow(refused('issuer_mismatch'))
  })

  test('a service that browsers know by another name says that name', async () => {
    const service = signInService()
    const started = await startSignIn({
      baseUrl: BASE,
      issuer: 'https://public.example',
      siteId: SITE,
      returnUrl: RETURN_URL,
      fetch: service.fetch,
    })
    const ask = { baseUrl: BASE, fetch: service.fetch, pending: started.pending }
    await expect(finishSignIn({ ...ask, callback: service.callback() })).rejects.toThrow(
      refused('issuer_mismatch'),
    )
    await finishSignIn({ ...ask, callback: service.callback({ iss: 'https://public.example' }) })
  })
})

test('the state of another sign-in, or none, is refused', async () => {
  const other = await begun()
  for (const state of [undefined, '', other.pending.state, `${other.pending.state}x`]) {
    const { service, finish } = await begun()
    await expect(finish(service.callback({ state }))).rejects.toThrow(refused('state_mismatch'))
  }
  const { service, finish } = await begun()
  await expect(finish(service.callback(), { pending: undefined })).rejects.toThrow(refused('state_mismatch'))
})

test('a parameter that stands twice is refused', async () => {
  for (const name of ['iss', 'state', 'code']) {
    const { service, finish } = await begun()
    await expect(finish(`${service.callback()}&${name}=x`)).rejects.toThrow(refused('callback_malformed'))
  }
  const { service, finish } = await begun()
  await expect(finish(service.callback({ code: undefined }))).rejects.toThrow(refused('callback_malformed'))
})

test('a user who cancels, or is refused, is told so', async () => {
  const { service, finish } = await begun()
  const callback = service.callback({
    code: undefined,
    error: 'access_denied',
    error_description: 'The user cancelled.',
  })
  await expect(finish(callback)).rejects.toThrow(
    expect.objectContaining({ code: 'denied', reason: 'access_denied', message: 'The user cancelled.' }),
  )
})

test('it may take eleven minutes and no longer', async () => {
  const { service, finish, pending } = await begun()
  expect(pending.expiresAtMs).toBe(NOW + 660_000)
  await expect(finish(service.callback(), { nowMs: () => NOW + 660_000 })).rejects.toThrow(refused('expired'))
  await finish(service.callback(), { nowMs: () => NOW + 659_999 })
})

test('a code works once, and with its verifier only', async () => {
  const { service, finish, pending } = await begun()
  const callback = service.callback()
  await finish(callback)
  await expect(finish(callback)).rejects.toThrow(
    expect.objectContaining({ name: 'CountersignError', code: 'code_invalid' }),
  )
  const stolen: PendingSignIn = { ...pending, verifier: 'x'.repeat(43) }
  await expect(finish(service.callback(), { pending: stolen })).rejects.toThrow(
    expect.objectContaining({ code: 'code_invalid' }),
  )
})

test('an answer for another site, or with less scope, is refused', async () => {
  const { service, finish, pending } = await begun()
  await expect(
    finish(service.callback(), { pending: { ...pending, siteId: 'other.example' } }),
  ).rejects.toThrow(refused('result_mismatch'))
  await expect(finish(service.callback(), { pending: { ...pending, scope: ['admin'] } })).rejects.toThrow(
    refused('result_mismatch'),
  )
})

describe('with a service', () => {
  let dev: DevProcess
  beforeAll(async () => {
    dev = await startDevProcess()
    const { base_url: baseUrl, operator_key: apiKey, site_id } = dev.dev
    await createClient({ baseUrl, apiKey }).changeSite({ site_id, return_urls: [RETURN_URL] })
  })
  afterAll(() => dev?.stop())

  /**
   * What a browser does between the two halves: opens the page, shows the credential, and goes
   * where it is sent.
   */
  async function browse(authUrl: string): Promise<string> {
    const { base_url, credential } = dev.dev
    const page = await fetch(authUrl)
    const cookie = String(page.headers.get('set-cookie')).split(';')[0] as string
    const headers = { cookie, origin: base_url, 'content-type': 'application/json' }
    const state = new URL(authUrl).searchParams.get('state')
    const presented = await fetch(`${base_url}/auth/present`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ state, credential }),
    })
    const { callback_url } = (await presented.json()) as { callback_url: string }
    const back = await fetch(callback_url, { headers: { cookie }, redirect: 'manual' })
    return String(back.headers.get('location'))
  }

  test('a sign-in begins here, goes through its pages and ends here', async () => {
    const { base_url: baseUrl, site_id: siteId, ppid } = dev.dev
    const { authUrl, pending } = await startSignIn({
      baseUrl,
      siteId,
      returnUrl: RETURN_URL,
      scope: ['orders:read'],
    })
    const callback = await browse(authUrl)
    expect(callback.startsWith(`${RETURN_URL}?`)).toBe(true)
    await expect(
      finishSignIn({ baseUrl, callback: callback.replace('iss=', 'isn='), pending }),
    ).rejects.toThrow(refused('issuer_mismatch'))
    expect(await finishSignIn({ baseUrl, callback, pending })).toMatchObject({
      ppid,
      site_id: siteId,
      scope: ['orders:read'],
    })
    await expect(finishSignIn({ baseUrl, callback, pending })).rejects.toThrow(
      expect.objectContaining({ code: 'code_invalid' }),
    )
  })

  test('an address that is not registered is refused when it begins', async () => {
    const { base_url: baseUrl, site_id: siteId } = dev.dev
    const start = startSignIn({ baseUrl, siteId, returnUrl: `${RETURN_URL}/x` })
    await expect(start).rejects.toThrow(
      expect.objectContaining({ code: 'redirect_not_allowed', status: 400 }),
    )
  })
})
