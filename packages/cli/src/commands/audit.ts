import type { Verb } from '../command.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

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
    return printList(
      given,
      at,
      (part) => client.listAudit({ site_id, ...part }),
      {
        at: 'at',
        who: ({ actor }) => actor.id ?? actor.type,
        action: 'action',
        target: 'target',
        outcome: 'outcome',
        seq: 'seq',
        reason: 'reason',
      },
      LIMIT_DEFAULT,
    )
  },
}
