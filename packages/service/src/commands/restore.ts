import { setHeadFileAside } from '../log/head-file.ts'
import { restoreStore } from '../store/maintenance.ts'
import { countOf } from './audit-log.ts'
import type { Command } from './command.ts'

export const restore: Command = {
  summary: 'put a backup in the place of the embedded store, in a new epoch',
  words: ['<file>'],
  examples: [['countersign restore /backups/monday.db --data-dir /var/lib/countersign', 'stop the service first, start it afterwards']],
  about: [
    'Audits the copy, begins a new epoch of its log, audits again and only then puts it in place. What was there before is kept beside it. Refused while a service has the store open, and when the copy does not hold; then nothing has changed.',
    'What was done after the backup is gone, revocations too: make them again, see docs/operating.md.',
  ],
  async run({ words: [file = ''], store, headFile, masterKey, say, note, progress }) {
    const heads = headFile()
    const restored = await restoreStore(store(), file, masterKey(), Date.now(), progress)
    // What the store was before no longer binds it.
    if (heads !== undefined) setHeadFileAside(heads, restored.epoch)
    const { epoch, position, sites, before } = restored
    say(`Restored: ${countOf(restored)}; the log holds, in the new epoch ${epoch}.`, { epoch, entries: position, sites, before })
    if (before !== undefined) note(`The store as it was before: ${before}`)
    note('Whatever was revoked after the backup was made has to be revoked again.')
    return 0
  },
}
