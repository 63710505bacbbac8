import { createRowMacs } from '../../sealing/row-macs.ts'
import { createSealer } from '../../sealing/sealer.ts'
import { number, text } from '../columns.ts'
import { migrations } from '../migrations/all.ts'
import { createTransaction } from '../operations/all.ts'
import { logState, tableWithRows } from '../operations/epoch.ts'
import { readMacKey } from '../operations/shared/mac-key.ts'
import type { StoredTable, StoredTables, StoredValue } from '../stored-tables.ts'
import type { Query } from './connect.ts'
import { tryEpoch } from './offline.ts'
import { prepareDatabase } from './postgres-store.ts'
import { ReaderPool } from './reader-pool.ts'
import { runTransaction } from './run-transaction.ts'
import type { OpenTransaction } from './writer-pool.ts'

/** A statement inserts rows until their JSON has this length. */
const PIECE_CHARS = 1_000_000

/**
 * Loads all tables of another store into an empty database and begins a new epoch there, in one
 * transaction. Rejects, and changes nothing, for a database that has a store, and with a
 * `LogCorrupted` when what was loaded is not intact.
 */
export function loadTables(
  url: string,
  masterKey: Uint8Array,
  { schemaVersion, tables }: StoredTables,
  nowMs: number,
): Promise<{ epoch: string; position: number }> {
  requireVersion(schemaVersion)
  return prepareDatabase(url, async (transaction) => {
    const { query } = transaction
    await requireEmpty(transaction)
    for (const table of await sortByReferences(query, tables)) await loadTable(query, table)
    return beginLoadedEpoch(transaction, masterKey, nowMs)
  })
}

/** Rejects for a database that has a store, or that cannot be reached. Writes nothing. */
export async function requireEmptyDatabase(url: string): Promise<void> {
  const readers = new ReaderPool({ url, max: 1 })
  try {
    const [found] = await readers.read((query) => query("SELECT to_regclass('log')::text AS name"))
    if (found?.name === null) return
    const log = await readers.read((query) => query('SELECT 1 AS one FROM log'))
    if (log.length > 0) throw notEmpty()
  } finally {
    await readers.end()
  }
}

function requireVersion(found: number): void {
  const known = migrations.at(-1)?.version
  if (found === known) return
  throw new Error(
    `The backup has schema version ${found}, and this release needs ${known}. Start this release once with the embedded store, and back it up again.`,
  )
}

async function requireEmpty(transaction: OpenTransaction): Promise<void> {
  const context = { epoch: '', integrity: undefined }
  const hasLog = (await runTransaction(logState(), transaction, context)) !== undefined
  if (!hasLog && (await runTransaction(tableWithRows(), transaction, context)) === undefined) return
  throw notEmpty()
}

function notEmpty(): Error {
  return new Error('The database already has a store. Create an empty database, and name it in database_url.')
}

/** A table comes after those that it refers to. */
async function sortByReferences(
  query: Query,
  tables: readonly StoredTable[],
): Promise<readonly StoredTable[]> {
  const found = await query(
    `SELECT conrelid::regclass::text AS child, confrelid::regclass::text AS parent FROM pg_constraint
     WHERE contype = 'f' AND connamespace = current_schema()::regnamespace`,
  )
  const references = found.map((row) => [text(row, 'child'), text(row, 'parent')] as const)
  const sorted: StoredTable[] = []
  for (let left = tables; left.length > 0; ) {
    const isFree = ({ name }: StoredTable) =>
      !references.some(
        ([child, parent]) =>
          child === name && parent !== name && left.some(({ name: later }) => later === parent),
      )
    const free = left.filter(isFree)
    if (free.length === 0) throw new Error('the tables refer to each other in a circle')
    sorted.push(...free)
    left = left.filter((table) => !free.includes(table))
  }
  return sorted
}

async function loadTable(query: Query, table: StoredTable): Promise<void> {
  const { name } = table
  await requireColumns(query, table)
  // A new schema has a few rows, such as the time at which it begins.
  await query(`DELETE FROM ${name}`)
  let piece: string[] = []
  let [chars, rows] = [0, 0]
  const flush = async () => {
    // As text: the driver would write a JSON text as JSON once more.
    const insert = `INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1::text::json)`
    if (piece.length > 0) await query(insert, [`[${piece.join(',')}]`])
    piece = []
    chars = 0
  }
  for (const row of table.rows()) {
    const json = JSON.stringify(row, toJson)
    piece.push(json)
    chars += json.length
    rows++
    if (chars >= PIECE_CHARS) await flush()
  }
  await flush()
  const [counted] = await query(`SELECT count(*) AS rows FROM ${name}`)
  if (counted === undefined || number(counted, 'rows') !== rows)
    throw new Error(`not all rows of ${name} were loaded`)
}

async function requireColumns(query: Query, { name, columns }: StoredTable): Promise<void> {
  const found = await query(
    'SELECT column_name AS name FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1',
    [name],
  )
  const here = found.map((row) => text(row, 'name')).sort()
  if (JSON.stringify(here) !== JSON.stringify([...columns].sort()))
    throw new Error(`the table ${name} has other columns in PostgreSQL`)
}

/** Bytes in the form that PostgreSQL reads. A Buffer is given as what its `toJSON` makes of it. */
function toJson(this: Readonly<Record<string, StoredValue>>, name: string, value: unknown): unknown {
  const stored = this[name]
  return stored instanceof Uint8Array ? `\\x${Buffer.from(stored).toString('hex')}` : value
}

async function beginLoadedEpoch(
  transaction: OpenTransaction,
  masterKey: Uint8Array,
  nowMs: number,
): Promise<{ epoch: string; position: number }> {
  const plain = { epoch: '', integrity: undefined }
  const key = await runTransaction(readMacKey(createSealer(masterKey)), transaction, plain)
  const context = { epoch: '', integrity: { macs: createRowMacs(key), onForged: () => {} } }
  const [row] = await transaction.query('SELECT log_lineage() AS lineage')
  if (row === undefined) throw new Error('PostgreSQL did not report its lineage')
  const begun = await tryEpoch(
    (name, args) => runTransaction(createTransaction(name, args), transaction, context),
    { lineage: text(row, 'lineage'), nowMs },
  )
  if (begun === undefined) throw new Error('the loaded log has changed while it was audited')
  return begun
}
