import { text } from '../../columns.ts'
import { rows, type Transaction } from '../../transaction.ts'

/** The epochs that have entries, other than the current one. */
export function* formerEpochs(): Transaction<readonly string[]> {
  // Jumps from epoch to epoch in the index: there may be very many entries.
  const found = yield* rows(
    `WITH RECURSIVE known (epoch) AS (
       SELECT MIN(epoch) FROM entries
       UNION ALL SELECT (SELECT MIN(e.epoch) FROM entries e WHERE e.epoch > known.epoch) FROM known WHERE known.epoch IS NOT NULL
     ) SELECT known.epoch FROM known JOIN log ON log.one = 1 WHERE known.epoch <> log.epoch`,
  )
  return found.map((each) => text(each, 'epoch'))
}
