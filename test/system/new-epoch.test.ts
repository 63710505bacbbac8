import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createGuard, type Guard } from '@countersign/sdk'
import { testRequest } from '@countersign/sdk/testing'
import { afterEach, describe, expect, test } from 'vitest'
import type { DevFile } from '../../packages/service/src/development/demo.ts'
import { connect, queryWith } from '../../packages/service/src/store/postgres/connect.ts'
import { openForReading } from '../../packages/service/src/store/sqlite/connection.ts'
import { startPostgres } from '../../packages/service/test/store/postgres-server.ts'
import { openProxy } from '../../packages/service/test/store/tcp-proxy.ts'
import { addIssuer, createClient } from '../process/client.ts'
import {
  cleanUp,
  createHome,
  runCommand,
  type ServiceHome,
  startService,
} from '../process/service-process.ts'

const TEST_MS_MAX = 300_000
const SOON = { interval: 50, timeout: 60_000 }

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  await cleanUp()
})

async function onPostgres(): Promise<ServiceHome> {
  const server = await startPostgres()
  ends.push(() => server.stop())
  return createHome({ databaseUrl: await server.createTables() })
}

/** How many entries each epoch has. */
async function countEntries({ databaseUrl, file }: ServiceHome): Promise<ReadonlyMap<string, number>> {
  const statement = 'SELECT epoch, COUNT(*) AS count FROM entries GROUP BY epoch'
  type Counted = readonly { readonly epoch: string; readonly count: number | string }[]
  const read = async (): Promise<Counted> => {
    if (databaseUrl === undefined) {
      const db = openForReading(file)
      try {
        return db.prepare(statement).all() as Counted
      } finally {
        db.close()
      }
    }
    const sql = connect({ url: databaseUrl, max: 1 })
    try {
      return (await queryWith(sql)(statement)) as unknown as Counted
    } finally {
      await sql.end()
    }
  }
  return new Map((await read()).map(({ epoch, count }) => [epoch, Number(count)]))
}

async function show(guard: Guard, { header }: { readonly header: string }): Promise<string> {
  const request = testRequest('GET', 'http://demo.localhost/api/orders', { 'x-service-credential': header })
  const verdict = await guard.verify(request, { scope: 'orders:read' })
  return verdict.ok ? 'allowed' : verdict.code
}

describe.each([
  ['SQLite', createHome],
  ['PostgreSQL', onPostgres],
])('a new epoch on %s, which copies nothing', (_, open) => {
  test('is followed by guards that reload, and no tag of the former epoch is current', {
    tags: 'long',
    timeout: TEST_MS_MAX,
  }, async () => {
    const home = await open()
    let node = await startService(home, { entry: 'dev' })
    const dev = JSON.parse(readFileSync(join(home.dataDir, 'dev.json'), 'utf8')) as DevFile
    const client = createClient(home.baseUrl, dev)
    const issuer = await addIssuer(client, dev)
    const [living, byUser, byId, later] = [
      await issuer.issue(),
      await issuer.issue(),
      await issuer.issue(),
      await issuer.issue(),
    ]
    const connect = async (baseUrl: string) => {
      let loaded = 0
      const guard = createGuard({
        baseUrl,
        siteId: dev.site_id,
        apiKey: dev.site_key,
        maxStalenessSeconds: 60,
        onStateChange: () => undefined,
        fetch: (url, init) => {
          if (new URL(url).pathname.endsWith('/snapshot')) loaded++
          return fetch(url, init)
        },
      })
      ends.push(() => guard.close())
      await guard.ready()
      return { guard, snapshots: () => loaded }
    }
    const loadSnapshot = async (ifNoneMatch?: string) => {
      const response = await fetch(`${home.baseUrl}/api/sites/${dev.site_id}/snapshot`, {
        headers: {
          'X-API-Key': dev.site_key,
          'X-Verifier-Observer': '1',
          ...(ifNoneMatch === undefined ? {} : { 'If-None-Match': ifNoneMatch }),
        },
      })
      const text = await response.text()
      const lines = text === '' ? [] : text.trimEnd().split('\n')
      return {
        status: response.status,
        tag: response.headers.get('etag') ?? '',
        head: lines[0] === undefined ? undefined : JSON.parse(lines[0]),
        text,
      }
    }
    const proxy = await openProxy(home.port)
    ends.push(() => proxy.close())
    const near = await connect(home.baseUrl)
    const away = await connect(`http://127.0.0.1:${proxy.port}`)
    await client.revokeUser(byUser.ppid)
    const { seq } = (await client.revokeCredential(byId.id)).body
    for (const { guard } of [near, away]) {
      await expect.poll(() => guard.state().seq, SOON).toBe(seq)
      for (const each of [byUser, byId]) expect(await show(guard, each)).toBe('credential_revoked')
    }
    const { epoch } = near.guard.state()
    const former = await loadSnapshot()
    expect(former).toMatchObject({ status: 200, tag: `W/"${epoch}.${seq}"`, head: { epoch, seq } })
    expect(await loadSnapshot(former.tag)).toMatchObject({ status: 304, text: '' })
    proxy.hold()
    proxy.cut()

    // Nodes on PostgreSQL follow while they run. The embedded store has one owner.
    const before = await countEntries(home)
    if (home.databaseUrl === undefined) await node.stop()
    const ran = await runCommand(home, ['new-epoch', '--json'])
    expect(ran).toMatchObject({ code: 0 })
    const next = JSON.parse(ran.said) as { readonly epoch: string; readonly entries: number }
    expect(next.epoch).not.toBe(epoch)
    expect(next.entries).toBe(before.get(epoch))
    expect(await countEntries(home)).toEqual(before)
    if (home.databaseUrl === undefined) node = await startService(home)

    await expect.poll(() => near.guard.state().epoch, SOON).toBe(next.epoch)
    // The numbers go on, so only the epoch tells the tags apart.
    await expect.poll(() => near.guard.state(), SOON).toMatchObject({ seq, connection: 'following' })
    expect(near.snapshots()).toBe(2)
    const current = await loadSnapshot(former.tag)
    expect(current).toMatchObject({
      status: 200,
      tag: `W/"${next.epoch}.${seq}"`,
      head: { epoch: next.epoch, seq },
    })
    expect(current.text).toContain(byUser.ppid)
    expect(current.text).toContain(byId.id)
    expect(await loadSnapshot(current.tag)).toMatchObject({ status: 304 })
    const feed = await fetch(`${home.baseUrl}/api/sites/${dev.site_id}/feed`, {
      headers: { 'X-API-Key': dev.site_key, 'Last-Event-ID': `${epoch}.${seq}` },
    })
    expect([feed.status, (await feed.json()) as unknown]).toMatchObject([409, { code: 'cursor_ahead' }])

    // A guard that was away during all that, and misses an entry of the new epoch as well.
    expect((await client.revokeUser(later.ppid)).body).toMatchObject({ epoch: next.epoch, seq: seq + 1 })
    expect(await show(away.guard, later)).toBe('allowed')
    proxy.release()
    for (const { guard } of [near, away]) {
      await expect
        .poll(() => guard.state(), SOON)
        .toMatchObject({ epoch: next.epoch, seq: seq + 1, ready: true })
      for (const each of [byUser, byId, later]) expect(await show(guard, each)).toBe('credential_revoked')
      expect(await show(guard, living)).toBe('allowed')
      expect(guard.state()).not.toHaveProperty('fork')
      expect(guard.state()).not.toHaveProperty('carriedRevocations')
    }
    expect(away.snapshots()).toBe(2)
    expect((await countEntries(home)).get(next.epoch)).toBe(1)
    expect(await runCommand(home, ['audit-log'])).toMatchObject({ code: 0 })
    expect(await client.ready()).toBe(true)
  })
})
