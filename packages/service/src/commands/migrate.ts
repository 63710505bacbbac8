import type { Command } from './command.ts'
import { withStore } from './with-store.ts'

export const migrate: Command = {
  summary: 'bring the schema of the store up to date, without serving',
  words: [],
  examples: [
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign migrate',
      'before the nodes of a new release are started',
    ],
  ],
  about: [
    'Every start does the same by itself, one node at a time. Needs the master key. Refuses a store that a newer release has written. With the embedded store, stop the service first.',
  ],
  async run({ store, masterKey, say }) {
    const { kind, epoch } = await withStore(store(), masterKey(), async ({ store: opened }) => opened)
    say(`The schema is up to date: ${kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'}, log in epoch ${epoch}.`, {
      store: kind,
      epoch,
    })
    return 0
  },
}
