import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { openPostgresStore } from './postgres/postgres-store.ts'
import type { RowIntegrity } from './row-integrity.ts'
import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** Opens the MAC key of the store, which protects the rows that can grant. */
  readonly masterKey: Uint8Array
  /** Called once, after an unrecoverable store failure. The process must end and start again. */
  readonly onFatal: (fault: Error) => void
  /** Called for every forged row, in addition to the log line. */
  readonly onForged?: RowIntegrity['onForged']
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  /**
   * Reject where there is no embedded store, instead of creating one. A PostgreSQL database without
   * a schema always gets one.
   */
  readonly mustExist?: boolean
}

/** Rows that are logged; each is logged once. */
const LOGGED_MAX = 1000

/**
 * Opens the configured store and migrates its schema. Rejects, with the reason, when the store
 * cannot keep its promises.
 */
export function openStore(config: Config['store'], options: OpenStoreOptions): Promise<Store> {
  const { masterKey, onFatal, log, mustExist = false } = options
  const logged = new Set<string>()
  const onForged: RowIntegrity['onForged'] = (row) => {
    const name = `${row.table} ${row.key}`
    if (!logged.has(name) && logged.size < LOGGED_MAX) {
      logged.add(name)
      log.error(
        row,
        'a row of the store has a missing or wrong MAC, or contradicts the log: another program has written to the store; the row is ignored',
      )
    }
    options.onForged?.(row)
  }
  return config.kind === 'sqlite'
    ? openSqliteStore({ file: config.file, masterKey, onForged, onFatal, log, mustExist })
    : openPostgresStore({ url: config.url, masterKey, onForged, onFatal, log })
}
