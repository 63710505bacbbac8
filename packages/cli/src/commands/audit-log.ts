import { resolve } from 'node:path'
import { countText, describeCorruption, operatorCommand } from './operator-command.ts'

export const auditLog = operatorCommand('audit-log', {
  words: [['[file]', 'a backup of the embedded store; default: the store that the settings name']],
  examples: [
    ['countersign audit-log', 'the log of the store that the settings name, in use or not'],
    ['countersign audit-log /backups/monday.db', 'the log in a backup of the embedded store, on any machine'],
    ['countersign audit-log || page-operator', 'exit code 3 when the log is not intact'],
  ],
  about: [
    'Reads all entries, recomputes every hash, compares the end of each log with what the store says of it, and checks the MAC of every row that carries one. Then compares the tables that are made from the log with it: users, revoked credentials and tokens, issuers, compromised keys, site settings. Names the first row that is wrong. Writes nothing, and needs the master key but no running service. A store that was set back as a whole cannot be recognised from inside; verifiers that have read further recognise it.',
  ],
  async run({ given, at, service, store, masterKey, onProgress }) {
    const [file] = given.words
    const place = file === undefined ? store() : ({ kind: 'sqlite', file: resolve(file) } as const)
    const audit = await service.auditStore(place, masterKey(), onProgress)
    if (audit.ok) {
      at.item(
        { ok: true, entries: audit.position, sites: audit.sites },
        () => `The log is intact: ${countText(audit)}.`,
      )
      return 0
    }
    const { fault, position, siteId: site_id, seq, row } = audit
    at.item({ ok: false, fault, position, site_id, seq, row }, () => describeCorruption(audit))
    return 3
  },
})
