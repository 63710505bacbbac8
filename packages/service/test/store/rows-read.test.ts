import postgres from 'postgres'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../src/store/open.ts'
import type { SeenCredential } from '../../src/store/operations/credentials.ts'
import type { Store } from '../../src/store/store.ts'
import { context, MASTER_KEY, NOW, newSite, newToken, quietLog, seen } from './fixtures.ts'
import { type PostgresServer, runStatements, startPostgres } from './postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.stop())

type Operation = (store: Store, credential: SeenCredential) => Promise<unknown>

const revokeUser =
  (atMs: number): Operation =>
  (store, { siteId, ppid }) =>
    store.revokeUsers({ siteId, ppids: [ppid], reason: undefined }, context(atMs))

/** What happens to each user, in this order. */
const OPERATIONS: Readonly<Record<string, Operation>> = {
  'a credential is recorded': (store, credential) => store.recordCredentials([credential], NOW),
  'a token is created': (store, credential) => store.createToken(newToken(credential), 5, NOW),
  'a credential is revoked': (store, { siteId, credentialId }) =>
    store.revokeCredential({ siteId, credentialId, reason: undefined }, context()),
  'a user is revoked': revokeUser(NOW),
  'a user is reinstated': (store, { siteId, ppid }) =>
    store.reinstateUsers({ siteId, ppids: [ppid], reason: undefined }, context(NOW + 1000)),
  'a user is signed out': (store, { siteId, ppid }) =>
    store.signOutUsers({ siteId, ppids: [ppid], beforeMs: NOW, reason: undefined }, context(NOW + 1000)),
  'a user is revoked again': revokeUser(NOW + 3000),
}

const USERS = 120
const MEASURED = 20
/** What several rows of the same user, and of the node itself, may add. */
const READ_MAX = 40

const open = (url: string) =>
  openStore({ kind: 'postgres', url }, { masterKey: MASTER_KEY, log: quietLog, onFatal: () => undefined })

/** Rows of indexes that all connections have read until now. They report it when they end. */
async function countRead(url: string, index = '%'): Promise<number> {
  const sql = postgres(url, { max: 1 })
  await expect
    .poll(async () => (await sql`SELECT 1 FROM pg_stat_activity WHERE datname = current_database()`).length)
    .toBe(1)
  const [found] =
    await sql`SELECT SUM(idx_tup_read) AS rows FROM pg_stat_user_indexes WHERE indexrelname LIKE ${index}`
  await sql.end()
  return Number(found?.rows)
}

it('an operation on PostgreSQL reads few rows, however many users there are', { tags: 'long' }, async () => {
  const url = await server.createTables()
  // A table this small would be read as a whole.
  await runStatements(url, [`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET enable_seqscan = off`])
  const { siteId, ...site } = newSite()
  const first = await open(url)
  await first.createSite({ siteId, ...site }, context())
  await first.close()
  const users = Array.from({ length: USERS }, () => seen(siteId))
  /** Rows that the operation has read for each of these users. */
  const run = async (operation: Operation, some: readonly SeenCredential[]) => {
    const before = await countRead(url)
    const store = await open(url)
    for (const user of some) await operation(store, user)
    await store.close()
    return ((await countRead(url)) - before) / some.length
  }
  const read: Record<string, number> = {}
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    await run(operation, users.slice(0, -MEASURED))
    await runStatements(url, ['ANALYZE'])
    read[name] = await run(operation, users.slice(-MEASURED))
  }
  expect(Object.entries(read).filter(([, rows]) => rows > READ_MAX)).toEqual([])

  // These indexes have a row for each user. Before anything is analyzed, PostgreSQL prefers them.
  expect(await countRead(url, 'user_history_latest%')).toBe(0)

  // Control: what has no index reads them all.
  const before = await countRead(url)
  await runStatements(url, [`SELECT * FROM user_history WHERE site_id = '${siteId}' AND reason = 'none'`])
  expect((await countRead(url)) - before).toBeGreaterThan(USERS)
})
