import { entriesText, operatorCommand } from './operator-command.ts'

export const cutLog = operatorCommand('cut-log', {
  options: [['--dry-run', 'count what would be removed; change nothing']],
  examples: [
    ['countersign cut-log --dry-run', 'count what is older than log_kept_days'],
    ['countersign cut-log', 'remove it now'],
  ],
  about: [
    'Removes log entries that are older than `log_kept_days` (396 by default, which is also the minimum), after checking their hashes. A checkpoint keeps what they still mean: revoked users, stolen holder keys, issuers, compromised keys and cut-offs stay permanently. Revocations of credentials, tokens and sessions go when nothing that they revoked can still be valid. No verdict changes.',
    'The running service does the same once a day, so this command is needed only after `log_kept_days` was lowered, or for a store that was out of use. It can be stopped at any time; the next run goes on. With the embedded store, stop the service first. Nodes on PostgreSQL may run.',
  ],
  async run({ given, at, service, sources, storeSettings }) {
    const dryRun = given.has('dry-run')
    const settings = { ...storeSettings(), logKeptMs: service.readLogKeptConfig(sources) }
    const { basePosition, entries, formerEntries, revocations, rows } = await service.cutLogNow(settings, {
      dryRun,
    })
    const facts = {
      changed: !dryRun,
      base_position: basePosition,
      entries,
      former_entries: formerEntries,
      revocations,
      rows,
    }
    const what = `${entriesText(entries)}, ${entriesText(formerEntries)} of former epochs, ${revocations} revocations from the checkpoint and ${rows} rows`
    at.item(facts, () =>
      dryRun
        ? `Would remove ${what}. The log would begin after position ${basePosition}.`
        : `Removed ${what}. The log begins after position ${basePosition}.`,
    )
    return 0
  },
})
