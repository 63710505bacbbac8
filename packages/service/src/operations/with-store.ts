import { destination } from 'pino'
import type { Config } from '../config.ts'
import { createLogger } from '../logger.ts'
import { openStore } from '../store/open.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Store } from '../store/store.ts'

/** What operations on a store need of the settings. */
export type StoreSettings = Pick<Config, 'store' | 'masterKey'>

/** Called during long work: entries done, of how many. */
export type OnProgress = (done: number, total: number) => void

/** What an operation works with while it has the store open. */
interface OpenedStore {
  readonly store: Store
  /**
   * The time to act by, at least the time on record. It is not reported to the store, because an
   * operation may run on any machine.
   */
  readonly nowMs: () => number
  /** The audit context of the operator, now. */
  readonly context: () => AuditContext
}

/** Logs to the standard error, so that results on the standard output can be piped. */
function createOperationLogger() {
  return createLogger('warn', destination({ fd: 2, sync: true }))
}

/**
 * Opens the store with its schema up to date, and always closes it after the work. An embedded
 * store must not be in use.
 */
export async function withStore<T>(
  { store: config, masterKey }: StoreSettings,
  work: (at: OpenedStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, { masterKey, log: createOperationLogger(), onFatal })
  try {
    const { atMs } = await store.confirmedTime()
    const nowMs = () => Math.max(Date.now(), atMs)
    return await work({
      store,
      nowMs,
      context: () => ({ actor: 'operator', atMs: nowMs() }),
    })
  } finally {
    await store.close()
  }
}

/** Ends the process: it is unknown whether the last write is durable. */
function onFatal(fault: Error): never {
  createOperationLogger().fatal({ err: fault }, 'unrecoverable store failure; exiting')
  process.exit(1)
}
