import { auditChain, type Entry } from '@countersign/core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { follow, type SseClient } from '../../packages/service/test/feed/sse-client.ts'
import {
  freePort,
  type PostgresServer,
  startPostgres,
} from '../../packages/service/test/store/postgres-server.ts'
import { openProxy, type TcpProxy } from '../../packages/service/test/store/tcp-proxy.ts'
import { type Client, createClient } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  furnish,
  pause,
  type ServiceHome,
  type ServiceProcess,
  startService,
} from '../process/service-process.ts'

/** B_node of the contract, and the lease of a node: bounds of correctness, not of speed. */
const NODE_BOUND_MS = 2000
const LEASE_MS = 10_000
const SETUP_MS_MAX = 120_000
const TEST_MS_MAX = 90_000

let server: PostgresServer
let home: ServiceHome
let dev: DevFile
let proxy: TcpProxy
let first: ServiceProcess
let one: Client
/** Reaches the database through a wire that can be cut, and may be killed. */
let second: ServiceProcess
let two: Client
const streams = new Set<SseClient>()

beforeAll(async () => {
  server = await startPostgres()
  home = await createHome({ databaseUrl: await server.createDatabase() })
  dev = await furnish(home)
  proxy = await openProxy(server.port)
  first = await startService(home)
  one = createClient(first.url, dev)
  await startSecond()
}, SETUP_MS_MAX)
afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') for (const { output } of [first, second]) console.error(output())
  for (const stream of streams) stream.close()
  streams.clear()
  proxy.release()
  await expect.poll(() => two.ready().catch(() => false)).toBe(true)
}, SETUP_MS_MAX)
afterAll(async () => {
  await cleanUp()
  await proxy?.close()
  await server?.stop()
}, SETUP_MS_MAX)

async function startSecond(): Promise<void> {
  const url = new URL(home.databaseUrl ?? '')
  url.host = `127.0.0.1:${proxy.port}`
  second = await startService(home, { port: await freePort(), databaseUrl: url.href })
  two = createClient(second.url, dev)
}

async function listen(
  node: ServiceProcess,
  name: string,
  after?: string,
  key = dev.site_key,
): Promise<SseClient> {
  const headers = { 'x-verifier-id': name, ...(after === undefined ? {} : { 'last-event-id': after }) }
  const stream = await follow(Number(new URL(node.url).port), dev.site_id, { key, headers })
  streams.add(stream)
  return stream
}

let made = 0
const newPpid = () => `did:service:ppid_${String(++made).padStart(12, '0')}${Date.now()}`
const revoke = (wait?: number) =>
  one.revokeUser(newPpid(), wait === undefined ? {} : { prefer: `wait=${wait}` })
const ack = (node: Client, { epoch, seq }: Pick<Entry, 'epoch' | 'seq'>, name: string) =>
  node.ask('POST', `/api/sites/${dev.site_id}/feed/ack`, {
    key: dev.site_key,
    headers: { 'x-verifier-id': name },
    body: { epoch, seq },
  })
const verifiers = async (node: Client) =>
  (await node.ask('GET', `/api/sites/${dev.site_id}/verifiers`, { key: dev.site_key })).body.items.map(
    ({ verifier_id }: { verifier_id: string }) => verifier_id,
  )

describe('a verifier on another node than the one that revokes', () => {
  test('is in the receipt, wherever it acknowledges', { timeout: TEST_MS_MAX }, async () => {
    const stream = await listen(second, 'elsewhere')
    await expect.poll(() => verifiers(one)).toEqual(['elsewhere'])
    for (const node of [one, two]) {
      const count = stream.entries.length
      const pending = revoke(20)
      await expect.poll(() => stream.entries.length).toBe(count + 1)
      const entry = stream.entries.at(-1) as Entry
      expect((await ack(node, entry, 'elsewhere')).status).toBe(204)
      const { body } = await pending
      expect(body).toMatchObject({
        seq: entry.seq,
        propagation: { connected: 1, acknowledged: 1, laggards: [] },
      })
      const receipt = await two.ask('GET', `/api/sites/${dev.site_id}/propagation?seq=${entry.seq}`, {
        key: dev.site_key,
      })
      expect(receipt.body).toMatchObject({ epoch: entry.epoch, connected: 1, acknowledged: 1 })
    }
  })

  test('adds up with those on this one, and is named when it lags', { timeout: TEST_MS_MAX }, async () => {
    const [here, there] = [await listen(first, 'here'), await listen(second, 'there')]
    await expect.poll(() => verifiers(two)).toEqual(['here', 'there'])
    const pending = revoke(3)
    await here.until(({ event }) => event === 'user.revoked')
    await ack(two, here.entries.at(-1) as Entry, 'here')
    const { propagation } = (await pending).body
    expect(propagation).toMatchObject({ connected: 2, acknowledged: 1, laggards: [{ verifier_id: 'there' }] })
    expect(propagation.elapsed_ms).toBeGreaterThanOrEqual(3000)
    expect(there.entries.at(-1)?.seq).toBe(here.entries.at(-1)?.seq)
  })

  test('is cut off within two seconds when its key is deleted here (A195)', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const keys = `/api/sites/${dev.site_id}/keys`
    const { body } = await one.ask('POST', keys, {
      key: dev.operator_key,
      body: { permissions: ['feed:read'] },
    })
    const [doomed, other] = [
      await listen(second, 'doomed', undefined, body.api_key),
      await listen(second, 'other'),
    ]
    expect((await one.ask('DELETE', `${keys}/${body.key_id}`, { key: dev.operator_key })).status).toBe(204)
    await doomed.untilClosed(NODE_BOUND_MS)
    expect(other.isClosed).toBe(false)
  })
})

describe('a node that is killed', () => {
  test('leaves its verifiers to the other, which goes on for them without a hole (I-8, I-9, I-21)', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const before = await listen(second, 'mover')
    await listen(second, 'lost')
    await before.until(({ event }) => event === 'heartbeat')
    for (let i = 0; i < 5; i++) await revoke()
    await expect.poll(() => before.entries.length).toBe(5)
    const begun = before.entries[0]?.seq ?? 0
    const pending = Promise.all(Array.from({ length: 20 }, () => revoke()))
    await second.kill('SIGKILL')
    await before.untilClosed()
    await pending
    const last = before.entries.at(-1) as Entry
    const after = await listen(first, 'mover', `${last.epoch}.${last.seq}`)
    const told = await revoke()
    await after.until(({ id }) => id === `${told.body.epoch}.${told.body.seq}`)
    const all = [...before.entries, ...after.entries]
    expect(all.map(({ seq }) => seq)).toEqual(
      Array.from({ length: told.body.seq - begun + 1 }, (_, i) => begun + i),
    )
    expect(await auditChain(all.slice(1), { head: all[0] as Entry })).toMatchObject({ ok: true })

    // It has moved, so it is one; the other counts until the lease of its node has run out, and not
    // a day longer.
    await ack(one, after.entries.at(-1) as Entry, 'mover')
    await expect.poll(() => verifiers(one), { timeout: 2 * LEASE_MS }).toEqual(['mover'])
    const receipt = await one.ask('GET', `/api/sites/${dev.site_id}/propagation?seq=${told.body.seq}`, {
      key: dev.site_key,
    })
    expect(receipt.body).toMatchObject({ connected: 1, acknowledged: 1 })
    await startSecond()
  })
})

describe('a node that is cut off from its database', () => {
  test('goes on for its verifiers by itself when the database is back in time (I-21)', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const stream = await listen(second, 'patient')
    await stream.until(({ event }) => event === 'heartbeat')
    proxy.hold()
    const missed = (await Promise.all([revoke(), revoke(), revoke()])).map(({ body }) => body.seq as number)
    await pause(3000)
    const last = Math.max(...missed)
    expect(stream.entries).toEqual([])
    proxy.release()
    await stream.until(({ event, data }) => event === 'heartbeat' && JSON.parse(data).seq === last, 30_000)
    expect(stream.entries.map(({ seq }) => seq)).toEqual(missed.sort((a, b) => a - b))
    expect(stream.isClosed).toBe(false)
  })

  test('proves nothing from two seconds on, and sends its verifiers elsewhere (A197, I-3)', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const stream = await listen(second, 'stranded')
    await expect.poll(() => stream.heartbeats.length).toBeGreaterThan(1)
    proxy.hold()
    const cutMs = Date.now()
    const { body } = await revoke()
    await stream.untilClosed(3 * LEASE_MS)
    // Whatever came after the cut speaks of before it.
    for (const { as_of, seq } of stream.heartbeats) {
      expect(Date.parse(as_of)).toBeLessThanOrEqual(cutMs)
      expect(seq).toBeLessThan(body.seq)
    }
    await expect.poll(() => verifiers(one), { timeout: 2 * LEASE_MS }).toEqual([])
    const moved = await listen(first, 'stranded', `${body.epoch}.${body.seq - 1}`)
    await moved.until(({ event }) => event === 'heartbeat')
    expect(moved.entries.map(({ seq }) => seq)).toEqual([body.seq])
  })
})
