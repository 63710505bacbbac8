import type { Client } from '@countersign/sdk/client'
import type { Verb } from '../command.ts'
import { omitUndefined, parseOneOf } from '../input/option-values.ts'
import { connectSite } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

type Kind = Parameters<Client['listSiteDeliveries']>[0]['kind']

export const deliveries: Verb = {
  options: [
    ['--status <status>', 'pending, delivered or failed'],
    ['--kind <kind>', 'only entries of this kind, such as user.revoked'],
    ['--webhook <webhook_id>', 'only those to this webhook'],
    ...PAGE_OPTIONS,
  ],
  shares: ['site', 'service'],
  examples: [
    ['countersign deliveries --status failed', 'what no receiver has accepted'],
    ['countersign deliveries --kind user.revoked --limit 20', 'the last twenty revocations of users'],
  ],
  about: ['The newest first. One with its attempts: countersign webhooks delivery <delivery_id>'],
  async run(given, at) {
    const filter = omitUndefined({
      status: parseOneOf(given, 'status', ['pending', 'delivered', 'failed']),
      kind: given.text('kind') as Kind,
      webhook_id: given.text('webhook'),
    })
    const { client, site_id } = await connectSite(given, at)
    return printList(
      given,
      at,
      'deliveries',
      (part) => client.listSiteDeliveries({ site_id, ...filter, ...part }),
      {
        delivery: 'delivery_id',
        webhook: 'webhook_id',
        seq: 'seq',
        kind: 'kind',
        status: 'status',
        attempts: 'attempts',
        answer: 'last_status',
        created: 'created_at',
      },
      50,
    )
  },
}
