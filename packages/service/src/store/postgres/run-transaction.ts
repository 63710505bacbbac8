import { formatTime } from '@countersign/core'
import { number, text } from '../columns.ts'
import { type AppendedRow, COMMITTED_MAX, toAppendedRow } from '../committed-part.ts'
import { extendLog } from '../extend-log.ts'
import type { RowIntegrity } from '../row-integrity.ts'
import type { Appended, NewEntry, Step, StepAnswer, Transaction } from '../transaction.ts'
import type { Query } from './connect.ts'
import type { OpenTransaction } from './writer-pool.ts'

/** Runs an operation that only reads. */
export async function runReading<T>(
  transaction: Transaction<T>,
  query: Query,
  integrity: RowIntegrity | undefined,
): Promise<T> {
  const send = () => {
    throw new TypeError('an operation that reads may not write')
  }
  return runTransaction(transaction, { query, send }, { epoch: '', integrity })
}

export interface TransactionContext {
  /** The epoch that the log must be in for an append. */
  readonly epoch: string
  /** Without it, only transactions run that neither check nor write a row with a MAC. */
  readonly integrity: RowIntegrity | undefined
  /** Gets what the transaction appends, before it is committed. */
  readonly appended?: AppendedRow[]
}

/** Runs a transaction statement by statement, and waits for the answers that it needs. */
export async function runTransaction<T>(
  transaction: Transaction<T>,
  open: OpenTransaction,
  context: TransactionContext,
): Promise<T> {
  let step = transaction.next(undefined)
  while (step.done !== true) {
    const answer = answerTo(step.value, open, context)
    step = transaction.next(answer instanceof Promise ? await answer : answer)
  }
  return step.value
}

function requireIntegrity({ integrity }: TransactionContext): RowIntegrity {
  if (integrity === undefined) throw new TypeError('the store was opened without its MAC key')
  return integrity
}

/** A promise only where the database is asked. Steps that run together are sent in their order. */
function answerTo(
  step: Step,
  open: OpenTransaction,
  context: TransactionContext,
): StepAnswer | Promise<StepAnswer> {
  switch (step.kind) {
    case 'exec':
      open.send(step.sql, step.values)
      return undefined
    case 'mac':
      return requireIntegrity(context).macs.create(step.table, step.values)
    case 'forged':
      context.integrity?.onForged(step.row)
      return undefined
    case 'sql':
      return open.query(step.sql, step.values)
    case 'change':
      return countChanged(step, open)
    case 'append':
      return append(step.entry, open, context)
    case 'lock':
      return lock(step.names, open)
    case 'together':
      return Promise.all(step.steps.map((each) => answerTo(each, open, context)))
  }
}

async function countChanged(
  { sql, values }: Extract<Step, { kind: 'change' }>,
  { query }: OpenTransaction,
): Promise<number> {
  // The driver adds it to the rows.
  const { count } = (await query(sql, values)) as unknown as { readonly count: number }
  return count
}

/** In the order of the names, so that no two transactions wait for each other. */
async function lock(names: readonly string[], { query }: OpenTransaction): Promise<undefined> {
  await query(
    'SELECT pg_advisory_xact_lock(hashtextextended(value, 0)) FROM json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON))',
    [JSON.stringify(names)],
  )
}

/**
 * Computes the hash here as well: the MACs must cover what this service meant to write, whatever
 * the database has written.
 */
async function append(
  { siteId, kind, bodyJson, atMs }: NewEntry,
  { query, send }: OpenTransaction,
  context: TransactionContext,
): Promise<Appended> {
  const { epoch } = context
  const at = formatTime(atMs)
  const [row] = await query('SELECT * FROM append_entry($1, $2, $3, $4, $5)', [
    epoch,
    siteId,
    kind,
    bodyJson,
    at,
  ])
  if (row === undefined) throw new Error('append_entry returned no row')
  const before = {
    position: number(row, 'out_position') - 1,
    digest: text(row, 'out_digest'),
    keysDeleted: number(row, 'out_keys_deleted'),
    logMac: row.out_log_mac,
    seq: number(row, 'out_seq') - 1,
    hash: text(row, 'out_prev_hash'),
    headMac: row.out_head_mac,
  }
  const entry = { epoch, siteId, kind, bodyJson, at }
  const after = extendLog(requireIntegrity(context), entry, before)
  const { seq, position, hash } = after
  if (text(row, 'out_hash') !== hash) throw new Error('append_entry wrote a different entry')
  send(
    `WITH head AS (UPDATE heads SET mac = $2 WHERE site_id = $1) UPDATE log SET digest = $3, mac = $4 WHERE one = 1`,
    [siteId, after.headMac, after.digest, after.logMac],
  )
  const { appended } = context
  if (appended !== undefined && appended.length <= COMMITTED_MAX)
    appended.push(toAppendedRow(entry, before, after))
  return { epoch, seq, position, hash }
}
