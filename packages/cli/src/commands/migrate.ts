import { operatorCommand } from './operator-command.ts'

export const migrate = operatorCommand('migrate', {
  examples: [
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign migrate',
      'update the schema before you start the nodes of a new release',
    ],
  ],
  about: [
    'Every start does the same, one node at a time. Needs the master key. Rejects a store that a newer release has written. With the embedded store, stop the service first.',
  ],
  async run({ at, service, storeSettings }) {
    const { kind, epoch } = await service.migrate(storeSettings())
    at.item(
      { store: kind, epoch },
      () =>
        `The schema is up to date: ${kind === 'sqlite' ? 'SQLite' : 'PostgreSQL'}, log in epoch ${epoch}.`,
    )
    return 0
  },
})
