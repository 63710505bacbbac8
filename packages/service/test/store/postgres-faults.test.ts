import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { startCheckpoints } from '../../src/log/checkpoint-job.ts'
import { HeadWatch } from '../../src/log/head-watch.ts'
import { LiveViews } from '../../src/log/live-views.ts'
import { startCutting } from '../../src/log/start-cutting.ts'
import { createMeters } from '../../src/meters.ts'
import { auditLog } from '../../src/store/audit-log.ts'
import { writeCheckpointAtEnd } from '../../src/store/checkpoints/checkpoint-at-end.ts'
import { LogCorrupted } from '../../src/store/log-corrupted.ts'
import { migrations } from '../../src/store/migrations/all.ts'
import { openStore } from '../../src/store/open.ts'
import { connect, queryWith } from '../../src/store/postgres/connect.ts'
import { migrate } from '../../src/store/postgres/migrate.ts'
import { type OpenTransaction, WriterPool } from '../../src/store/postgres/writer-pool.ts'
import type { Store } from '../../src/store/store.ts'
import { openClock } from '../../src/time/clock.ts'
import { context, DAY, MASTER_KEY, NOW, newSite, ppid, quietLog } from './fixtures.ts'
import { entriesOf, kindsOf, viewOf, wholeLog } from './log-reading.ts'
import { type PostgresServer, startOwnPostgres } from './postgres-server.ts'
import { openProxy } from './tcp-proxy.ts'

let server: PostgresServer
const opened: { close(): Promise<unknown> }[] = []

beforeAll(async () => {
  server = await startOwnPostgres()
})
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close()
})
afterAll(() => server?.stop())

async function open(url: string, onFatal: (fault: Error) => void = () => {}): Promise<Store> {
  const store = await openStore({ kind: 'postgres', url }, { masterKey: MASTER_KEY, log: quietLog, onFatal })
  opened.push(store)
  return store
}

function admin(url: string): postgres.Sql {
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  opened.push({ close: () => sql.end({ timeout: 1 }) })
  return sql
}

async function countListeners(sql: postgres.Sql): Promise<number> {
  const listening =
    await sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`
  return listening.length
}

async function withSite(store: Store) {
  const site = newSite()
  await store.createSite(site, context())
  return site.siteId
}

async function untilItWorks<T>(work: () => Promise<T>): Promise<T> {
  for (let left = 200; ; left--) {
    try {
      return await work()
    } catch (fault) {
      if (left === 0 || (fault as Error).name !== 'StoreUnavailable') throw fault
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

describe('starting', () => {
  it('lets one of several nodes migrate while the others wait (A233)', { tags: 'long' }, async () => {
    const url = await server.createDatabase()
    const stores = await Promise.all(Array.from({ length: 5 }, () => open(url)))
    expect(new Set(stores.map(({ epoch }) => epoch)).size).toBe(1)
    const versions = await admin(url).unsafe('SELECT version FROM schema_version')
    expect(versions).toHaveLength(1)
    await withSite(stores[0] as Store)
    expect(await auditLog(stores[4] as Store)).toMatchObject({ ok: true, position: 1 })
  })

  it.each(migrations.slice(0, -1).map(({ version }) => version))(
    'brings a database of version %s up to date',
    { tags: 'long' },
    async (version) => {
      const url = await server.createDatabase()
      const sql = connect({ url, max: 1 })
      await migrate(queryWith(sql), migrations.slice(0, version))
      await sql.end()
      await withSite(await open(url))
      expect(await admin(url).unsafe('SELECT version FROM schema_version')).toMatchObject([
        { version: String(migrations.at(-1)?.version) },
      ])
    },
  )

  it('refuses rows of a version whose MACs cover less, with a clear message', { tags: 'long' }, async () => {
    const url = await server.createDatabase()
    const sql = connect({ url, max: 1 })
    await migrate(queryWith(sql), migrations.slice(0, 12))
    await sql.unsafe(`INSERT INTO heads (site_id, seq, hash) VALUES ('shop.example', 0, '')`)
    await sql.unsafe(`INSERT INTO secrets (name, sealed) VALUES ('mac-key', 'sealed')`)
    await sql.end()
    await expect(open(url)).rejects.toThrow(/earlier version created the store.*empty store/)
  })

  it('refuses a database that a newer release has written', { tags: 'long' }, async () => {
    const url = await server.createDatabase()
    await (await open(url)).close()
    await admin(url).unsafe('UPDATE schema_version SET version = 1000')
    await expect(open(url)).rejects.toThrow(/schema version 1000.*newer release/)
  })

  it.each([
    ['synchronous_commit = off', /synchronous_commit is off/],
    ['default_transaction_read_only = on', /read-only/],
  ])('refuses a database with %s (A230)', { tags: 'long' }, async (setting, message) => {
    const url = await server.createTables()
    await admin(url).unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting}`)
    await expect(open(url)).rejects.toThrow(message)
  })

  it.runIf(!process.env.TEST_POSTGRES_URL).each(['fsync', 'full_page_writes'])(
    'refuses a server with %s off (A230)',
    async (setting) => {
      const url = await server.createTables()
      const sql = admin(url)
      await sql.unsafe(`ALTER SYSTEM SET ${setting} = off`)
      await sql.unsafe('SELECT pg_reload_conf()')
      try {
        await expect.poll(() => open(url).then(String, String)).toMatch(`${setting} is off`)
      } finally {
        await sql.unsafe(`ALTER SYSTEM RESET ${setting}`)
        await sql.unsafe('SELECT pg_reload_conf()')
        await expect.poll(async () => (await sql.unsafe(`SHOW ${setting}`))[0]?.[setting]).toBe('on')
      }
    },
  )

  it('stops appending when a connection turns out not to be durable', async () => {
    const url = await server.createTables()
    await (await open(url)).close()
    const sql = admin(url)
    const store = await open(url)
    const siteId = await withSite(store)
    await sql.unsafe(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET synchronous_commit = off`)
    await sql.unsafe(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    await expect
      .poll(() =>
        store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context()).then(String, String),
      )
      .toMatch(/StoreUnavailable.*CS002/)
    expect(await store.logPosition()).toBe(1)
  })
})

describe('several nodes', () => {
  it('see what the others do, are woken by it, and do things once between them', {
    tags: 'long',
  }, async () => {
    const url = await server.createTables()
    const [one, two] = [await open(url), await open(url)]
    const siteId = await withSite(one)
    // What is appended before a node listens does not wake it.
    const listening = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle' AND query = 'LISTEN countersign_log'`
    await expect.poll(async () => (await admin(url).unsafe(listening)).length).toBe(2)
    // The one entry after that of the site, which may wake it as well.
    const woken = new Promise<void>((resolve) => two.onAppend((position) => position === 2 && resolve()))
    const user = { siteId, ppid: ppid(), reason: undefined }
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => (i % 2 ? one : two).revokeUser(user, context())),
    )
    expect(answers.filter(({ alreadyRevoked }) => !alreadyRevoked)).toHaveLength(1)
    await woken
    expect(await entriesOf(two, siteId)).toEqual(await entriesOf(one, siteId))
    const used = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        (i % 2 ? one : two).consumeOnce('code', 'c', Number.MAX_SAFE_INTEGER),
      ),
    )
    expect(used.filter(Boolean)).toHaveLength(1)
  })
})

describe('a database that fails', () => {
  it('is waited for in vain only so long when it does not answer, and is found again when it does', {
    tags: 'long',
  }, async () => {
    const proxy = await openProxy(server.port)
    const store = await open(await server.createTables({ port: proxy.port }))
    opened.unshift(proxy)
    const siteId = await withSite(store)
    const user = { siteId, ppid: ppid(), reason: undefined }
    proxy.hold()
    const [write, read] = await Promise.allSettled([store.revokeUser(user, context()), store.logPosition()])
    expect([write, read]).toMatchObject([
      { status: 'rejected', reason: { name: 'StoreUnavailable' } },
      { status: 'rejected', reason: { name: 'StoreUnavailable' } },
    ])
    proxy.release()
    await untilItWorks(() => store.revokeUser(user, context()))
    expect(await kindsOf(store, siteId)).toEqual(['site.changed', 'user.revoked'])
  })

  it('never sends to another connection what belonged to a transaction on the one that was lost', {
    tags: 'long',
  }, async () => {
    const proxy = await openProxy(server.port)
    opened.unshift(proxy)
    const url = new URL(await server.createTables({ port: proxy.port }))
    const sessions = new WriterPool({ url: url.href, max: 1 })
    await sessions.transaction(({ query }) => query('CREATE TABLE written (n BIGINT)'))
    // Statements with parameters that the connection has not had before: the driver asks about the
    // first and keeps the rest meanwhile.
    const insert = (n: number) => `INSERT INTO written VALUES (${n} + CAST($1 AS BIGINT)) RETURNING n`
    const cut = sessions.transaction(async ({ query, send }) => {
      await query('SELECT 1')
      proxy.hold()
      send(insert(10), [1])
      send(insert(20), [1])
      const asked = query(insert(30), [1])
      setTimeout(() => {
        proxy.cut()
        proxy.release()
      }, 50)
      await asked
    })
    await expect(cut).rejects.toMatchObject({ name: 'StoreUnavailable' })
    // The driver tries again after a quarter of a second.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(await sessions.transaction(({ query }) => query('SELECT n FROM written'))).toEqual([])
    await sessions.end()
  })

  it('commits nothing of a transaction whose BEGIN has failed', async () => {
    // Of the same length, so that the messages stay what they are.
    const proxy = await openProxy(server.port, (bytes) =>
      Buffer.from(bytes.toString('latin1').replaceAll('BEGIN', 'BEGUN'), 'latin1'),
    )
    opened.unshift(proxy)
    const url = new URL(await server.createTables())
    const sessions = new WriterPool({ url: url.href, max: 1 })
    await sessions.transaction(({ query }) => query('CREATE TABLE written (n BIGINT)'))
    url.port = String(proxy.port)
    const failing = new WriterPool({ url: url.href, max: 1 })
    const writes = [
      ({ query }: OpenTransaction) => query('INSERT INTO written VALUES (1)'),
      ({ query }: OpenTransaction) =>
        Promise.all([query('SELECT 1'), query('INSERT INTO written VALUES (2)')]),
      async ({ send }: OpenTransaction) => send('INSERT INTO written VALUES (3)', []),
      async () => [],
    ]
    for (const write of writes)
      await expect(failing.transaction<unknown>(write)).rejects.toMatchObject({ code: '42601' })
    const written = () => sessions.transaction(({ query }) => query('SELECT n FROM written'))
    expect(await written()).toEqual([])
    // Control: a write that does not wait for the answer to BEGIN is committed by itself.
    const careless = connect({ url: url.href, max: 1 })
    const begun = queryWith(careless)('BEGIN').catch((fault) => fault)
    await queryWith(careless)('INSERT INTO written VALUES (4)')
    expect(await begun).toMatchObject({ code: '42601' })
    expect(await written()).toEqual([{ n: 4 }])
    await Promise.all([careless.end(), failing.end(), sessions.end()])
  })

  it.each([
    ['28P01', /rejects this user or password/, { password: 'wrong' }],
    ['3D000', /no such database/, { pathname: '/nothing' }],
    ['ECONNREFUSED', /nothing listens there/, { port: '1' }],
  ])('says why there is no connection for a transaction: %s', async (code, advice, change) => {
    const url = Object.assign(new URL(await server.createDatabase()), change)
    const sessions = new WriterPool({ url: url.href, max: 1 })
    const works = [
      ({ query }: OpenTransaction) => query('INSERT INTO nothing VALUES (1)'),
      ({ query }: OpenTransaction) => query('SELECT CAST($1 AS TEXT)', ['a']),
      ({ query }: OpenTransaction) => Promise.all([query('SELECT 1'), query('SELECT 2')]),
    ]
    for (const work of works) {
      const failed = sessions.transaction<unknown>(work).catch((fault: Error) => fault)
      expect(await failed).toMatchObject({
        name: 'StoreUnavailable',
        message: expect.stringMatching(advice),
        cause: { code },
      })
    }
    await sessions.end()
  })

  it('holds the locks of a transaction after the server has forgotten the prepared statements', async () => {
    const sessions = new WriterPool({ url: await server.createDatabase(), max: 1 })
    await sessions.transaction(({ query }) => query('DEALLOCATE ALL'))
    const held = await sessions.transaction(async ({ query }) => {
      await query('SELECT pg_advisory_xact_lock(7)')
      return query(`SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`)
    })
    expect(held).toMatchObject([{ objid: 7 }])
    await sessions.end()
  })

  it('opens no connection for transactions that expire together behind a jam', { tags: 'long' }, async () => {
    let connections = 0
    const proxy = await openProxy(() => {
      connections++
      return server.port
    })
    opened.unshift(proxy)
    const url = await server.createTables({ port: proxy.port })
    const sessions = new WriterPool({ url, max: 2, answerMsMax: 1000 })
    // Connected, so that what is counted below is what the jam costs.
    await Promise.all([1, 2].map(() => sessions.transaction(({ query }) => query('SELECT pg_sleep(0.2)'))))
    const before = connections
    const jam: Promise<unknown>[] = []
    for (let i = 0; i < 100; i++) {
      jam.push(sessions.transaction(({ query }) => query('SELECT pg_sleep(3)')).catch((fault) => fault))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    for (const fault of await Promise.all(jam)) expect(fault).toMatchObject({ name: 'StoreUnavailable' })
    // Two replace the ones that were left; a slow machine takes longer to queue all of them.
    expect(connections - before).toBeLessThan(10)
    await sessions.end()
  })

  it('loses nothing acknowledged and keeps nothing half-done when connections die under load', {
    tags: 'long',
  }, async () => {
    const proxy = await openProxy(server.port)
    const url = await server.createTables({ port: proxy.port })
    const store = await open(url)
    opened.unshift(proxy)
    const siteId = await withSite(store)
    const acknowledged = new Set<string>()
    let refusals = 0
    let isOver = false
    const writing = Promise.all(
      Array.from({ length: 8 }, async () => {
        while (!isOver) {
          const user = ppid()
          try {
            await store.revokeUser({ siteId, ppid: user, reason: undefined }, context())
            acknowledged.add(user)
          } catch (fault) {
            expect((fault as Error).name).toBe('StoreUnavailable')
            refusals++
            await new Promise((resolve) => setTimeout(resolve, 5))
          }
        }
      }),
    )
    const reading = Promise.all(
      Array.from({ length: 4 }, async () => {
        while (!isOver) {
          await store.entriesAfter(0, 3).catch((fault: Error) => expect(fault.name).toBe('StoreUnavailable'))
        }
      }),
    )
    const direct = new URL(url)
    direct.port = String(server.port)
    const sql = admin(direct.href)
    const untilMoreIsWritten = () => {
      const before = acknowledged.size
      return expect.poll(() => acknowledged.size, { interval: 5 }).toBeGreaterThan(before)
    }
    for (let round = 0; round < 12; round++) {
      await untilMoreIsWritten()
      if (round % 2 === 0) proxy.cut()
      else
        await sql.unsafe(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        )
    }
    await untilMoreIsWritten()
    isOver = true
    await Promise.all([writing, reading])
    expect(refusals).toBeGreaterThan(0)
    const log = await untilItWorks(() => wholeLog(store))
    const told = log.flatMap(({ entry }) =>
      entry.kind === 'user.revoked' ? [entry.body.ppid as string] : [],
    )
    expect(new Set(told).size).toBe(told.length)
    expect(told).toEqual(expect.arrayContaining([...acknowledged]))
    const states = (await sql.unsafe('SELECT ppid FROM users WHERE revoked = 1')).map(({ ppid }) => ppid)
    expect([...states].sort()).toEqual([...told].sort())
    const audited = (await sql.unsafe(`SELECT target FROM audit WHERE action = 'user.revoke'`)).map(
      ({ target }) => target,
    )
    expect([...audited].sort()).toEqual([...told].sort())
    expect(await auditLog(store)).toMatchObject({ ok: true })
  })

  it.runIf(!process.env.TEST_POSTGRES_URL)(
    'is unavailable while it is down, and found again',
    { tags: 'long' },
    async () => {
      const store = await open(await server.createTables())
      const siteId = await withSite(store)
      const user = { siteId, ppid: ppid(), reason: undefined }
      await server.restart(async () => {
        await expect(store.revokeUser(user, context())).rejects.toMatchObject({ name: 'StoreUnavailable' })
        await expect(store.logPosition()).rejects.toMatchObject({ name: 'StoreUnavailable' })
        await expect(store.ping()).rejects.toMatchObject({ name: 'StoreUnavailable' })
      })
      const { epoch } = store
      expect(await untilItWorks(() => store.revokeUser(user, context()))).toMatchObject({
        seq: 2,
        alreadyRevoked: false,
        epoch,
      })
      // The same server, started again, has lost nothing.
      expect(store.epoch).toBe(epoch)
    },
  )
})

describe('the epoch', () => {
  it('is another one in a copy of the database, which continues the same entries', {
    tags: 'long',
  }, async () => {
    const url = await server.createTables()
    const original = await open(url)
    const siteId = await withSite(original)
    const user = { siteId, ppid: ppid(), reason: undefined }
    const first = await original.revokeUser(user, context())
    const before = await entriesOf(original, siteId)
    await original.close()
    const copyUrl = new URL(url)
    copyUrl.pathname += '_copy'
    await admin(new URL('/postgres', url).href).unsafe(
      `CREATE DATABASE ${copyUrl.pathname.slice(1)} TEMPLATE ${new URL(url).pathname.slice(1)}`,
    )
    const copies = await Promise.all(Array.from({ length: 5 }, () => open(copyUrl.href)))
    const copy = copies[0] as Store
    expect(new Set(copies.map(({ epoch }) => epoch)).size).toBe(1)
    expect(copy.epoch).not.toBe(original.epoch)
    const { seq, hash } = before.at(-1) ?? {}
    const view = await viewOf(copy, siteId)
    expect(view.head).toEqual({ epoch: copy.epoch, seq, hash })
    expect(view.userRevocation(user.ppid, 0)).toBeDefined()
    expect(await auditLog(copy)).toMatchObject({ ok: true, position: 2 })
    expect(await copy.revokeUser(user, context())).toEqual({
      ...first,
      alreadyRevoked: true,
      epoch: copy.epoch,
    })
    expect((await copy.revokeUser({ ...user, ppid: ppid() }, context())).seq).toBe(3)
    expect(await auditLog(copy)).toMatchObject({ ok: true, position: 3 })
    expect(await auditLog(await open(url))).toMatchObject({ ok: true, position: 2 })
  })

  it('changes under a running node: nothing more is appended to the old one, and the node goes on in the new one', async () => {
    const url = await server.createTables()
    const [store, other] = [await open(url), await open(url)]
    const siteId = await withSite(store)
    const { epoch } = store
    const sql = admin(url)
    // A node looks at the epoch whenever its listener is connected, and that may be late.
    await expect.poll(() => countListeners(sql)).toBe(2)
    await sql.unsafe(`UPDATE log SET lineage = 'another server'`)
    await expect(
      store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context()),
    ).rejects.toMatchObject({
      name: 'StoreUnavailable',
    })
    await expect.poll(() => store.epoch).not.toBe(epoch)
    expect(await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())).toMatchObject({
      seq: 2,
      epoch: store.epoch,
    })
    // To the other node an end of the old log must never look like "nothing new".
    await expect(other.entriesAfter(1, 10)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await expect.poll(() => other.epoch).toBe(store.epoch)
    expect(await entriesOf(other, siteId)).toMatchObject([{ seq: 2, epoch: store.epoch }])
  })

  it('is not begun on top of a log that is not intact', async () => {
    const url = await server.createTables()
    const store = await open(url)
    const siteId = await withSite(store)
    await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
    await store.close()
    const sql = admin(url)
    await sql.unsafe(`UPDATE entries SET at = '2020-01-01T00:00:00Z' WHERE position = 1`)
    await sql.unsafe(`UPDATE log SET lineage = 'another server'`)
    await expect(open(url)).rejects.toMatchObject({
      name: 'LogCorrupted',
      audit: { position: 1, fault: 'wrong_hash' },
    })
  })

  it('is followed by the views of a node after a fail-over that has lost entries', {
    tags: 'long',
  }, async () => {
    const url = await server.createTables()
    const name = new URL(url).pathname.slice(1)
    const sql = admin(new URL('/postgres', url).href)
    /** As a server that stops: its connections end, and none can be opened. */
    const stop = async () => {
      await sql.unsafe(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
      // Again and again: a connection that was being opened may appear later.
      const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`
      await expect.poll(() => sql.unsafe(end)).toHaveLength(0)
    }
    const store = await open(url)
    const { epoch } = store
    const siteId = await withSite(store)
    const clock = await openClock(store, quietLog)
    opened.push(clock)
    const log = { ...quietLog, warn: vi.fn() }
    const keys = { feedKey: () => expect.unreachable(), findFeedKey: () => undefined }
    const meters = createMeters()
    const heads = new HeadWatch({ file: undefined, store, keys, clock, meters, log })
    const examine = heads.compare.bind(heads)
    const views = await LiveViews.open(store, clock, quietLog, { viewAgeMsMax: 2000, examine })
    opened.push(views)
    const known = ppid()
    await store.revokeUser({ siteId, ppid: known, reason: undefined }, context())
    await stop()
    await sql.unsafe(`CREATE DATABASE ${name}_standby TEMPLATE ${name}`)
    await sql.unsafe(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
    const { position } = await untilItWorks(() =>
      store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context()),
    )
    await expect.poll(() => views.position).toBe(position)

    await stop()
    await sql.unsafe(`ALTER DATABASE ${name} RENAME TO ${name}_former`)
    await sql.unsafe(`ALTER DATABASE ${name}_standby RENAME TO ${name}`)
    await expect.poll(() => views.view(siteId)?.head, { timeout: 30_000 }).toMatchObject({ seq: 2 })
    await expect.poll(() => views.readiness()).toEqual({ ready: true })
    expect(store.epoch).not.toBe(epoch)
    expect(views.view(siteId)?.head.epoch).toBe(store.epoch)
    expect(views.view(siteId)?.userRevocation(known, 0)).toBeDefined()
    expect(log.warn.mock.calls).toEqual([
      [
        { site_id: siteId, from_epoch: epoch, entries: 1 },
        expect.stringContaining('what they revoked has to be revoked again'),
      ],
    ])
    expect(await meters.text()).toMatch(/^countersign_log_entries_lost_total 1$/m)
  })

  it.each(['audit', 'checkpoint job', 'cutting'] as const)(
    'is followed when the %s is the first to see a log that is too short',
    { tags: 'long' },
    async (first) => {
      const url = await server.createTables()
      const store = await open(url)
      const { epoch } = store
      const siteId = await withSite(store)
      await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
      await writeCheckpointAtEnd(store, NOW)
      const clock = await openClock(store, quietLog)
      const sql = admin(url)
      let isShort = false
      /** As the answers of a server that took over, before its node knows of it. */
      const takeOver = async () => {
        if (!isShort) await sql.unsafe(`UPDATE log SET lineage = 'another server'`)
        isShort = true
        throw new LogCorrupted('missing', 'entry 2 of the log is missing')
      }
      const failing = { audit: 'recordsAfter', 'checkpoint job': 'checkpoint', cutting: 'takeTurn' } as const
      const answers: Partial<Store> = { [failing[first]]: takeOver }
      const isOfViews = first === 'audit'
      const seen = Object.assign(Object.create(store) as Store, answers)
      const views = await LiveViews.open(isOfViews ? seen : store, clock, quietLog, { viewAgeMsMax: 2000 })
      const parts = { store: seen, views, clock, log: quietLog, config: { logKeptMs: DAY } }
      const jobs = [startCheckpoints(parts, { entriesMin: 1 }), startCutting(parts)]
      opened.push(clock, views, ...jobs)
      if (first === 'checkpoint job') jobs[0]?.run()
      if (first === 'cutting') jobs[1]?.run()
      await expect.poll(() => views.view(siteId)?.head.epoch).not.toBe(epoch)
      await expect.poll(() => views.readiness()).toEqual({ ready: true })
      expect([isShort, views.view(siteId)?.head.epoch]).toEqual([true, store.epoch])
    },
  )

  it.runIf(!process.env.TEST_POSTGRES_URL)(
    'is another one after a fail-over; a standby is refused until then',
    { tags: 'long' },
    async () => {
      const url = await server.createTables()
      const store = await open(url)
      const siteId = await withSite(store)
      const { epoch } = store
      await server.restartAsStandby()
      await expect(open(url)).rejects.toThrow(/standby/)
      await expect(
        store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context()),
      ).rejects.toMatchObject({ name: 'StoreUnavailable' })
      // A standby may lack what other nodes append to the primary. The first read may fail because
      // its connection was to the server of before.
      for (let i = 0; i < 5; i++)
        await expect(store.logPosition()).rejects.toMatchObject({ name: 'StoreUnavailable' })
      await admin(url).unsafe('SELECT pg_promote()')
      const after = await untilItWorks(() =>
        store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context()),
      )
      expect(after).toMatchObject({ seq: 2, epoch: store.epoch })
      expect(store.epoch).not.toBe(epoch)
      expect(await auditLog(store)).toMatchObject({ ok: true, position: 2 })
    },
  )
})
