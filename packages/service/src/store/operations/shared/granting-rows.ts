import { number, text } from '../../columns.ts'
import { exec, type Row, row, rows, type Transaction } from '../../transaction.ts'
import { createRowMac, isIntact, requireIntact, updateRow } from './mac-rows.ts'

/**
 * The MAC of every API key, person and passkey covers `keys_deleted` of the log row: how often the
 * access of one of them was ended or reduced. Each time all others get a new MAC, so a row that is
 * put back as it was has a wrong one. One lock for all: a row that is written meanwhile must get
 * the new number.
 */
export const GRANTING_LOCK = 'api_keys'

/** The columns of the log row that are read together with a row of these tables. */
export const LOG_COLUMNS = `log.keys_deleted, log.epoch AS log_epoch, log.position AS log_position, log.digest AS log_digest,
    log.keys_deleted AS log_keys_deleted, log.mac AS log_mac`

const TABLES = [
  ['api_keys', 'key_id'],
  ['people', 'person_id'],
  ['passkeys', 'passkey_id'],
] as const
const RENEWED_A_PAGE = 500

/** The number that the MAC of a new row covers. The caller has locked `GRANTING_LOCK`. */
export function* loadKeysDeleted(): Transaction<number> {
  return number(yield* requireLogRow('SELECT * FROM log WHERE one = 1'), 'keys_deleted')
}

/** Counts that access was ended, and renews the MAC of every row that the service wrote. */
export function* renewGrantingMacs(): Transaction<void> {
  for (const [table, id] of TABLES) {
    for (let after = ''; ; ) {
      const page = yield* rows(
        `SELECT r.*, log.keys_deleted FROM ${table} r JOIN log ON log.one = 1 WHERE r.${id} > $1 ORDER BY r.${id} LIMIT $2`,
        after,
        RENEWED_A_PAGE,
      )
      for (const found of page) {
        after = text(found, id)
        if (!(yield* isIntact(table, found))) continue
        const mac = yield* createRowMac(table, {
          ...found,
          keys_deleted: number(found, 'keys_deleted') + 1,
        })
        yield* exec(`UPDATE ${table} SET mac = $2 WHERE ${id} = $1`, after, mac)
      }
      if (page.length < RENEWED_A_PAGE) break
    }
  }
  // Last, because it blocks every append until the end of the transaction.
  const log = yield* requireLogRow('UPDATE log SET keys_deleted = keys_deleted WHERE one = 1 RETURNING *')
  yield* updateRow('log', log, { keys_deleted: number(log, 'keys_deleted') + 1 })
}

/** Throws a `RowForged` for a log row that the service did not write. */
function* requireLogRow(sql: string): Transaction<Row> {
  const log = yield* row(sql)
  if (log === undefined) throw new Error('there is no log')
  return yield* requireIntact('log', log)
}
