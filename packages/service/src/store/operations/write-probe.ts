import { randomBytes } from 'node:crypto'
import { rows, type Transaction } from '../transaction.ts'

/**
 * More than any single change writes, so that a store that accepts the probe has room for a change.
 */
const PROBE_BYTES = 64 * 1024

/**
 * Replaces the one row of `write_probe`. Throws what any change would throw when the store cannot
 * be written.
 */
export function* probeWrite(): Transaction<void> {
  // Random, because PostgreSQL compresses long texts.
  const filling = randomBytes(PROBE_BYTES / 2).toString('hex')
  yield* rows(
    'INSERT INTO write_probe (one, filling) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET filling = excluded.filling',
    filling,
  )
}
