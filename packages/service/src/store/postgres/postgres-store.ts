import type { Logger } from 'pino'
import { createRowMacs } from '../../sealing/row-macs.ts'
import { createSealer } from '../../sealing/sealer.ts'
import { systemClocks } from '../../system-clocks.ts'
import { text } from '../columns.ts'
import { type AppendedRow, toCommittedPart } from '../committed-part.ts'
import { resolveEpoch } from '../epoch.ts'
import { EpochChanged, StoreUnavailable } from '../errors.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import { bindOperations, createTransaction, isReadOperation, type RunOperation } from '../operations/all.ts'
import { openMacKey } from '../operations/shared/mac-key.ts'
import type { RowIntegrity } from '../row-integrity.ts'
import type { AppendListener, Store } from '../store.ts'
import { watchWrites } from '../watch-writes.ts'
import { isForbidden } from './faults.ts'
import { type Listener, openListener } from './listener.ts'
import { migrate } from './migrate.ts'
import { ReaderPool } from './reader-pool.ts'
import { runReading, runTransaction } from './run-transaction.ts'
import { requireSafeSettings } from './settings.ts'
import { type OpenTransaction, WriterPool } from './writer-pool.ts'

export interface PostgresStoreOptions {
  readonly url: string
  readonly masterKey: Uint8Array
  readonly onForged: RowIntegrity['onForged']
  /** Called after an unrecoverable store failure. The process must end and start again. */
  readonly onFatal: (fault: Error) => void
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
}

const CONNECTIONS = { reading: 4, writing: 10 }
const MIGRATION_MS_MAX = 10 * 60_000

/**
 * Opens the store for any number of nodes. Connect it to the primary directly: a pooler would share
 * connections that must not be shared. Rejects for a server whose settings could lose committed
 * data. The database is identified by its lineage: system identifier, timeline, and the identity of
 * the database and its log. A new epoch begins whenever that is not what wrote the log: at the
 * start, after a reconnection, or when an append detects it. A fail-over that lost nothing cannot
 * be distinguished from one that did, so each begins a new epoch.
 */
export async function openPostgresStore({
  url,
  masterKey,
  onForged,
  onFatal,
  log,
}: PostgresStoreOptions): Promise<Store> {
  const integrity: RowIntegrity = {
    macs: createRowMacs(await prepareDatabase(url, (at) => openMacKeyIn(at, masterKey))),
    onForged,
  }
  // A standby would answer that nothing is new, whatever other nodes append to the primary.
  const readers = new ReaderPool({ url, max: CONNECTIONS.reading, primaryOnly: true })
  const writers = new WriterPool({ url, max: CONNECTIONS.writing })
  const listeners = new Set<AppendListener>()
  const wake: AppendListener = (position, part) => {
    for (const listener of listeners) listener(position, part)
  }
  let epoch = ''
  let isClosed = false
  /** Up to where listeners have been woken by commits of this process. */
  let handedOver = 0

  const runOnce: RunOperation = async (name, args) => {
    if (isClosed) throw new StoreUnavailable('the store is closed')
    if (isReadOperation(name))
      return readers.read((query) => runReading(createTransaction(name, args), query, integrity))
    let appended: AppendedRow[] = []
    const before = systemClocks()
    const answer = await writers.transaction(
      (transaction) => {
        appended = []
        return runTransaction(createTransaction(name, args), transaction, { epoch, integrity, appended })
      },
      { noTimeout: name === 'beginEpoch' },
    )
    const part = toCommittedPart(appended, before)
    if (part !== undefined) {
      handedOver = part.end.position
      wake(handedOver, part)
    }
    return answer
  }

  const lineageNow = async () => {
    const [row] = await readers.read((query) => query('SELECT log_lineage() AS lineage'))
    if (row === undefined) throw new Error('PostgreSQL did not report its lineage')
    return text(row, 'lineage')
  }

  let following: Promise<void> | undefined
  const followEpoch = () => {
    following ??= (async () => {
      const found = await resolveEpoch(runOnce, lineageNow, Date.now())
      if (found === epoch) return
      if (epoch !== '')
        log.warn(
          { from: epoch, to: found },
          'the log is in a new epoch: after a restore or a fail-over, or because an operator began it',
        )
      epoch = found
      handedOver = 0
      wake()
    })().finally(() => {
      following = undefined
    })
    return following
  }
  const followEpochLater = () => {
    followEpoch().catch((fault: unknown) => {
      if (fault instanceof LogCorrupted) onFatal(fault)
      else if (!isClosed) log.error({ err: fault }, 'the epoch of the log could not be found')
    })
  }

  const runInEpoch: RunOperation = async (name, args) => {
    try {
      return await runOnce(name, args)
    } catch (fault) {
      if (!(fault instanceof EpochChanged)) throw fault
      followEpochLater()
      throw new StoreUnavailable('the log is beginning a new epoch', { cause: fault })
    }
  }

  const writes = watchWrites(runInEpoch, log)
  const operations = bindOperations(writes.run, () => epoch)

  let listener: Listener | undefined
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= (async () => {
      isClosed = true
      writes.close()
      listeners.clear()
      await Promise.all([listener?.close(), readers.end(), writers.end()])
    })()
    return closing
  }

  try {
    await followEpoch()
  } catch (fault) {
    await close()
    throw fault
  }
  const onNotified = (position?: number) => {
    if (position === undefined || position > handedOver) wake(position)
  }
  listener = openListener(url, onNotified, () => {
    followEpochLater()
    wake()
  })
  return {
    ...operations,
    kind: 'postgres',
    isShared: true,
    get epoch() {
      return epoch
    },
    async followEpoch() {
      // One that is running may have asked the database before it was replaced.
      await following?.catch(() => {})
      await followEpoch()
    },
    onAppend(each) {
      listeners.add(each)
      return () => listeners.delete(each)
    },
    writeFault: writes.fault,
    async ping() {
      await operations.logState()
    },
    close,
  }
}

/** Opens the MAC key of a database, or creates that of an empty one. */
export function openMacKeyIn(transaction: OpenTransaction, masterKey: Uint8Array): Promise<string> {
  return runTransaction(openMacKey(createSealer(masterKey)), transaction, { epoch: '', integrity: undefined })
}

/** Rejects unsafe settings, migrates the schema, and runs `next` in the same transaction. */
export async function prepareDatabase<T>(
  url: string,
  next: (transaction: OpenTransaction) => Promise<T>,
): Promise<T> {
  const writers = new WriterPool({
    url,
    max: 1,
    statementMsMax: MIGRATION_MS_MAX,
    lockMsMax: MIGRATION_MS_MAX,
  })
  try {
    return await writers.transaction(
      async (transaction) => {
        await requireSafeSettings(transaction.query)
        await migrate(transaction.query)
        return next(transaction)
      },
      { noTimeout: true },
    )
  } catch (fault) {
    if (!isForbidden(fault)) throw fault
    const { message } = fault as Error
    throw new Error(
      `${message}; the role of database_url must create tables and functions: GRANT CREATE ON SCHEMA public TO …`,
      {
        cause: fault,
      },
    )
  } finally {
    await writers.end()
  }
}
