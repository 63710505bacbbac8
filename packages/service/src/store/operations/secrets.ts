import { text } from '../columns.ts'
import { read, row, rows, type Transaction } from '../transaction.ts'
import { requireMasterKey } from './shared/master-key.ts'

/**
 * Stores text that the caller has sealed. The first value under a name stays unless `replace` is
 * set. Throws a `StoreUnavailable`, as every operation that writes sealed text does, when the
 * master key of the store has changed since.
 */
export function* putSecret(
  name: string,
  sealed: string,
  { replace = false }: { replace?: boolean } = {},
): Transaction<string> {
  const taken = replace ? 'UPDATE SET sealed = excluded.sealed' : 'NOTHING'
  yield* rows(
    `INSERT INTO secrets (name, sealed) VALUES ($1, $2) ON CONFLICT (name) DO ${taken}`,
    name,
    sealed,
  )
  yield* requireMasterKey(sealed)
  return (yield* secret(name)) ?? sealed
}

export const secret = read(function* (name: string): Transaction<string | undefined> {
  const found = yield* row('SELECT sealed FROM secrets WHERE name = $1', name)
  return found && text(found, 'sealed')
})
