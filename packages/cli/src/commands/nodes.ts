import type { Verb } from '../command.ts'
import { connect } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

export const nodes: Verb = {
  options: PAGE_OPTIONS,
  shares: ['service'],
  examples: [['countersign nodes', 'list the nodes with their state, version and position in the log']],
  about: [
    'Needs an operator key. A node reports every 10 seconds. A silent node has reported nothing for 30 seconds, so its state is unknown; it is listed for an hour. The column clock is the clock of the node minus that of the store.',
  ],
  async run(given, at) {
    const { client } = await connect(given, at, 'operator')
    const nowMs = Date.now()
    return printList(given, at, 'nodes', (part) => client.listNodes(part), {
      node: 'node_id',
      state: 'state',
      version: 'version',
      started: 'started_at',
      reported: ({ reported_at }) =>
        `${Math.max(0, Math.round((nowMs - Date.parse(reported_at)) / 1000))} s ago`,
      position: 'position',
      'view age': ({ view_age_ms: ms }) => (ms === null ? null : `${ms} ms`),
      streams: 'streams',
      clock: ({ clock_difference_ms: ms }) => `${ms} ms`,
    })
  },
}
