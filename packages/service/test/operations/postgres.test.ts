import type { SiteId } from '@countersign/core'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { context, MASTER_KEY, MASTER_KEY_HEX, newSite, ppid, quietLog } from '../store/fixtures.ts'
import { type PostgresServer, startPostgres } from '../store/postgres-server.ts'
import { run } from './terminal.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server?.stop())

interface House {
  readonly url: string
  readonly store: Store
  readonly siteId: SiteId
  command(...argv: string[]): ReturnType<typeof run>
  sql(statement: string): Promise<void>
}

/** A database with a site and one revocation, followed by a node. */
async function house(): Promise<House> {
  const url = await server.createDatabase()
  const onFatal = (fault: Error) => {
    throw fault
  }
  const store = await openStore({ kind: 'postgres', url }, { masterKey: MASTER_KEY, log: quietLog, onFatal })
  const site = newSite()
  await store.createSite(site, context())
  await store.revokeUser({ siteId: site.siteId, ppid: ppid(), reason: undefined }, context())
  return {
    url,
    store,
    siteId: site.siteId,
    command: (...argv) =>
      run(argv, { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX }),
    async sql(statement) {
      const sql = postgres(url, { max: 1, onnotice: () => {} })
      await sql.unsafe(statement)
      await sql.end()
    },
  }
}

describe('on PostgreSQL', () => {
  test('audit-log reads the log while nodes run, and names the first bad entry', {
    tags: 'long',
  }, async () => {
    const { store, command, sql } = await house()
    expect(await command('audit-log')).toEqual({
      code: 0,
      said: 'The log is intact: 2 entries of 1 site.',
      noted: '',
    })
    await sql(`UPDATE entries SET body = replace(body, 'ppid_', 'ppid_x') WHERE position = 2`)
    const { code, said } = await command('audit-log')
    expect(code).toBe(3)
    expect(said).toContain('first bad entry: position 2')
    expect(await command('new-epoch')).toMatchObject({
      code: 3,
      noted: expect.stringContaining('position 2'),
    })
    await store.close()
  })
  test('audit-log writes nothing, not even a schema', { tags: 'long' }, async () => {
    const url = await server.createDatabase()
    const env = { COUNTERSIGN_DATABASE_URL: url, COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX }
    expect(await run(['audit-log'], env)).toMatchObject({
      code: 1,
      noted: expect.stringContaining('never been started'),
    })
    expect(await run(['migrate'], env)).toMatchObject({
      code: 0,
      said: expect.stringContaining('PostgreSQL'),
    })
    expect(await run(['audit-log'], env)).toMatchObject({
      code: 0,
      said: 'The log is intact: 0 entries of 0 sites.',
    })
  })
  test('new-epoch is followed by a node that runs', { tags: 'long' }, async () => {
    const { store, siteId, command } = await house()
    const before = store.epoch
    const { code, said } = await command('new-epoch')
    expect(code).toBe(0)
    const [, epoch] = /new epoch (\w+), after 2 entries/.exec(said) ?? []
    expect(epoch).not.toBe(before)
    // The node finds out when it next reads, and is there soon after.
    while (store.epoch === before)
      await store.logPosition().catch(() => new Promise((resolve) => setTimeout(resolve, 20)))
    expect(store.epoch).toBe(epoch)
    expect(await store.revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())).toMatchObject({
      epoch,
      seq: 3,
    })
    expect(await command('audit-log')).toMatchObject({ code: 0, said: expect.stringContaining('3 entries') })
    await store.close()
  })
  test('keys are made while nodes run', { tags: 'long' }, async () => {
    const { store, command } = await house()
    expect(await command('create-operator-key')).toMatchObject({ code: 0 })
    expect(await store.apiKeys(null, { after: undefined, limit: 10 })).toHaveLength(1)
    await store.close()
  })
  test('what is wrong with the set-up is said, with what to do about it', { tags: 'long' }, async () => {
    const url = new URL(await server.createDatabase())
    const migrate = async (
      changes: Partial<Pick<URL, 'password' | 'pathname' | 'hostname' | 'port' | 'username'>>,
    ) => {
      const { code, noted } = await run(['migrate'], {
        COUNTERSIGN_DATABASE_URL: Object.assign(new URL(url), changes).href,
        COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
      })
      return [code, noted]
    }
    expect(await migrate({ password: 'wrong' })).toEqual([
      1,
      expect.stringContaining('28P01, PostgreSQL rejects this user or password'),
    ])
    expect(await migrate({ pathname: '/nowhere' })).toEqual([
      1,
      expect.stringContaining('3D000, there is no such database; create it'),
    ])
    expect(await migrate({ port: '1' })).toEqual([
      1,
      expect.stringContaining('ECONNREFUSED, nothing listens there'),
    ])
    const sql = postgres(url.href, { max: 1, onnotice: () => {} })
    const role = `role_${url.pathname.slice(1)}`
    await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`)
    const asRole = { username: role, password: 'x' }
    expect(await migrate(asRole)).toEqual([1, expect.stringContaining('GRANT CREATE ON SCHEMA public TO')])
    await sql.unsafe(`GRANT CREATE ON SCHEMA public TO ${role}`)
    expect(await migrate(asRole)).toEqual([0, ''])
    await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`)
    await sql.end()
  })
  test('a server that cannot be reached is said so, without its password', async () => {
    const { code, noted } = await run(['migrate'], {
      COUNTERSIGN_DATABASE_URL: 'postgres://u:canary@127.0.0.1:1/x',
      COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    })
    expect(code).toBe(1)
    expect(noted).toMatch(/^migrate failed: the database failed: (?:ECONNREFUSED|CONNECT)/)
    expect(noted).not.toContain('canary')
  })
})
