import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import postgres from 'postgres'
import { afterAll, describe } from 'vitest'
import { type Config, readConfig } from '../../src/config.ts'
import { createLogger } from '../../src/logger.ts'
import { type OpenServiceOptions, openService, type Service } from '../../src/service.ts'
import { type MacTable, type MacTableName, macTables } from '../../src/store/mac-tables.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import type { Row, SqlValue } from '../../src/store/transaction.ts'
import { systemClocks } from '../../src/system-clocks.ts'
import { countSleep } from '../../src/time/count-sleep.ts'
import { run } from '../operations/terminal.ts'
import { MASTER_KEY, MASTER_KEY_HEX, quietLog } from './fixtures.ts'
import { type PostgresServer, startPostgres } from './postgres-server.ts'

/** An attacker who can write to the store, and has no key. */
export interface StoreWriter {
  readonly place: Config['store']
  sql(statement: string, ...values: SqlValue[]): Promise<readonly Row[]>
}

let folder: string | undefined
let server: Promise<PostgresServer> | undefined
let made = 0

/** A new name in a folder that `removeFiles` removes. */
export function newFile(): string {
  folder ??= mkdtempSync(join(tmpdir(), 'countersign-store-'))
  return join(folder, `${++made}`, 'store.db')
}

/** For `afterAll` of those that use `newFile`. */
export function removeFiles(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true })
  folder = undefined
}

async function close(): Promise<void> {
  const stopping = server
  server = undefined
  removeFiles()
  await (await stopping)?.stop()
}

/** One statement after the other uses one connection, which then closes by itself. */
const IDLE_SECONDS_MAX = 0.1

const kinds = [
  ['SQLite', newSqlite],
  ['PostgreSQL', newPostgres],
] as const

/**
 * Runs the same tests on every kind of store. Each call of `newWriter` gives a store without rows.
 * Those on PostgreSQL are long tests.
 */
export function forEachStoreWriter(
  name: string,
  tests: (newWriter: () => Promise<StoreWriter>) => void,
): void {
  for (const [kind, newWriter] of kinds)
    describe(`${name} on ${kind}`, { tags: kind === 'PostgreSQL' ? ['long'] : [] }, () => {
      afterAll(close)
      tests(newWriter)
    })
}

async function newSqlite(): Promise<StoreWriter & { readonly place: { readonly kind: 'sqlite' } }> {
  const file = newFile()
  return {
    place: { kind: 'sqlite', file },
    async sql(statement, ...values) {
      const db = new Database(file)
      try {
        const prepared = db.prepare(statement)
        const bound = Object.fromEntries(values.map((value, i) => [i + 1, value]))
        if (prepared.reader) return prepared.all(bound) as Row[]
        prepared.run(bound)
        return []
      } finally {
        db.close()
      }
    },
  }
}

async function newPostgres(): Promise<StoreWriter> {
  server ??= startPostgres()
  const url = await (await server).createTables()
  const types = { bigint: { to: 20, from: [20], parse: Number, serialize: String } }
  const connect = () => postgres(url, { max: 1, types, onnotice: () => {}, idle_timeout: IDLE_SECONDS_MAX })
  let connection = connect()
  return {
    place: { kind: 'postgres', url },
    async sql(statement, ...values) {
      const rows = (await connection.unsafe(statement, values as never[])) as unknown as Row[]
      // Connections keep the settings that they began with.
      if (statement.includes('ALTER DATABASE')) {
        await connection.end()
        connection = connect()
      }
      return rows
    },
  }
}

/** The store alone, without a node. */
export function openPlace(place: Config['store']): Promise<Store> {
  return openStore(place, { masterKey: MASTER_KEY, log: quietLog, onFatal: () => {} })
}

export async function withStore<T>({ place }: StoreWriter, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openPlace(place)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

export interface OpenNode {
  readonly service: Service
  readonly store: Store
  readonly logged: string[]
  close(): Promise<void>
}

export async function openNode(
  { place }: StoreWriter,
  options: Pick<OpenServiceOptions, 'checkpoints' | 'clocks'> = {},
): Promise<OpenNode> {
  const env = {
    COUNTERSIGN_BASE_URL: 'http://127.0.0.1',
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    COUNTERSIGN_PORT: '0',
  }
  const config = {
    ...readConfig('production', { env }),
    metricsPort: undefined,
    headFile: undefined,
    store: place,
  }
  const logged: string[] = []
  const log = createLogger('info', { write: (line: string) => void logged.push(line) })
  const service = await openService(config, {
    // A tenth of what a service has: tests wait for it.
    receiptsMs: 100,
    clocks: countSleep(systemClocks),
    ...options,
    log,
    onFatal: (fault) => {
      throw fault
    },
  })
  return { service, store: service.deps.store, logged, close: () => service.close() }
}

export async function withNode<T>(
  writer: StoreWriter,
  work: (store: Store, service: Service, logged: string[]) => Promise<T>,
): Promise<T> {
  const { service, store, logged, close } = await openNode(writer)
  try {
    return await work(store, service, logged)
  } finally {
    await close()
  }
}

/** What `countersign audit-log` says. */
export async function audit({ place }: StoreWriter): Promise<{ code: number; said: string }> {
  const env = {
    COUNTERSIGN_MASTER_KEY: MASTER_KEY_HEX,
    ...(place.kind === 'postgres' && { COUNTERSIGN_DATABASE_URL: place.url }),
  }
  const words = place.kind === 'sqlite' ? [place.file] : []
  const { code, said, noted } = await run(['audit-log', ...words], env)
  return { code, said: `${said}\n${noted}` }
}

/** Puts a row back as it was read before, MAC included, whether or not there is one now. */
export async function putBack(
  { sql }: StoreWriter,
  table: MacTableName,
  old: Row | undefined,
): Promise<void> {
  if (old === undefined) throw new Error('there was no such row')
  const { key }: MacTable = macTables[table]
  const isThis = key.map((column, i) => `${column} = $${i + 1}`).join(' AND ')
  const keys = key.map((column) => old[column] as SqlValue)
  const columns = Object.keys(old)
  if ((await sql(`SELECT 1 AS one FROM ${table} WHERE ${isThis}`, ...keys)).length === 0) {
    const values = columns.map((_, i) => `$${i + 1}`).join(', ')
    await sql(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values})`, ...Object.values(old))
  } else {
    const sets = columns.map((column, i) => `${column} = $${key.length + i + 1}`).join(', ')
    await sql(`UPDATE ${table} SET ${sets} WHERE ${isThis}`, ...keys, ...Object.values(old))
  }
}
