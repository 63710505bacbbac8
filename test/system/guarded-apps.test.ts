import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { openProxy, type TcpProxy } from '../../packages/service/test/store/tcp-proxy.ts'
import { type AppProcess, startApp } from '../process/app-process.ts'
import { addIssuer, type Client, createClient, type Issuer } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  pause,
  type ServiceHome,
  type ServiceProcess,
  startFurnished,
  startService,
} from '../process/service-process.ts'
import { startTwoNodes } from '../process/two-nodes.ts'

const SETUP_MS_MAX = 300_000
const TEST_MS_MAX = 300_000
/** Short, so that a test can wait for it. */
const STALENESS_SECONDS = 6

let apps: AppProcess[] = []
const started = async (app: Promise<AppProcess>) => {
  const one = await app
  apps.push(one)
  return one
}
afterEach(async () => {
  await Promise.all(apps.map((app) => app.stop()))
  apps = []
})
afterAll(cleanUp, SETUP_MS_MAX)

const waiting = { Prefer: 'wait=20' }

describe('two applications behind guards, and one service', () => {
  let home: ServiceHome
  let dev: DevFile
  let service: ServiceProcess
  let proxy: TcpProxy
  let client: Client
  let issuer: Issuer

  beforeAll(async () => {
    home = await createHome()
    const furnished = await startFurnished(home)
    service = furnished
    dev = furnished.dev
    proxy = await openProxy(home.port)
    client = createClient(home.baseUrl, dev)
    issuer = await addIssuer(client, dev)
  }, SETUP_MS_MAX)
  afterAll(() => proxy?.close())

  test('both deny what is revoked, the receipt says two of two, and an open stream ends', {
    timeout: TEST_MS_MAX,
  }, async () => {
    const one = await started(startApp({ baseUrl: home.baseUrl, dev, name: 'one' }))
    const two = await started(startApp({ baseUrl: home.baseUrl, dev, name: 'two' }))
    const { header, ppid } = await issuer.issue()
    expect([await one.orders(header), await two.orders(header)]).toEqual([200, 200])
    const { all } = await one.stream(header)
    const { status, body } = await client.revokeUser(ppid, waiting)
    expect(status).toBe(200)
    expect(body.propagation).toMatchObject({ connected: 2, acknowledged: 2, laggards: [] })
    expect([await one.orders(header), await two.orders(header)]).toEqual([401, 401])
    expect(await all).toMatch(/^(?:tick\n)+ended\n$/)
    const receipt = await client.ask('GET', `/api/sites/${dev.site_id}/propagation?seq=${body.seq}`, {
      key: dev.site_key,
    })
    expect(receipt.body).toMatchObject({ seq: body.seq, connected: 2, acknowledged: 2, laggards: [] })
  })

  test('control: an application that is cut off accepts it, is the laggard of the receipt, and refuses everything in time (I-3)', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const near = await started(startApp({ baseUrl: home.baseUrl, dev, name: 'near' }))
    const far = await started(
      startApp({
        baseUrl: `http://127.0.0.1:${proxy.port}`,
        dev,
        name: 'far',
        stalenessSeconds: STALENESS_SECONDS,
      }),
    )
    const { header, ppid } = await issuer.issue()
    expect([await near.orders(header), await far.orders(header)]).toEqual([200, 200])
    proxy.hold()
    try {
      const { body } = await client.revokeUser(ppid, { Prefer: 'wait=1' })
      expect(body.propagation).toMatchObject({ connected: 2, acknowledged: 1 })
      expect(JSON.stringify(body.propagation.laggards)).toContain('far')
      expect([await near.orders(header), await far.orders(header)]).toEqual([401, 200])
      await pause(STALENESS_SECONDS * 1000)
      expect([await far.orders(header), await far.orders((await issuer.issue()).header)]).toEqual([503, 503])
    } finally {
      proxy.release()
    }
    await expect.poll(() => far.orders(header)).toBe(401)
  })

  test('with the service gone everything is refused in time, and is well again by itself; control: not by a guard that fails open', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const one = await started(
      startApp({ baseUrl: home.baseUrl, dev, name: 'one', stalenessSeconds: STALENESS_SECONDS }),
    )
    const open = await started(
      startApp({
        baseUrl: home.baseUrl,
        dev,
        name: 'open',
        stalenessSeconds: STALENESS_SECONDS,
        failsOpen: true,
      }),
    )
    const { header } = await issuer.issue()
    expect([await one.orders(header), await open.orders(header)]).toEqual([200, 200])
    await service.kill('SIGKILL')
    await pause(STALENESS_SECONDS * 1000)
    expect([await one.orders(header), await open.orders(header)]).toEqual([503, 200])
    service = await startService(home)
    await expect.poll(() => one.orders(header)).toBe(200)
  })
})

describe('two applications behind guards, and two nodes on PostgreSQL', () => {
  test('a receipt adds up what is connected anywhere, and the clients of a dead node move over without a hole', {
    tags: 'long',
    timeout: SETUP_MS_MAX,
  }, async () => {
    const { home, dev, first, one: client, second, close } = await startTwoNodes()
    try {
      let target = Number(new URL(second.url).port)
      // What a load balancer does: to the second node while it lives, then to the first.
      const balancer = await openProxy(() => target)
      const issuer = await addIssuer(client, dev)
      const one = await started(startApp({ baseUrl: first.url, dev, name: 'one' }))
      const two = await started(startApp({ baseUrl: `http://127.0.0.1:${balancer.port}`, dev, name: 'two' }))
      const { header, ppid } = await issuer.issue()
      await expect.poll(async () => [await one.orders(header), await two.orders(header)]).toEqual([200, 200])
      const { body } = await client.revokeUser(ppid, waiting)
      expect(body.propagation).toMatchObject({ connected: 2, acknowledged: 2 })
      expect([await one.orders(header), await two.orders(header)]).toEqual([401, 401])

      const later = await issuer.issue()
      await expect.poll(() => two.orders(later.header)).toBe(200)
      target = home.port
      await second.kill('SIGKILL')
      const { body: after } = await client.revokeUser(later.ppid)
      await expect.poll(() => two.orders(later.header)).toBe(401)
      await expect.poll(async () => (await two.state()).seq).toBeGreaterThanOrEqual(after.seq)
      expect(await two.orders(header)).toBe(401)
      await expect
        .poll(
          async () =>
            (await client.revokeUser((await issuer.issue()).ppid, { Prefer: 'wait=2' })).body.propagation,
          {
            timeout: 60_000,
          },
        )
        .toMatchObject({ connected: 2, acknowledged: 2 })
      await balancer.close()
    } finally {
      await close()
    }
  })
})
