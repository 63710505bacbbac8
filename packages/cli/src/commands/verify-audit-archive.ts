import { resolve } from 'node:path'
import { operatorCommand } from './operator-command.ts'

const FAULTS: Readonly<Record<string, string>> = {
  missing: 'there is no such file, although a later one or the store continues it',
  unreadable: 'it is not an archive of audit rows, or it was cut',
  wrong_hash: 'its contents are not those that were written',
  wrong_number: 'it was written under another name',
  wrong_previous: 'it does not continue the file before it, so one of the two is not the original',
  other_last: 'the store has recorded another file under this number',
}

export const verifyAuditArchive = operatorCommand('verify-audit-archive', {
  words: [['[directory]', 'a copy of the archives; default: the directory of the settings']],
  options: [['--from <number>', 'the first file to expect, if older ones were moved elsewhere; default: 1']],
  examples: [
    [
      'countersign verify-audit-archive',
      'check the archives of the service, and compare them with its store',
    ],
    ['countersign verify-audit-archive /mnt/archives', 'check a copy, on any machine'],
    [
      'countersign verify-audit-archive /mnt/archives --from 120',
      'check a copy of the files from number 120 on',
    ],
  ],
  about: [
    'Recomputes the hash of every file, and checks that each file continues the one before it, so that a missing or changed file is noticed. Reports the first wrong file with exit code 3. Without a directory, it also checks that the last file is the one that the store has recorded. With a directory it cannot notice that the last files are missing. Writes nothing; the service may run.',
  ],
  async run({ given, at, service, store, archiveDir }) {
    const [word] = given.words
    const check = await service.verifyAuditArchive({
      directory: word === undefined ? undefined : resolve(word),
      settings: () => ({ directory: archiveDir(), store: store() }),
      from: given.integer('from', { min: 1, max: 999_999_999 }),
      onProgress: (done, total) => at.progress(`${done} of ${total} files`),
    })
    if (check.ok) {
      const { files, rows, sha256 } = check
      at.item(check, () =>
        sha256 === undefined
          ? 'There are no archives.'
          : `The archives are intact: ${files} ${files === 1 ? 'file' : 'files'} with ${rows} rows. The last file has the SHA-256 ${sha256}.`,
      )
      return 0
    }
    const { file, fault } = check
    at.item(
      check,
      () => `The archives are not intact.\n  first bad file: ${file}\n  fault: ${fault}, ${FAULTS[fault]}`,
    )
    return 3
  },
})
