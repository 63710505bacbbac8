import * as z from 'zod'
import { operating } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { epoch, time } from './fields.ts'
import { page, pageParameters } from './paging.ts'
import { nodeStates } from './vocabulary.ts'

export const nodeSchema = z
  .strictObject({
    node_id: z.string().meta({ description: 'A random id of the process.' }),
    version: z.string().meta({ description: 'The version of the service that it runs.' }),
    state: z.enum(nodeStates).meta({
      description:
        'not_ready: it cannot write, or its view of the log is stale, corrupt or suspected to have lost entries. silent: it has reported nothing for 30 seconds, so its state is unknown.',
    }),
    started_at: time,
    reported_at: time.meta({ description: 'When it reported this. A node reports every 10 seconds.' }),
    epoch,
    position: z
      .int()
      .min(0)
      .meta({ description: 'Up to which entry it has applied the log of all sites, at reported_at.' }),
    view_age_ms: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: 'The age of its view of the log at reported_at. Null: it had none.' }),
    streams: z.int().min(0).meta({ description: 'The number of open feeds.' }),
    clock_difference_ms: z.int().meta({
      description:
        'Its clock minus that of the store. Always 0 with the embedded store, which has the same clock.',
    }),
  })
  .meta({ id: 'Node' })
export type Node = z.input<typeof nodeSchema>

export const nodePageSchema = page(nodeSchema).meta({ id: 'NodePage' })
export type NodePage = z.input<typeof nodePageSchema>

export const nodeEndpoints = {
  list_nodes: endpoint({
    ...operating,
    method: 'GET',
    path: '/api/service/nodes',
    summary: 'List the nodes of the service',
    description: 'A node that was stopped is removed. A node that vanished is listed as silent for an hour.',
    request: { query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of nodes.', body: nodePageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
}
