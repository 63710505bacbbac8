import { connect, type Socket } from 'node:net'
import type { SiteId } from '@countersign/core'
import { limits, type Preview, type Revocation, type SiteSummary } from '@countersign/core/contract'
import { afterEach, describe, expect, test } from 'vitest'
import { createReceipt } from '../../src/feed/receipt.ts'
import type { Routes } from '../../src/routes/all.ts'
import { forwardAuth } from '../../src/routes/api/auth/verify.ts'
import { testWebhook } from '../../src/routes/api/sites/webhooks.ts'
import { revocationStatus } from '../../src/routes/api/wallet/revocation-status.ts'
import { toPropagationBody } from '../../src/routes/shared/propagation-body.ts'
import { withPropagation } from '../../src/routes/shared/with-propagation.ts'
import { type AppDouble, createAppDouble, SITE } from './app-double.ts'

const gate = { open: () => {}, waiting: Promise.resolve() as Promise<void>, arrived: 0 }
const READERS = { readAtMs: 0, nodes: [], leases: [], streams: [], departed: [], headReadersUntilMs: 0 }
const TIMES = { atMs: 0, committedAtMs: 0, deniedHereAtMs: 0, headsDeadAtMs: 60_000, headAgeMsMax: 60_000 }
const RECEIPT = createReceipt(READERS, { epoch: 'epoch000', seq: 1, position: 1, ...TIMES }, 0)
const NOTHING = { count: 0, complete: true }
const PREVIEW: Preview = {
  site_id: SITE,
  users: NOTHING,
  credentials: NOTHING,
  bound_credentials: 0,
  delegated_credentials: 0,
  tokens: NOTHING,
  offers: 0,
  sign_ins: 0,
  verifiers: 0,
  not_ended: [],
  samples: { users: [], credentials: [], tokens: [] },
  webhooks: [],
  lagging_verifiers: [],
  irreversible: true,
  ends_own_access: false,
  epoch: 'epoch000',
  seq: 1,
}
const load = { delayMs: 0, acceptMs: 0 }
const AT = '2026-01-01T00:00:00.000Z'
const NONE = { count: 0, or_more: false }
const SUMMARY: SiteSummary = {
  window: '24h',
  from: AT,
  to: AT,
  verdicts: { total: 0, allowed: 0, denied: 0, by: [] },
  series: [],
  verifiers: [],
  bearer: {
    mode: 'on',
    share: null,
    accepted: 0,
    verifiers: [],
    live_tokens: NONE,
    users_with_live_tokens: NONE,
    last_accepted_at: null,
    last_exchange_at: null,
    observed_since: null,
    verifiers_not_reporting: [],
    safe_to_switch_off: false,
  },
  counts: {
    revoked_users: NONE,
    active_credentials: NONE,
    live_tokens: NONE,
    open_sign_ins: NONE,
    open_offers: NONE,
  },
}
const routes = {
  introspect: async () => {
    gate.arrived++
    await gate.waiting
    return { status: 200, body: { active: false } }
  },
  list_verifiers: async () => ({ status: 200, body: { items: [], next_cursor: null } }),
  propagation_receipt: async () => ({
    status: 200,
    body: { epoch: 'epoch000', seq: 1, ...toPropagationBody(RECEIPT, 0) },
  }),
  read_summary: async () => ({ status: 200, body: SUMMARY }),
  preview: async () => ({ status: 200, body: PREVIEW }),
  list_keys: async () => ({ status: 200, body: { items: [], next_cursor: null } }),
  revoke_token: async () => ({ status: 200, body: { success: true, revoked: false } }),
  revoke_user: (request, deps) =>
    withPropagation(request, deps, SITE, { epoch: 'epoch000', seq: 1, atMs: 0 }, REVOKED),
  revoke_credential: async (_request, { views }) => {
    await views.waitFor(1)
    return { status: 200, body: { ...REVOKED, revocation_type: 'credential' } }
  },
  revocation_status: revocationStatus,
  forward_auth: forwardAuth,
  test_webhook: testWebhook,
  alive: async () => ({ status: 200, body: { status: 'alive' } }),
} satisfies Routes as Routes

const parked = { open: () => {}, waiting: Promise.resolve() as Promise<void>, arrived: 0 }
/** Callers that wait for verifiers are answered when `parked` is opened. */
const receipt = async (_siteId: unknown, _entry: unknown, { ms }: { ms: number }) => {
  if (ms > 0) {
    parked.arrived++
    await parked.waiting
  }
  return RECEIPT
}
/** Waits until `parked` is opened, as for a log that this node has not read yet. */
const park = async () => {
  parked.arrived++
  await parked.waiting
}
const viewsDouble = {
  waiting: 0,
  async waitFor() {
    this.waiting++
    await park()
    this.waiting--
  },
  hasApplied: () => false,
  waitForSeq: park,
  readiness: () => ({ ready: true }),
  age: () => ({ ageMs: 0, ageMsMax: 2000, asOfMs: 0 }),
  view: () => undefined,
}
const webhookTester = {
  async test() {
    await park()
    return { sentAtMs: 0, answer: undefined }
  },
}
const closeGate = () => {
  parked.arrived = 0
  parked.waiting = new Promise((resolve) => {
    parked.open = resolve
  })
}
const REVOKED: Revocation = {
  success: true,
  credential_id: null,
  revocation_type: 'user',
  credential_ids: [],
  already_revoked: false,
  revoked_at: AT,
  tokens_revoked: 0,
  epoch: 'epoch000',
  seq: 1,
}

let double: AppDouble
function open(): void {
  load.delayMs = 0
  load.acceptMs = 0
  gate.waiting = Promise.resolve()
  double = createAppDouble({
    routes,
    gauge: { eventLoopDelayMs: () => load.delayMs, acceptDelayMs: () => load.acceptMs },
    config: { overload: { eventLoopDelayMsMax: 100, acceptDelayMsMax: 200, inFlightMax: 2 } },
    store: { statuses: async () => [], epoch: 'epoch000' },
    deps: {
      verifiers: { close: async () => {}, receipt } as never,
      views: viewsDouble as never,
      webhookTester: webhookTester as never,
    },
  })
}
afterEach(() => double.app.close())

const post = (path: string) => {
  const headers = {
    'content-type': 'application/json',
    'x-api-key': double.key({ permissions: ['tokens:introspect', 'tokens:revoke'] }),
  }
  return double.call('POST', path, { headers, payload: { token: 'x' } })
}
const verify = () => post('/api/auth/introspect')
/** Resolves when all of them have arrived. They are answered when the gate is opened. */
const verifyUntilOpened = async (count: number) => {
  gate.arrived = 0
  gate.waiting = new Promise((resolve) => {
    gate.open = resolve
  })
  const running = Array.from({ length: count }, verify)
  await expect.poll(() => gate.arrived).toBe(count)
  return running
}
const revoke = () => post('/api/auth/revoke')
const report = (path: string) =>
  double.call('GET', `/api/sites/${SITE}/${path}`, {
    headers: { 'x-api-key': double.key({ permissions: ['site:admin', 'feed:read'] }) },
  })
const administer = () =>
  double.call('GET', `/api/sites/${SITE}/keys`, {
    headers: { 'x-api-key': double.key({ permissions: ['site:admin'] }) },
  })

describe('under load', () => {
  test('verifications are refused first, revocations still get through', async () => {
    open()
    load.delayMs = 100
    expect((await verify()).status).toBe(200)
    load.delayMs = 101
    const refused = await verify()
    expect([refused.status, refused.json.code, refused.headers['retry-after']]).toEqual([
      503,
      'overloaded',
      '2',
    ])
    expect((await revoke()).status).toBe(200)
  })
  test('verifications are rejected when new connections wait long, before the event loop shows it (B2)', async () => {
    open()
    load.delayMs = 11
    load.acceptMs = 200
    expect((await verify()).status).toBe(200)
    load.acceptMs = 201
    const rejected = await verify()
    expect([rejected.status, rejected.json.code, rejected.headers['retry-after']]).toEqual([
      503,
      'overloaded',
      '2',
    ])
    expect([(await revoke()).status, (await administer()).status]).toEqual([200, 200])
    load.delayMs = 10
    expect((await verify()).status).toBe(200)
  })
  test('receipts, the list of verifiers and summaries are rejected with the verifications', async () => {
    open()
    const all = async () => [
      (await report('propagation?seq=1')).status,
      (await report('verifiers')).status,
      (await report('summary')).status,
    ]
    load.delayMs = 100
    expect(await all()).toEqual([200, 200, 200])
    load.delayMs = 101
    expect(await all()).toEqual([503, 503, 503])
    expect((await administer()).status).toBe(200)
    load.delayMs = 11
    load.acceptMs = 201
    expect(await all()).toEqual([503, 503, 503])
  })
  test('previews are rejected with the verifications', async () => {
    open()
    const headers = {
      'content-type': 'application/json',
      'x-api-key': double.key({ permissions: ['site:read'] }),
    }
    const payload = { act: { type: 'cut_off_site' } }
    const preview = () => double.call('POST', `/api/sites/${SITE}/preview`, { headers, payload })
    load.delayMs = 100
    expect((await preview()).status).toBe(200)
    load.delayMs = 101
    expect((await preview()).json.code).toBe('overloaded')
  })
  test('the rest is rejected at four times the load, but revocations and health never (B2)', async () => {
    open()
    load.delayMs = 400
    expect((await administer()).status).toBe(200)
    load.delayMs = 401
    expect((await administer()).json.code).toBe('overloaded')
    load.delayMs = 60_000
    expect((await revoke()).status).toBe(200)
    expect((await double.call('GET', '/healthz')).status).toBe(200)
  })
  test('so many requests may run at once', async () => {
    open()
    const running = await verifyUntilOpened(2)
    expect((await verify()).json.code).toBe('overloaded')
    expect((await revoke()).status).toBe(200)
    gate.open()
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200)
    expect((await verify()).status).toBe(200)
  })
  test('requests whose bodies have yet to arrive take no room from others, and need room themselves when they are there', async () => {
    open()
    const { port } = await double.app.listen()
    const slow: Awaited<ReturnType<typeof halfAsked>>[] = []
    while (slow.length < 10) slow.push(await halfAsked(port))
    expect((await verify()).status).toBe(200)
    const running = await verifyUntilOpened(2)
    expect(await Promise.all(slow.slice(0, 5).map(({ finish }) => finish()))).toEqual(Array(5).fill(503))
    gate.open()
    for (const answer of await Promise.all(running)) expect(answer.status).toBe(200)
    expect(await slow[5]?.finish()).toBe(200)
    for (const { socket } of slow) socket.destroy()
  })
})

describe('revocations that wait for verifiers', () => {
  const newKey = (siteId: SiteId = SITE) => double.key({ siteId, permissions: ['credentials:revoke'] })
  const revokeAndWait = (key: string, headers: Record<string, string> = {}) =>
    double.call('POST', '/api/wallet/revoke-user', {
      headers: { 'content-type': 'application/json', 'x-api-key': key, prefer: 'wait=30', ...headers },
      payload: { ppid: `did:service:ppid_${'7'.repeat(52)}`, site_id: SITE },
    })
  const parkMany = async (key: string, count: number) => {
    const arrived = parked.arrived + count
    const waiting = Array.from({ length: count }, () => revokeAndWait(key))
    await expect.poll(() => parked.arrived).toBe(arrived)
    return waiting
  }

  test('I-15: take no room from verifications, which may be of other sites', async () => {
    open()
    closeGate()
    const waiting = await parkMany(newKey(), 10)
    expect((await verify()).status).toBe(200)
    parked.open()
    for (const { status, headers } of await Promise.all(waiting))
      expect([status, headers['preference-applied']]).toEqual([200, 'wait=30'])
    // Every slot is free again, and none twice.
    const running = await verifyUntilOpened(2)
    expect((await verify()).json.code).toBe('overloaded')
    gate.open()
    await Promise.all(running)
  })
  test('I-19: are answered immediately, with a receipt, when the key or the site has too many', async () => {
    open()
    closeGate()
    const [first, second, third] = [newKey(), newKey(), newKey()]
    const elsewhere = newKey('other.example' as SiteId)
    const waiting = await parkMany(first, limits.waits_per_key_max)
    const beyond = await revokeAndWait(first)
    expect([beyond.status, beyond.json.success, beyond.json.propagation.acknowledged]).toEqual([200, true, 0])
    expect(beyond.headers['preference-applied']).toBeUndefined()
    waiting.push(...(await parkMany(second, limits.waits_per_site_max - limits.waits_per_key_max)))
    expect((await revokeAndWait(third)).headers['preference-applied']).toBeUndefined()
    waiting.push(...(await parkMany(elsewhere, 1)))
    parked.open()
    await Promise.all(waiting)
    for (const key of [first, second, third])
      expect((await revokeAndWait(key)).headers['preference-applied']).toBe('wait=30')
  })
  test('I-19: take no room either while they are repeated', async () => {
    open()
    closeGate()
    const key = newKey()
    const named = { 'idempotency-key': 'a-key-of-this-request' }
    const first = revokeAndWait(key, named)
    await expect.poll(() => parked.arrived).toBe(1)
    const repeated = Array.from({ length: 5 }, () => revokeAndWait(key, named))
    await expect.poll(async () => (await verify()).status).toBe(200)
    parked.open()
    for (const { status } of await Promise.all([first, ...repeated])) expect(status).toBe(200)
  })
})

describe('requests that wait for the log or for a receiver', () => {
  const ID = `cred_${'1'.repeat(20)}`
  const newKey = () => double.key({ permissions: ['site:admin', 'credentials:revoke', 'tokens:introspect'] })
  const askStatus = (key: string) =>
    double.call(
      'GET',
      `/api/wallet/revocation-status?credential_ids=${ID}&site_id=${SITE}&min_seq=epoch000.7`,
      { headers: { 'x-api-key': key } },
    )
  const waits = {
    'a status with min_seq': askStatus,
    'forward-auth with min_seq': (key: string) =>
      double.call('GET', '/api/auth/verify?min_seq=epoch000.7', {
        headers: { 'x-api-key': key, 'x-service-credential': 'e30' },
      }),
    'a revocation, for this node to apply it': (key: string) =>
      double.call('POST', '/api/wallet/revoke', {
        headers: { 'x-api-key': key, 'content-type': 'application/json' },
        payload: { credential_id: ID, site_id: SITE },
      }),
    'a test of a webhook': (key: string) =>
      double.call('POST', `/api/sites/${SITE}/webhooks/wh_01jbqz5k3m8n4p6r7s9t2v4w6x/test`, {
        headers: { 'x-api-key': key },
      }),
  }
  /** One after the other: together they would need as many slots until they wait. */
  const sendUntilOpened = async <T>(count: number, send: () => Promise<T>) => {
    closeGate()
    const waiting: Promise<T>[] = []
    while (waiting.length < count) {
      waiting.push(send())
      await expect.poll(() => parked.arrived).toBe(waiting.length)
    }
    return waiting
  }

  test.each(Object.entries(waits))('I-15: take no room from others: %s', async (_name, send) => {
    open()
    const key = newKey()
    const waiting = await sendUntilOpened(10, () => send(key))
    expect((await verify()).status).toBe(200)
    parked.open()
    await Promise.all(waiting)
    // Every slot is free again, and none twice.
    const running = await verifyUntilOpened(2)
    expect((await verify()).json.code).toBe('overloaded')
    gate.open()
    await Promise.all(running)
  })
  test('I-19: are answered immediately when the key has too many that name min_seq', {
    tags: 'long',
  }, async () => {
    open()
    const key = newKey()
    const waiting = await sendUntilOpened(limits.waits_per_key_max, () => askStatus(key))
    const beyond = await askStatus(key)
    expect([beyond.status, beyond.json.code, beyond.headers['retry-after']]).toEqual([
      503,
      'revocation_view_stale',
      '1',
    ])
    parked.open()
    for (const { status } of await Promise.all(waiting)) expect(status).toBe(200)
    expect((await askStatus(key)).status).toBe(200)
  })
})

/** A request that the server knows of, all but the last byte of its body. */
async function halfAsked(port: number): Promise<{ socket: Socket; finish(): Promise<number> }> {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  const key = double.key({ permissions: ['tokens:introspect'] })
  const head = [
    'POST /api/auth/introspect HTTP/1.1',
    'Host: id.example',
    `X-API-Key: ${key}`,
    'Content-Type: application/json',
  ]
  const asked = new Promise((resolve) => double.app.server.once('request', resolve))
  socket.write(`${head.join('\r\n')}\r\nContent-Length: 13\r\n\r\n{"token":"x"`)
  await asked
  // At most one of them still has its slot when there is room for another request.
  await expect.poll(async () => (await verify()).status).toBe(200)
  return {
    socket,
    finish: () =>
      new Promise((resolve) => {
        socket.once('data', (data) => resolve(Number(data.toString('latin1').split(' ')[1])))
        socket.write('}')
      }),
  }
}
