import type { Verb } from '../command.ts'
import { connectSite } from '../service/connection.ts'
import { loadPages, PAGE_OPTIONS, printList } from '../service/paging.ts'

const LIMIT_DEFAULT = 50

export const audit: Verb = {
  options: PAGE_OPTIONS,
  shares: ['site', 'service'],
  examples: [
    ['countersign audit --limit 20', 'the last twenty actions, newest first'],
    ['countersign audit --limit 1000 --json', 'for a program'],
  ],
  about: [
    `Lists ${LIMIT_DEFAULT} actions by default. Actions that concern no site: countersign operator-audit.`,
  ],
  async run(given, at) {
    const { client, site_id } = await connectSite(given, at)
    const page = await loadPages(given, (part) => client.listAudit({ site_id, ...part }), LIMIT_DEFAULT)
    return printList(at, page, ['at', 'who', 'action', 'target', 'outcome', 'seq', 'reason'], (row) => [
      row.at,
      row.actor.id ?? row.actor.type,
      row.action,
      row.target,
      row.outcome,
      row.seq,
      row.reason,
    ])
  },
}
