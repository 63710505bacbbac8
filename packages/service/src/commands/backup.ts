import { resolve } from 'node:path'
import { backupStore } from '../store/maintenance.ts'
import { countOf } from './audit-log.ts'
import type { Command } from './command.ts'

export const backup: Command = {
  summary: 'copy the embedded store to a new file, also while it is in use',
  words: ['<file>'],
  examples: [
    ['countersign backup /backups/monday.db', 'copies the store in ./data'],
    ['countersign backup /backups/monday.db --data-dir /var/lib/countersign', 'the store of another place'],
  ],
  about: [
    'Writes one file that only its owner can read, and audits the log in it; a copy that fails the audit is removed again. Refuses to write over a file. What is secret in the copy is sealed under the master key, which is not in it: keep that elsewhere, a copy is worth nothing without.',
    'PostgreSQL is copied with pg_dump: see docs/operating.md.',
  ],
  async run({ words: [file = ''], store, masterKey, say, progress }) {
    const copied = await backupStore(store(), file, masterKey(), progress)
    const path = resolve(file)
    say(`Copied to ${path}: ${countOf(copied)}; the log in the copy holds.`, {
      file: path,
      entries: copied.position,
      sites: copied.sites,
    })
    return 0
  },
}
