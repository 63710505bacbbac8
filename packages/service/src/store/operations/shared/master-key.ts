import { MASTER_KEY_SEAL } from '../../../sealing/purposes.ts'
import { sealedUnder } from '../../../sealing/sealer.ts'
import { text } from '../../columns.ts'
import { StoreUnavailable } from '../../errors.ts'
import { type SealedColumn, sealedColumns } from '../../sealed-columns.ts'
import { exec, type Row, row, rows, type Transaction } from '../../transaction.ts'
import type { AuditContext } from '../audit.ts'
import { recordAudit } from './record-audit.ts'

const PAGE = 500

/**
 * Throws a `StoreUnavailable` for text that is sealed under another master key than the store.
 * Every operation that writes sealed text calls it after the write and in the same transaction: a
 * change of the key waits for such writes and blocks later ones, so the result is valid until the
 * commit.
 */
export function* requireMasterKey(sealed: string): Transaction<void> {
  const kept = yield* masterKeyName()
  if (kept !== undefined && kept !== sealedUnder(sealed)) {
    throw new StoreUnavailable('the master key of this store was changed: restart this node with the new one')
  }
}

/**
 * The name of the key that the store is sealed under; undefined before the first node has recorded
 * it.
 */
function* masterKeyName(): Transaction<string | undefined> {
  const kept = yield* row('SELECT sealed FROM secrets WHERE name = $1', MASTER_KEY_SEAL)
  return kept && sealedUnder(text(kept, 'sealed'))
}

/** A text column, which may hold sealed text. */
export interface TextColumn {
  readonly table: string
  readonly column: string
}

/** The change of the master key. */
export interface Reseal {
  /** The name of the old key. */
  readonly from: string
  /** Opens a text with the old key and seals it with the new one. Throws when it does not open. */
  readonly reseal: (purpose: string, sealed: string) => string
  /** Sealed under the new key, for stores that have not recorded their key yet. */
  readonly masterKeySeal: string
  readonly context: AuditContext
}

/**
 * Seals every sealed text again, and returns how many. The caller blocks all writers of those
 * tables, and passes all text columns of the schema: this throws when one of them still holds text
 * under the old key.
 */
export function* resealAll(
  { from, reseal, masterKeySeal, context }: Reseal,
  columns: readonly TextColumn[],
): Transaction<number> {
  let count = 0
  for (const column of sealedColumns) count += yield* resealColumn(column, reseal)
  yield* exec(
    'INSERT INTO secrets (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING',
    MASTER_KEY_SEAL,
    masterKeySeal,
  )
  for (const { table, column } of columns) {
    const left = yield* row(
      `SELECT 1 AS one FROM "${table}" WHERE "${column}" LIKE $1 LIMIT 1`,
      `%v1.${from}.%`,
    )
    if (left !== undefined)
      throw new Error(
        `nothing was changed, because ${table}.${column} holds sealed text but is not a listed sealed column`,
      )
  }
  const target = sealedUnder(masterKeySeal) ?? ''
  yield* recordAudit({
    siteId: null,
    action: 'master_key.rotate',
    target,
    detail: { from, texts: count },
    context,
  })
  return count
}

function* resealColumn(
  { table, column, key, also = [], toPurpose, each }: SealedColumn,
  reseal: Reseal['reseal'],
): Transaction<number> {
  const keys = key.join(', ')
  const places = key.map((_, i) => `$${i + 1}`).join(', ')
  const isThis = key.map((name, i) => `${name} = $${i + 2}`).join(' AND ')
  let count = 0
  const resealed = (found: Row, sealed: string) => {
    count++
    try {
      return reseal(toPurpose(found), sealed)
    } catch (fault) {
      const where = [table, ...key.map((name) => text(found, name))].join(' ')
      const why = fault instanceof Error ? fault.message : String(fault)
      throw new Error(`nothing was changed, because a text in the store does not open (${where}): ${why}`, {
        cause: fault,
      })
    }
  }
  for (let last: readonly string[] = []; ; ) {
    const page = yield* rows(
      `SELECT ${[...key, ...also, column].join(', ')} FROM ${table}
       WHERE ${column} IS NOT NULL ${last.length === 0 ? '' : `AND (${keys}) > (${places})`} ORDER BY ${keys} LIMIT ${PAGE}`,
      ...last,
    )
    for (const found of page) {
      last = key.map((name) => text(found, name))
      const held = text(found, column)
      const replaced =
        each === undefined ? resealed(found, held) : each(held, (sealed) => resealed(found, sealed))
      yield* exec(`UPDATE ${table} SET ${column} = $1 WHERE ${isThis}`, replaced, ...last)
    }
    if (page.length < PAGE) return count
  }
}
