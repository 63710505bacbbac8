import { formatTime } from '@countersign/core'
import { number, text } from '../columns.ts'
import type { Appended, NewEntry, Program, Step, StepAnswer } from '../program.ts'
import type { Query } from './connect.ts'
import type { Transaction } from './sessions.ts'

/** What reads writes nothing. */
export async function runReading<T>(program: Program<T>, query: Query): Promise<T> {
  const send = () => {
    throw new TypeError('a verb that reads may not write')
  }
  return runProgram(program, { query, send }, '')
}

/**
 * Runs a program statement by statement, and waits for the answers that it wants. `epoch` is the one that the log must be in for anything to be
 * added to it.
 */
export async function runProgram<T>(program: Program<T>, { query, send }: Transaction, epoch: string): Promise<T> {
  let step = program.next(undefined)
  while (step.done !== true) {
    if (step.value.kind === 'write') {
      send(step.value.sql, step.value.values)
      step = program.next(undefined)
    } else {
      step = program.next(await answerTo(step.value, query, epoch))
    }
  }
  return step.value
}

async function answerTo(step: Exclude<Step, { kind: 'write' }>, query: Query, epoch: string): Promise<StepAnswer> {
  switch (step.kind) {
    case 'sql':
      return query(step.sql, step.values)
    case 'append':
      return append(step.entry, query, epoch)
    case 'lock':
      // In the order of the names, so that no two programs can wait for each other.
      await query(
        'SELECT pg_advisory_xact_lock(hashtextextended(value, 0)) FROM json_array_elements_text(CAST(CAST($1 AS TEXT) AS JSON))',
        [JSON.stringify(step.names)],
      )
      return undefined
    case 'copy':
      await query('SET LOCAL statement_timeout = 0')
      await query('SELECT copy_log($1, $2)', [step.from, step.into])
      return undefined
  }
}

async function append({ siteId, kind, bodyJson, atMs }: NewEntry, query: Query, epoch: string): Promise<Appended> {
  const [row] = await query('SELECT out_seq, out_position, out_hash FROM append_entry($1, $2, $3, $4, $5)', [
    epoch,
    siteId,
    kind,
    bodyJson,
    formatTime(atMs),
  ])
  if (row === undefined) throw new Error('append_entry gave nothing')
  return { epoch, seq: number(row, 'out_seq'), position: number(row, 'out_position'), hash: text(row, 'out_hash') }
}
