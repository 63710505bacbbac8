import { createRowMacs } from '../../sealing/row-macs.ts'
import { createSealer } from '../../sealing/sealer.ts'
import { auditOffline, auditWhole, type OnPage } from '../audit-log.ts'
import { text } from '../columns.ts'
import { auditEnd, createEpoch } from '../epoch.ts'
import type { LogAudit } from '../log-corrupted.ts'
import { migrations } from '../migrations/all.ts'
import { pendingMigrations } from '../migrations/migration.ts'
import {
  bindOperations,
  createTransaction,
  isReadOperation,
  type PortOperations,
  type RunOperation,
} from '../operations/all.ts'
import { readMacKey } from '../operations/shared/mac-key.ts'
import { type Reseal, resealAll } from '../operations/shared/master-key.ts'
import type { RowIntegrity } from '../row-integrity.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { lock, rows, type Transaction } from '../transaction.ts'
import { schemaVersion } from './migrate.ts'
import { openMacKeyIn, prepareDatabase } from './postgres-store.ts'
import { ReaderPool } from './reader-pool.ts'
import { runReading, runTransaction } from './run-transaction.ts'
import { requirePrivileges, requireSafeSettings } from './settings.ts'
import { WriterPool } from './writer-pool.ts'

/**
 * Reads the whole log of a database, in use or not, and reports where it first fails. Writes
 * nothing.
 */
export function auditDatabase(url: string, masterKey: Uint8Array, onPage?: OnPage): Promise<LogAudit> {
  return withRun(url, masterKey, (run) => auditOffline(run, onPage, auditWhole))
}

/** Lets `work` read a database, in use or not; without the master key, only rows without a MAC. */
export function readFromDatabase<T>(
  url: string,
  masterKey: Uint8Array | undefined,
  work: (operations: PortOperations) => Promise<T>,
): Promise<T> {
  return withRun(url, masterKey, (run) => work(bindOperations(run, () => '')))
}

/**
 * Rejects, with a message for the operator, for a database that a start could not use: it cannot be
 * reached, could lose committed data, has a newer schema, or its role lacks a privilege. Writes
 * nothing. Returns the version of its schema.
 */
export async function checkDatabase(url: string): Promise<number> {
  const readers = new ReaderPool({ url, max: 1 })
  try {
    await readers.read(requireSafeSettings)
    const version = await readers.read(schemaVersion)
    pendingMigrations(migrations, version)
    await readers.read(requirePrivileges)
    return version
  } finally {
    await readers.end()
  }
}

/** Attempts while nodes append. Then they wait. */
const TRIES = 2

/**
 * Begins a new epoch after an audit, whatever the lineage of the database. Running nodes follow it
 * by themselves. Where they append faster than the end of the log can be audited, their appends
 * wait for it, or fail. Rejects with a `LogCorrupted` when the log is not intact.
 */
export async function beginDatabaseEpoch(
  url: string,
  masterKey: Uint8Array,
  nowMs: number,
): Promise<{ epoch: string; position: number }> {
  await prepareDatabase(url, (at) => openMacKeyIn(at, masterKey))
  return withRun(url, masterKey, async (run, readers, alone) => {
    const [row] = await readers.read((query) => query('SELECT log_lineage() AS lineage'))
    if (row === undefined) throw new Error('PostgreSQL did not report its lineage')
    const order = { lineage: text(row, 'lineage'), nowMs }
    for (let left = TRIES; left > 0; left--) {
      const begun = await tryEpoch(run, order)
      if (begun !== undefined) return begun
    }
    const begun = await alone((runAlone) => tryEpoch(runAlone, order))
    if (begun === undefined) throw new Error('another process has begun a new epoch: try again')
    return begun
  })
}

/** Begins a new epoch after an audit. Undefined when a node has appended in the meantime. */
export async function tryEpoch(
  run: RunOperation,
  { lineage, nowMs }: { readonly lineage: string; readonly nowMs: number },
): Promise<{ epoch: string; position: number } | undefined> {
  const { logState, beginEpoch } = bindOperations(run, () => '')
  const state = await logState()
  if (state === undefined) throw new Error('there is no log in this database')
  const audited = await auditEnd(run, state, nowMs)
  if (audited === undefined) return undefined
  const epoch = createEpoch()
  await beginEpoch(epoch, lineage, audited, { actor: 'operator', atMs: nowMs })
  return (await logState())?.epoch === epoch ? { epoch, position: state.position } : undefined
}

/** As long as running requests may take. */
const WRITERS_MS_MAX = 60_000

/**
 * Seals everything in a database again, in one transaction. Rejects when a text does not open.
 * Nodes may run: this waits for transactions that write sealed text, and later ones wait and then
 * find that their key is no longer valid.
 */
export async function resealDatabase(url: string, change: Reseal): Promise<number> {
  await prepareDatabase(url, async () => {})
  const writers = new WriterPool({ url, max: 1, statementMsMax: WRITERS_MS_MAX, lockMsMax: WRITERS_MS_MAX })
  try {
    return await writers.transaction(
      async (transaction) => {
        const { query } = transaction
        const tables = new Set(sealedColumns.map(({ table }) => table))
        // Blocks writers, but not transactions that only refer to a row, such as revocations at a
        // site.
        await query(`LOCK TABLE ${[...tables].join(', ')} IN SHARE ROW EXCLUSIVE MODE`)
        const found = await query(
          `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns WHERE table_schema = current_schema() AND data_type = 'text'`,
        )
        const columns = found.map((row) => ({ table: text(row, 'table'), column: text(row, 'column') }))
        return runTransaction(resealAll(change, columns), transaction, { epoch: '', integrity: undefined })
      },
      { noTimeout: true },
    )
  } finally {
    await writers.end()
  }
}

/** Runs operations in one transaction, during which no node appends or writes a checkpoint. */
type RunAlone = <T>(task: (run: RunOperation) => Promise<T>) => Promise<T>

function* stopAppends(): Transaction<void> {
  yield* lock('checkpoint', 'log')
  yield* rows('UPDATE log SET position = position WHERE one = 1')
}

async function withRun<T>(
  url: string,
  masterKey: Uint8Array | undefined,
  work: (run: RunOperation, readers: ReaderPool, alone: RunAlone) => Promise<T>,
): Promise<T> {
  const readers = new ReaderPool({ url, max: 1 })
  const writers = new WriterPool({ url, max: 1 })
  try {
    const integrity = masterKey && (await readIntegrity(readers, masterKey))
    const run: RunOperation = async (name, args) => {
      if (isReadOperation(name))
        return readers.read((query) => runReading(createTransaction(name, args), query, integrity))
      return writers.transaction(
        (transaction) => runTransaction(createTransaction(name, args), transaction, { epoch: '', integrity }),
        { noTimeout: true },
      )
    }
    const alone: RunAlone = (task) =>
      writers.transaction(
        async (transaction) => {
          const context = { epoch: '', integrity }
          await runTransaction(stopAppends(), transaction, context)
          return task((name, args) => runTransaction(createTransaction(name, args), transaction, context))
        },
        { noTimeout: true },
      )
    return await work(run, readers, alone)
  } finally {
    await Promise.all([readers.end(), writers.end()])
  }
}

/** Forged rows are not reported: the caller finds them in the results. */
async function readIntegrity(readers: ReaderPool, masterKey: Uint8Array): Promise<RowIntegrity> {
  const key = await readers.read((query) => runReading(readMacKey(createSealer(masterKey)), query, undefined))
  return { macs: createRowMacs(key), onForged: () => {} }
}
