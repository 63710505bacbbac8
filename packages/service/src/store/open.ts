import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openPostgresStore } from './postgres/postgres-store.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** Called once when nothing more can be promised: the process must end, and start anew. */
  readonly onFatal: (fault: Error) => void
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Reject where there is no embedded store, instead of creating one. A PostgreSQL database without a schema always gets one. */
  readonly mustExist?: boolean
}

/** Opens the store that the configuration names, with its schema up to date. Rejects, saying why, when it cannot keep its promises. */
export function openStore(config: Config['store'], { onFatal, log, mustExist = false }: OpenStoreOptions): Promise<Store> {
  return config.kind === 'sqlite'
    ? openSqliteStore({ file: config.file, onFatal, log, mustExist })
    : openPostgresStore({ url: config.url, onFatal, log })
}
