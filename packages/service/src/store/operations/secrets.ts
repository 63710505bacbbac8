import { text } from '../columns.ts'
import { row, rows, type Transaction } from '../transaction.ts'
import { requireMasterKey } from './master-key.ts'

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

export function* secret(name: string): Transaction<string | undefined> {
  const found = yield* row('SELECT sealed FROM secrets WHERE name = $1', name)
  return found && text(found, 'sealed')
}
