import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { openPostgresStore } from '../src/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../src/store/store.ts'
import { quiet } from './log/log-double.ts'
import { closeNodes } from './node.ts'
import { MASTER_KEY } from './store/fixtures.ts'
import { startPostgres } from './store/postgres-server.ts'

/**
 * Runs the same tests on every store there is, with one store for all of them, since opening one
 * takes its time: each test works at sites of its own. `open` gives the store in a wrapping whose
 * operations may be replaced. Those on PostgreSQL are long tests: in `npm test`, the operations of
 * the store are tested on both, and what uses them on SQLite.
 */
export function forEachSharedStore(name: string, tests: (open: () => Store) => void): void {
  for (const { kind, tags, make } of stores)
    describe(`${name} on ${kind}`, { tags }, () => {
      let made: Made | undefined
      beforeAll(async () => {
        made = await make()
      })
      afterEach(closeNodes)
      afterAll(() => made?.close())
      tests(() => Object.create(made?.store ?? null) as Store)
    })
}

interface Made {
  readonly store: Store
  close(): Promise<void>
}

interface TestStore {
  readonly kind: string
  readonly tags: string[]
  make(): Promise<Made>
}
const sqlite: TestStore = { kind: 'SQLite', tags: [], make: makeSqlite }
const stores: readonly TestStore[] = [sqlite, { kind: 'PostgreSQL', tags: ['long'], make: makePostgres }]

async function makeSqlite(): Promise<Made> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'))
  const store = await openSqliteStore({
    file: join(folder, 'store.db'),
    log: quiet,
    masterKey: MASTER_KEY,
    onForged: () => {},
    onFatal: (fault) => {
      throw fault
    },
  })
  return {
    store,
    async close() {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function makePostgres(): Promise<Made> {
  const server = await startPostgres()
  const store = await openPostgresStore({
    url: await server.createTables(),
    masterKey: MASTER_KEY,
    onForged: () => {},
    onFatal: (fault) => {
      throw fault
    },
    log: quiet,
  })
  return {
    store,
    async close() {
      await store.close()
      await server.stop()
    },
  }
}
