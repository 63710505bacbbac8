import type { Verb } from '../command.ts'
import { connect } from '../service/connection.ts'
import { PAGE_OPTIONS, printList } from '../service/paging.ts'

export const nodes: Verb = {
  options: PAGE_OPTIONS,
  shares: ['service'],
  examples: [['countersign nodes', 'list the nodes with their state, version and position in the log']],
  about: [
    'Needs an operator key. A node reports every 10 seconds. A silent node has reported nothing for 30 seconds, so its state is unknown; it is listed for an hour. The columns: for how long it has been up, the last entry of the log that it has read, the age of its view, its open feeds, and its clock minus that of the store. With --json also the times of its start and its report.',
  ],
  async run(given, at) {
    const { client } = await connect(given, at, 'operator')
    const nowMs = Date.now()
    return printList(given, at, 'nodes', (part) => client.listNodes(part), {
      node: 'node_id',
      state: ({ state, reported_at }) =>
        state === 'silent' ? `silent ${ageText(nowMs - Date.parse(reported_at))}` : state,
      version: 'version',
      up: ({ started_at }) => ageText(nowMs - Date.parse(started_at)),
      entry: 'position',
      view: ({ view_age_ms: ms }) => (ms === null ? null : `${ms} ms`),
      feeds: 'streams',
      clock: ({ clock_difference_ms: ms }) => `${ms} ms`,
    })
  },
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
] as const

/** In the largest unit of which there is a whole one. */
function ageText(ms: number): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= each) ?? ['s', 1000]
  return `${Math.max(0, Math.floor(ms / unitMs))} ${unit}`
}
