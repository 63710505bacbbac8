import { resolve } from 'node:path'
import type { LogAudit } from '@countersign/service'
import { countText, describeCorruption, entriesText, operatorCommand } from './operator-command.ts'

export const auditLog = operatorCommand('audit-log', {
  words: [['[file]', 'a backup of the embedded store; default: the store of the settings']],
  examples: [
    ['countersign audit-log', 'check the store of the settings, in use or not'],
    ['countersign audit-log /backups/monday.db', 'check a backup of the embedded store, on any machine'],
    ['countersign audit-log || page-operator', 'the exit code is 3 when the log is not intact'],
  ],
  about: [
    'Reads all entries from the base of the log on and recomputes their hashes, checks the checkpoint and its pages, which replace the entries before the base, compares the head of each log with the one in the store, and checks the MAC of every row that has one. Then compares the tables that follow from the log with it: users, revoked credentials and tokens, issuers, compromised keys, site settings. Reports the first wrong row. Writes nothing, and needs the master key but no running service. It cannot detect that a whole store was set back to an older copy; verifiers with a newer head detect that.',
    'The base moves when old entries are removed, and to the end of the log when a new epoch begins. Entries before it are not checked, even if the store still has them.',
  ],
  async run({ given, at, service, store, masterKey, onProgress }) {
    const [file] = given.words
    const location = file === undefined ? store() : ({ kind: 'sqlite', file: resolve(file) } as const)
    const audit = await service.auditStore(location, masterKey(), onProgress)
    if (audit.ok) {
      at.item(
        {
          ok: true,
          entries: audit.position,
          sites: audit.sites,
          base_position: audit.basePosition,
          pages: audit.pages,
        },
        () => [`The log is intact: ${countText(audit)}.`, ...describeBase(audit)].join('\n'),
      )
      return 0
    }
    const { fault, position, siteId: site_id, seq, row } = audit
    at.item({ ok: false, fault, position, site_id, seq, row }, () => describeCorruption(audit))
    return 3
  },
})

function describeBase({ basePosition, position, pages }: Extract<LogAudit, { ok: true }>): readonly string[] {
  if (basePosition === 0) return []
  const isOne = basePosition === 1
  const before = isOne
    ? 'The first entry is before the base of the log: it is old, or of a former epoch. It is not checked'
    : `The first ${basePosition} entries are before the base of the log: they are old, or of former epochs. They are not checked`
  const pagesText = `${pages} ${pages === 1 ? 'page' : 'pages'}`
  const after = position - basePosition
  return [
    `${before}; a checkpoint with ${pagesText} has what ${isOne ? 'it still means' : 'they still mean'}.`,
    after === 0
      ? 'Checked: the checkpoint and its pages. There are no entries after the base.'
      : `Checked: the checkpoint, its pages, and the hashes of the ${entriesText(after)} after the base.`,
  ]
}
