import type { Verb } from '../command.ts'
import { connect, requireSite } from '../connection.ts'
import { listed, PAGE_OPTIONS, printList } from '../listed.ts'

export const verifiers: Verb = {
  options: PAGE_OPTIONS,
  shares: ['site', 'service'],
  examples: [['countersign verifiers --site shop.example', 'who follows the site, and how far behind the log']],
  async run(given, at) {
    const { client, siteId } = await connect(given, at)
    const site_id = requireSite({ siteId })
    const page = await listed(given, (part) => client.listVerifiers({ site_id, ...part }))
    return printList(at, page, ['verifier', 'applied', 'lag', 'connected', 'acknowledged'], (each) => [
      each.verifier_id,
      each.seq,
      each.lag,
      each.connected_at,
      each.acknowledged_at,
    ])
  },
}
