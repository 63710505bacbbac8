import { createMacKey } from '../../../sealing/row-macs.ts'
import type { Sealer } from '../../../sealing/sealer.ts'
import { text } from '../../columns.ts'
import { macTables } from '../../mac-tables.ts'
import { lock, row, rows, type Transaction } from '../../transaction.ts'

/** The name of the secret that holds the MAC key. */
const MAC_KEY = 'mac-key'

/**
 * The MAC key of the store, opened with the master key. It is created only in a store that has no
 * row which can grant: deleting it must not make the service accept rows without a MAC. Throws in
 * every other store that has none, and a `SealBroken` under another master key.
 */
export function* openMacKey(sealer: Sealer): Transaction<string> {
  yield* lock(MAC_KEY)
  const kept = yield* findMacKey(sealer)
  if (kept !== undefined) return kept
  for (const table of Object.keys(macTables)) {
    if ((yield* row(`SELECT 1 AS one FROM ${table} LIMIT 1`)) !== undefined) throw new MacKeyMissing(table)
  }
  const key = createMacKey()
  yield* rows('INSERT INTO secrets (name, sealed) VALUES ($1, $2)', MAC_KEY, sealer.seal(MAC_KEY, key))
  return key
}

/** The same for readers: throws when there is none. */
export function* readMacKey(sealer: Sealer): Transaction<string> {
  const kept = yield* findMacKey(sealer)
  if (kept === undefined) throw new MacKeyMissing('it')
  return kept
}

function* findMacKey(sealer: Sealer): Transaction<string | undefined> {
  const kept = yield* row('SELECT sealed FROM secrets WHERE name = $1', MAC_KEY)
  return kept && sealer.open(MAC_KEY, text(kept, 'sealed'))
}

class MacKeyMissing extends Error {
  override readonly name = 'MacKeyMissing'

  constructor(table: string) {
    super(
      `The store has rows in ${table}, but no MAC key: the secret ${MAC_KEY} was removed, or an earlier version created the store. Restore a backup, or start with an empty store.`,
    )
  }
}
