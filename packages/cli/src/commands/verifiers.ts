import type { Verb } from '../command.ts'
import { connect, requireSite } from '../connection.ts'
import { listed, PAGE_OPTIONS, printList } from '../listed.ts'
import { shortInstance } from '../propagation.ts'

export const verifiers: Verb = {
  options: PAGE_OPTIONS,
  shares: ['site', 'service'],
  examples: [['countersign verifiers --site shop.example', 'which verifiers follow the site, and how far behind the log']],
  about: [
    'Each guard process is an instance; replicas may share a name. bound is how long an instance accepts without a newer signed head. A silent instance is connected and has not acknowledged anything for 15 seconds. Readers without an instance are other clients of the feed.',
  ],
  async run(given, at) {
    const { client, siteId } = await connect(given, at)
    const site_id = requireSite({ siteId })
    const page = await listed(given, (part) => client.listVerifiers({ site_id, ...part }))
    const nowMs = Date.now()
    return printList(at, page, ['verifier', 'instance', 'state', 'applied', 'lag', 'bound', 'heard'], (each) => [
      each.verifier_id === each.instance_id ? '-' : each.verifier_id,
      shortInstance(each.instance_id),
      each.state,
      each.seq,
      each.lag,
      each.fails_open ? 'fails open' : each.max_staleness_seconds === null ? null : `${each.max_staleness_seconds} s`,
      each.acknowledged_at === null ? null : `${Math.max(0, Math.round((nowMs - Date.parse(each.acknowledged_at)) / 1000))} s ago`,
    ])
  },
}
