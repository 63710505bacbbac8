import { resolve } from 'node:path'
import { countText, operatorCommand } from './operator-command.ts'

export const backup = operatorCommand('backup', {
  words: [['<file>', 'the file to write; it must not exist']],
  examples: [
    ['countersign backup /backups/monday.db', 'copy the store in ./data'],
    ['countersign backup /backups/monday.db --data-dir /var/lib/countersign', 'copy a store elsewhere'],
  ],
  about: [
    'Writes one file that only its owner can read, and audits the log in it. It deletes a copy that fails the audit, and never overwrites a file. Secrets in the copy are sealed under the master key, which the copy does not contain: store the key elsewhere, because the copy is useless without it.',
    'For PostgreSQL use pg_dump: see docs/operating.md.',
  ],
  async run({ given, at, service, storeSettings, onProgress }) {
    const { store, masterKey } = storeSettings()
    const copied = await service.backupStore(store, given.word(0), masterKey, onProgress)
    const file = resolve(given.word(0))
    at.item(
      { file, entries: copied.position, sites: copied.sites },
      () => `Copied to ${file}: ${countText(copied)}; the log in the copy is intact.`,
    )
    return 0
  },
})
