import { resolve } from 'node:path'
import type { FailedAudit, LogFault } from '../store/log-corrupted.ts'
import { auditStore } from '../store/maintenance.ts'
import type { Command } from './command.ts'

export const auditLog: Command = {
  summary: 'check every link of the log, and name the first bad entry',
  words: ['[file]'],
  examples: [
    ['countersign audit-log', 'the log of the store that the settings name, in use or not'],
    ['countersign audit-log /backups/monday.db', 'the log in a backup of the embedded store, on any machine'],
    ['countersign audit-log || page-operator', 'exit code 3 when the log is not intact'],
  ],
  about: [
    'Reads all entries, recomputes every hash, compares the end of each log with what the store says of it, and checks the MAC of every row that carries one. Then compares the tables that are made from the log with it: users, revoked credentials and tokens, issuers, compromised keys, site settings. Names the first row that is wrong. Writes nothing, and needs the master key but no running service. A store that was set back as a whole cannot be recognised from inside; verifiers that have read further recognise it.',
  ],
  async run({ words: [file], store, masterKey, say, progress }) {
    const place = file === undefined ? store() : ({ kind: 'sqlite', file: resolve(file) } as const)
    const audit = await auditStore(place, masterKey(), progress)
    if (audit.ok)
      say(`The log is intact: ${countOf(audit)}.`, { ok: true, entries: audit.position, sites: audit.sites })
    else
      say(brokenLog(audit), {
        ok: false,
        fault: audit.fault,
        position: audit.position,
        site_id: audit.siteId,
        seq: audit.seq,
        row: audit.row,
      })
    return audit.ok ? 0 : 3
  },
}

const FAULTS: Readonly<Record<LogFault, string>> = {
  wrong_hash: 'its contents are not those that were sealed',
  wrong_prev: 'it does not continue the entry before it',
  hole: 'its number is not the next one of its site',
  other_site: 'it belongs to another site',
  other_epoch: 'it belongs to another epoch',
  unreadable: 'the row is no entry of a log',
  missing: 'it is not there',
  other_head: 'the store says that the log of this site ends otherwise',
  other_entries:
    'the entries up to here form a chain, but not the one that the service wrote: the digest in the log row differs',
  forged: 'its MAC is missing or wrong, so the service did not write it or it was changed since',
  row_missing: 'the log says that it exists; decisions follow the log, but lists and answers are incomplete',
  row_differs:
    'it does not say what the log says; decisions follow the log, but lists and answers may be wrong',
}

/** What is wrong with a log, for people. */
export function brokenLog({ fault, position, siteId, seq, row }: FailedAudit): string {
  if (row !== undefined)
    return `The log is not intact.\n  bad row: ${row.key} of ${row.table}\n  fault: ${fault}, ${FAULTS[fault]}`
  const where = [
    `position ${position}`,
    siteId !== undefined && `site ${siteId}`,
    seq !== undefined && `number ${seq}`,
  ]
  return `The log is not intact.\n  first bad entry: ${where.filter(Boolean).join(', ')}\n  fault: ${fault}, ${FAULTS[fault]}`
}

/** `5 entries of 1 site` */
export function countOf({ position, sites }: { readonly position: number; readonly sites: number }): string {
  return `${position} ${position === 1 ? 'entry' : 'entries'} of ${sites} ${sites === 1 ? 'site' : 'sites'}`
}
