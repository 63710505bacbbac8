import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres from 'postgres'
import { afterEach, describe, expect, it } from 'vitest'
import { type FeedNode, newPpid, openFeedNode } from '../feed/feed-node.ts'
import { startOwnPostgres } from './postgres-server.ts'

const cleaning: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const clean of cleaning.splice(0).reverse()) await clean()
})

/** A store that can be made unwritable and writable again. */
interface Breakable {
  readonly node: FeedNode
  fill(): Promise<void>
  repair(): Promise<void>
}

async function smallDisk(): Promise<Breakable | undefined> {
  const mount = mkdtempSync(join(tmpdir(), 'countersign-small-'))
  cleaning.push(() => rmSync(mount, { recursive: true, force: true }))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=700', 'tmpfs', mount], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  cleaning.push(() => execFileSync('umount', ['-l', mount]))
  const node = await openFeedNode({ store: { kind: 'sqlite', file: join(mount, 'store.db') } })
  cleaning.push(() => node.close())
  const ballast = join(mount, 'ballast')
  return {
    node,
    async fill() {
      for (let bytes = 4_000_000; bytes >= 1; bytes = Math.floor(bytes / 2)) {
        try {
          writeFileSync(ballast, Buffer.alloc(bytes), { flag: 'a' })
        } catch {
          // As much as there was room for has been written.
        }
      }
    },
    repair: async () => rmSync(ballast),
  }
}

async function readOnlyServer(): Promise<Breakable> {
  const server = await startOwnPostgres(['-c', 'wal_level=replica'])
  cleaning.push(() => server.stop())
  const url = await server.createTables()
  const node = await openFeedNode({ store: { kind: 'postgres', url } })
  cleaning.push(() => node.close())
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  cleaning.push(() => sql.end())
  const set = async (value: 'on' | 'off') => {
    await sql.unsafe(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await sql.unsafe('SELECT pg_reload_conf()')
  }
  return { node, fill: () => set('on'), repair: () => set('off') }
}

describe.each([
  ['SQLite on a full disk', smallDisk],
  ['PostgreSQL that is read-only', readOnlyServer],
] as const)('B13: %s', (_, open) => {
  it('is not ready until it can be written again, and decides meanwhile', { tags: 'long' }, async ({
    skip,
  }) => {
    const store = await open()
    if (store === undefined) {
      console.warn('SKIPPED: a full disk cannot be tried here, since no small disk can be mounted')
      return skip()
    }
    const { node, fill, repair } = store
    const { siteId, key } = await node.newSite()
    const revoke = () =>
      node.call('POST', '/api/wallet/revoke-user', { key, body: { site_id: siteId, ppid: newPpid() } })
    const ready = () => node.call('GET', '/readyz')
    expect((await ready()).status).toBe(200)
    expect((await revoke()).status).toBe(200)

    await fill()
    await expect.poll(async () => (await revoke()).status).toBe(503)
    await expect.poll(async () => (await ready()).status).toBe(503)
    expect((await ready()).json).toMatchObject({
      code: 'store_unavailable',
      detail: expect.stringMatching(/cannot write.*(?:full|25006)/),
    })
    expect(node.logged.join('')).toContain('the store cannot be written')
    // What needs no write goes on: the view is fresh, and heartbeats are signed.
    expect(node.service.deps.views.readiness()).toEqual({ ready: true })

    await repair()
    await expect.poll(async () => (await ready()).status).toBe(200)
    expect((await revoke()).status).toBe(200)
  })
})
