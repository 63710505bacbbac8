import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import {
  freePort,
  type PostgresServer,
  startPostgres,
} from '../../packages/service/test/store/postgres-server.ts'
import { closeReceivers, openReceiver, type Receiver } from '../../packages/service/test/webhooks/receiver.ts'
import { createClient } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  pause,
  type ServiceHome,
  type ServiceProcess,
  startService,
} from '../process/service-process.ts'

const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000
/**
 * How long the lease of a node that died keeps others waiting, and some time for the work itself.
 */
const TAKEN_OVER_MS_MAX = 60_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
}, SETUP_MS_MAX)
afterAll(async () => {
  await cleanUp()
  await closeReceivers()
  await server?.stop()
}, SETUP_MS_MAX)

const homes: readonly [string, () => Promise<ServiceHome>][] = [
  ['SQLite', () => createHome()],
  ['PostgreSQL', async () => createHome({ databaseUrl: await server.createTables() })],
]

/** The development start: no other service sends to this machine. */
const start = (home: ServiceHome, port = home.port) => startService(home, { entry: 'dev', port })

/**
 * Makes a webhook at the demo site, and revokes users there. What the answers were is for the
 * caller to judge.
 */
function integration({ dataDir }: ServiceHome, { url }: ServiceProcess) {
  const dev = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8')) as DevFile
  const client = createClient(url, dev)
  const webhooks = `/api/sites/${dev.site_id}/webhooks`
  return {
    async webhook(to: string): Promise<{ webhook_id: string; secret: string }> {
      const told = await client.ask('POST', webhooks, {
        key: dev.site_key,
        body: { url: to, kinds: ['user.revoked'] },
      })
      expect(told.status).toBe(201)
      return told.body
    },
    /** The seq of the entry; undefined when no verifier has acknowledged it. */
    async revoke(): Promise<number | undefined> {
      const told = await client
        .revokeUser(`did:service:ppid_${randomBytes(12).toString('hex')}`)
        .catch(() => undefined)
      return told?.status === 200 ? told.body.seq : undefined
    },
    async statuses(webhookId: string): Promise<readonly string[]> {
      const { body } = await client.ask('GET', `${webhooks}/${webhookId}/deliveries?limit=200`, {
        key: dev.site_key,
      })
      return body.items.map(({ status }: { status: string }) => status)
    },
  }
}

/** The entries in the order in which each came first. */
const firsts = ({ seqs }: Receiver) => [...new Set(seqs())]

// All at once: most of the time they wait for a lease to end.
describe.concurrent.each(homes)('on %s', (_name, homeOf) => {
  test('what was sent and not written down when the service was killed comes again under the same id, and all the rest in order', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async ({ expect }) => {
    const home = await homeOf()
    let node = await start(home)
    const { webhook, revoke } = integration(home, node)
    let arrived = () => {}
    const arrival = new Promise<void>((done) => (arrived = done))
    const receiver = await openReceiver(() => arrived())
    const { webhook_id, secret } = await webhook(receiver.url)
    const acknowledged: (number | undefined)[] = []
    for (let i = 0; i < 5; i++) acknowledged.push(await revoke())
    expect(acknowledged).not.toContain(undefined)
    await arrival
    await node.kill('SIGKILL')
    receiver.answer(204)
    node = await start(home)
    await expect.poll(() => firsts(receiver), { timeout: TAKEN_OVER_MS_MAX }).toEqual(acknowledged)
    expect(receiver.seqs()).toEqual([acknowledged[0], ...acknowledged])
    expect([receiver.got[1]?.id, receiver.got[1]?.body]).toEqual([receiver.got[0]?.id, receiver.got[0]?.body])
    for (const { body, headers } of receiver.got)
      expect(new Verifier(secret).verify(body, headers)).toBeDefined()
    const after = integration(home, node)
    await expect.poll(() => after.statuses(webhook_id)).toEqual(Array(5).fill('delivered'))

    // Control: what was written down does not come again.
    await node.kill('SIGKILL')
    node = await start(home)
    const last = await integration(home, node).revoke()
    await expect.poll(() => receiver.seqs().at(-1), { timeout: TAKEN_OVER_MS_MAX }).toBe(last)
    expect(receiver.got).toHaveLength(7)
  })

  test('killed again and again under load, nothing that was acknowledged is missing, and the order holds (I-21)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async ({ expect }) => {
    const home = await homeOf()
    const receiver = await openReceiver((_request, response) =>
      setTimeout(() => response.writeHead(200).end(), 3),
    )
    const acknowledged: number[] = []
    let node = await start(home)
    await integration(home, node).webhook(receiver.url)
    for (let round = 0; round < 2; round++) {
      const { revoke } = integration(home, node)
      const before = acknowledged.length
      let isOver = false
      const load = Array.from({ length: 4 }, async () => {
        while (!isOver) {
          const seq = await revoke()
          if (seq !== undefined) acknowledged.push(seq)
        }
      })
      await expect
        .poll(() => acknowledged.length - before, { timeout: TAKEN_OVER_MS_MAX })
        .toBeGreaterThanOrEqual(4)
      await pause(Math.random() * 500)
      await node.kill('SIGKILL')
      isOver = true
      await Promise.all(load)
      node = await start(home)
    }
    const missing = () => acknowledged.filter((seq) => !firsts(receiver).includes(seq))
    await expect.poll(missing, { timeout: TAKEN_OVER_MS_MAX, interval: 250 }).toEqual([])
    expect(firsts(receiver)).toEqual([...firsts(receiver)].sort((a, b) => a - b))
  })
})

describe.concurrent('two nodes on PostgreSQL', () => {
  test('one takes over when the other is killed while it sends; when it is stopped, at once', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async ({ expect }) => {
    const home = await createHome({ databaseUrl: await server.createTables() })
    const one = await start(home)
    const { webhook, revoke } = integration(home, one)
    let arrived = () => {}
    const arrival = new Promise<void>((done) => (arrived = done))
    const receiver = await openReceiver(() => arrived())
    await webhook(receiver.url)
    const sent = [await revoke(), await revoke()]
    await arrival
    const two = await start(home, await freePort())
    await one.kill('SIGKILL')
    receiver.answer(200)
    await expect.poll(() => firsts(receiver), { timeout: TAKEN_OVER_MS_MAX }).toEqual(sent)
    expect(receiver.got[1]?.id).toBe(receiver.got[0]?.id)

    // The second is stopped while it sends; the third finds the lease given back.
    const held = new Promise<() => void>((done) => {
      receiver.answer((_request, response) => done(() => response.writeHead(200).end()))
    })
    const there = integration(home, two)
    sent.push(await there.revoke(), await there.revoke())
    const release = await held
    const stopping = two.stop()
    const three = await start(home, await freePort())
    receiver.answer(200)
    release()
    expect(await stopping).toBe(0)
    await expect.poll(() => firsts(receiver), { timeout: TAKEN_OVER_MS_MAX }).toEqual(sent)
    await three.stop()
  })
})
