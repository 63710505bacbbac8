import { createMemoryNonces, holderRequestFrom, signRequest } from '@countersign/core'
import { endpoints } from '@countersign/core/contract'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RouteAnswer } from '../../src/answer.ts'
import { answerOnce } from '../../src/http/idempotency.ts'
import { Problem } from '../../src/problem.ts'
import type { Routes } from '../../src/routes/all.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { issued, newParty } from '../party.ts'
import { type AppDouble, BASE_URL, createAppDouble, SITE } from './app-double.ts'

const PPID = 'did:service:ppid_4xk2p7q9d3m6w8zn'
const work = { done: 0, fault: undefined as unknown, hold: undefined as Promise<void> | undefined }
const revocation = () => ({
  success: true,
  credential_id: null,
  revocation_type: 'user',
  credential_ids: [],
  already_revoked: false,
  revoked_at: '2030-01-01T00:00:00Z',
  tokens_revoked: 0,
  epoch: 'm3x9q2k7v5t1',
  seq: work.done,
})
const routes = {
  revoke_user: async () => {
    work.done++
    await work.hold
    if (work.fault !== undefined) throw work.fault
    return { status: 200, body: revocation(), headers: { 'Preference-Applied': 'wait=1' } }
  },
  create_key: async () => {
    work.done++
    return {
      status: 201,
      body: { key_id: 'key_x', api_key: `svc_sk_${'A'.repeat(49)}`, permissions: ['feed:read'] },
    }
  },
  introspect: async () => ({ status: 200, body: (work.done++, { active: false }) as object }),
} satisfies Routes as Routes

let double: AppDouble
let key: string
beforeEach(() => {
  Object.assign(work, { done: 0, fault: undefined, hold: undefined })
  double = createAppDouble({ routes })
  key = double.key({ permissions: ['credentials:revoke', 'site:admin', 'tokens:introspect'] })
})
afterEach(() => double.app.close())

interface Sent {
  path?: string
  payload?: unknown
  headers?: Record<string, string>
  remoteAddress?: string
}
const send = (
  idempotencyKey: string,
  {
    path = '/api/wallet/revoke-user',
    payload = { ppid: PPID, site_id: SITE },
    headers = { 'x-api-key': key },
    remoteAddress = '192.0.2.1',
  }: Sent = {},
) =>
  double.call('POST', path, {
    headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey, ...headers },
    payload: payload as object,
    remoteAddress,
  })

describe('an idempotency key', () => {
  test('gives the first answer again, headers and all, and does the work once', async () => {
    const first = await send('a')
    const again = await send('a')
    expect([again.status, again.json, again.headers['preference-applied']]).toEqual([
      200,
      first.json,
      'wait=1',
    ])
    expect(work.done).toBe(1)
    await send('b')
    expect(work.done).toBe(2)
  })
  test('refuses another body (A183)', async () => {
    await send('a')
    const other = await send('a', { payload: { ppid: PPID, site_id: SITE, reason: 'x' } })
    expect([other.status, other.json.code, work.done]).toEqual([409, 'idempotency_conflict', 1])
  })
  test('belongs to one API key, one path and one caller', async () => {
    await send('a')
    await send('a', { headers: { 'x-api-key': double.key({ permissions: ['credentials:revoke'] }) } })
    const [one, other] = [(await issued(await newParty())).header, (await issued(await newParty())).header]
    await send('a', { headers: { 'x-service-credential': one } })
    await send('a', { headers: { 'x-service-credential': other } })
    expect(work.done).toBe(4)
    // A caller without the credential does not get its answer, even from the same address.
    expect((await send('a', { headers: {} })).json.code).toBe('api_key_missing')
    await send('a', { headers: { 'x-service-credential': one }, remoteAddress: '192.0.2.2' })
    expect(work.done).toBe(4)
  })
  test('I-17: is recognised in every spelling of the path, and belongs to one site', async () => {
    const make = (siteId: string) =>
      send('a', {
        path: `/api/sites/${siteId}/keys`,
        payload: { permissions: ['feed:read'] },
        headers: { 'x-api-key': operator },
      })
    const operator = double.key({ siteId: null, permissions: [] })
    const [first, again] = [await make('shop.example'), await make('shop%2Eexample')]
    expect([first.status, again.json.code, work.done]).toEqual([201, 'idempotency_conflict', 1])
    expect([(await make('other.example')).status, work.done]).toEqual([201, 2])
  })
  test('makes the second wait for the first (A235)', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    work.hold = promise
    const all = Promise.all(Array.from({ length: 30 }, () => send('a')))
    setTimeout(resolve, 30)
    for (const answer of await all) expect([answer.status, answer.json.seq]).toEqual([200, 1])
    expect(work.done).toBe(1)
  })
  test('keeps of a secret only that there was one', async () => {
    const make = () => send('a', { path: `/api/sites/${SITE}/keys`, payload: { permissions: ['feed:read'] } })
    expect((await make()).status).toBe(201)
    const again = await make()
    expect([again.status, again.json.code, work.done]).toEqual([409, 'idempotency_conflict', 1])
  })
  test.each([
    ['a refusal', new Problem('revocation_forbidden'), 403],
    ['a store that cannot be asked', new StoreUnavailable('down'), 503],
    ['a fault of ours', new Error('oops'), 500],
  ])('may be used again after %s', async (_what, fault, status) => {
    work.fault = fault
    expect((await send('a')).status).toBe(status)
    work.fault = undefined
    expect((await send('a')).status).toBe(200)
  })
  test.each(['', ' ', 'a b', 'é', 'x'.repeat(256)])('must be sane: %j', async (text) => {
    const answer = await send(text)
    expect([answer.status, answer.json.errors[0].path]).toEqual([422, 'idempotency-key'])
    expect(work.done).toBe(0)
  })
  test('does nothing at endpoints that change nothing', async () => {
    await send('a', { path: '/api/auth/introspect', payload: { token: 'x' } })
    await send('a', { path: '/api/auth/introspect', payload: { token: 'x' } })
    expect(work.done).toBe(2)
  })
  describe('costs no write before the credential that stands for the caller can be read', () => {
    const json = { 'content-type': 'application/json', 'idempotency-key': 'a' }
    const revoking = { ppid: PPID, site_id: SITE }
    const writesOf = async (path: string, headers: Record<string, string>, payload: object) => {
      let writes = 0
      const begins = createAppDouble({
        routes: {
          ...routes,
          exchange_proof: () => Promise.reject(new Problem('issuer_untrusted')),
        } as Routes,
        store: {
          beginIdempotent: async () => {
            writes++
            return 'begun'
          },
        },
      })
      const { json: told } = await begins.call('POST', path, { headers: { ...json, ...headers }, payload })
      await begins.app.close()
      return [told.code, writes]
    }
    test.each([
      [
        'a header that is none',
        '/api/wallet/revoke-user',
        { 'x-service-credential': 'abc' },
        revoking,
        'credential_malformed',
      ],
      [
        'a bearer token',
        '/api/wallet/revoke-user',
        { authorization: 'Bearer svc_at_x' },
        revoking,
        'api_key_missing',
      ],
      ['a body without one', '/api/auth/exchange-proof', {}, { credential: {} }, 'credential_malformed'],
    ])('%s', async (_what, path, headers, payload, code) => {
      expect(await writesOf(path, headers as Record<string, string>, payload)).toEqual([code, 0])
    })
    test('control: one that can be read', async () => {
      const { header } = await issued(await newParty())
      expect(await writesOf('/api/wallet/revoke-user', { 'x-service-credential': header }, revoking)).toEqual(
        [undefined, 1],
      )
    })
  })
  test('is not looked at before the caller is known', async () => {
    await send('a')
    expect((await send('a', { headers: { 'x-api-key': 'svc_sk_x' } })).json.code).toBe('api_key_invalid')
  })
})

describe('S10: the kept answer of a holder-bound credential', () => {
  const PATH = '/api/wallet/revoke-user'
  const payload = JSON.stringify({ ppid: PPID, site_id: SITE })

  const begin = async () => {
    const holder = await newParty()
    const nonces = createMemoryNonces({ startedAtMs: Number.NEGATIVE_INFINITY })
    const bound = createAppDouble({ routes, deps: { nonces } })
    const { header } = await issued(await newParty(), { holderKey: holder.did })
    const shown = { 'x-service-credential': header }
    const signed = async (key = holder.key, text = payload) => {
      const request = holderRequestFrom(
        'POST',
        `${BASE_URL}${PATH}`,
        new Headers(shown),
        new TextEncoder().encode(text),
      )
      return { ...shown, ...(await signRequest(request, { key, nowMs: bound.now.ms })) }
    }
    const ask = (headers: Record<string, string>) =>
      bound.call('POST', PATH, {
        headers: { 'content-type': 'application/json', 'idempotency-key': 'retry-1', ...headers },
        payload,
      })
    return { bound, shown, signed, ask }
  }

  test('is repeated for a new signature of the holder, and for nothing less', async () => {
    const { bound, shown, signed, ask } = await begin()
    const first = await ask(await signed())
    expect(first.status).toBe(200)
    expect((await ask(shown)).json.code).toBe('proof_required')
    expect((await ask(await signed((await newParty()).key))).json.code).toBe('proof_invalid')
    expect((await ask(await signed(undefined, '{}'))).json.code).toBe('proof_invalid')
    const again = await signed()
    expect((await ask(again)).json).toEqual(first.json)
    expect((await ask(again)).json.code).toBe('proof_replayed')
    expect(work.done).toBe(1)
    await bound.app.close()
  })

  test('control: that of an unbound credential needs only the credential', async () => {
    const { bound, ask } = await begin()
    const { header } = await issued(await newParty())
    const first = await ask({ 'x-service-credential': header })
    expect((await ask({ 'x-service-credential': header })).json).toEqual(first.json)
    expect(work.done).toBe(1)
    await bound.app.close()
  })
})

describe('answering once', () => {
  const raw = {
    method: 'POST',
    path: '/p',
    query: '',
    lines: (name: string) => (name === 'idempotency-key' ? ['a'] : undefined),
  }
  const request = {
    raw,
    endpoint: { idempotency: 'replayed' },
    caller: { kind: 'operator', keyId: 'key_1', address: '' },
    body: new Uint8Array(),
    requireReadable: () => {},
    requireSameCaller: async () => {},
    waitOutside: <T>(wait: () => Promise<T>): Promise<T> | undefined => wait(),
  }
  const once = (answer: () => Promise<RouteAnswer>, store: object, patience = { waitMsMax: 20, lookMs: 1 }) =>
    answerOnce(
      request as never,
      { ...double.deps, store: { ...double.deps.store, ...store } as never },
      answer,
      patience,
    )

  test('keeps answers sealed', async () => {
    const kept: string[] = []
    await once(async () => ({ status: 200, body: { canary: 'canary-4711' } }), {
      finishIdempotent: async (_key: unknown, answer: object) => void kept.push(JSON.stringify(answer)),
    })
    expect(kept).toHaveLength(1)
    expect(kept[0]).toContain('sealed')
    expect(kept[0]).not.toContain('canary')
  })
  test('gives up waiting in the end, and says to try again with the same key', async () => {
    const waiting = once(() => Promise.reject(new Error('must not run')), {
      beginIdempotent: async () => 'running',
    })
    await expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' })
  })
  test.each([
    ['revoke_user', 200],
    ['cut_off_site', 200],
    ['create_key', 'store_unavailable'],
  ] as const)('I-1: when the node of the first request has died, %s ends with %s', async (id, end) => {
    const answer = answerOnce(
      { ...request, endpoint: { ...endpoints[id], id } } as never,
      { ...double.deps, store: { ...double.deps.store, beginIdempotent: async () => 'running' } as never },
      async () => ({ status: 200 }),
      { waitMsMax: 20, lookMs: 5 },
    )
    expect(
      await answer.then(
        ({ status }) => status,
        ({ code }: Problem) => code,
      ),
    ).toBe(end)
  })
  test('I-19: waits only outside of the slots of the load shedder, and not when too many wait', async () => {
    let asked = 0
    let waits = 0
    const waiting = answerOnce(
      {
        ...request,
        waitOutside: (wait: () => Promise<unknown>) => (++waits > 2 ? undefined : wait()),
      } as never,
      {
        ...double.deps,
        store: { ...double.deps.store, beginIdempotent: async () => (asked++, 'running') } as never,
      },
      () => Promise.reject(new Error('must not run')),
    )
    await expect(waiting).rejects.toMatchObject({ code: 'store_unavailable' })
    expect([asked, waits]).toEqual([3, 3])
  })
  test('does not acknowledge what could not be kept', async () => {
    const given = once(async () => ({ status: 200 }), {
      finishIdempotent: () => Promise.reject(new StoreUnavailable('down')),
    })
    await expect(given).rejects.toBeInstanceOf(StoreUnavailable)
  })
  test.each([
    ['kept', { finishIdempotent: () => Promise.reject(new StoreUnavailable('down')) }],
    ['opened', { beginIdempotent: async () => ({ kind: 'answer', sealed: 'v1.00000000.AAAA' }) }],
  ])('answers a revocation that is done, though its answer cannot be %s', async (_, store) => {
    const answer = answerOnce(
      { ...request, endpoint: { ...endpoints.revoke_user, id: 'revoke_user' } } as never,
      { ...double.deps, store: { ...double.deps.store, logPosition: async () => 0, ...store } as never },
      async () => ({ status: 200 }),
    )
    expect((await answer).status).toBe(200)
  })
  test('reports the first fault, not that the key could not be given back', async () => {
    const given = once(() => Promise.reject(new Problem('site_unknown')), {
      abandonIdempotent: () => Promise.reject(new StoreUnavailable('down')),
    })
    await expect(given).rejects.toMatchObject({ code: 'site_unknown' })
  })
})
