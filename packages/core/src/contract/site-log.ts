import * as z from 'zod'
import { reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { entryKinds, heartbeatSchema, type LogEntry, logEntrySchema } from './events.ts'
import { epoch, feedCursor, seq, sha256Hex } from './fields.ts'
import { page, pageParameters } from './paging.ts'

const params = z.strictObject(siteParams)

export const logQuerySchema = z.strictObject({
  ...pageParameters,
  after: feedCursor.optional().meta({
    description: 'epoch.seq: only later entries. Without before, the list then begins with the oldest.',
  }),
  before: feedCursor.optional().meta({ description: 'epoch.seq: only earlier entries.' }),
  kind: z.enum(entryKinds).optional(),
})

/** A page of a site's log, with the entries as the feed sends them. */
export const logPageSchema = z
  .strictObject({
    epoch,
    base: z.strictObject({ seq, hash: sha256Hex }).meta({
      description:
        'The entries up to this one may have been removed. Before the first removal: seq 0 and 64 zeros. A snapshot has the signed value.',
    }),
    ...page(logEntrySchema).shape,
  })
  .meta({ id: 'LogPage' })
export type LogPage = Omit<z.input<typeof logPageSchema>, 'items'> & { readonly items: readonly LogEntry[] }

export const headQuerySchema = z.strictObject({
  observe: z.literal('1').optional().meta({
    description:
      'The caller makes no access decisions with this head, so receipts do not count it. A caller without feed:read never does.',
  }),
})

/** What the feed sends, for readers that look at the log and do not follow it. */
const logReading = {
  ...reading,
  method: 'GET',
  permissions: ['feed:read', ...reading.permissions],
} as const

export const siteLogEndpoints = {
  list_log_entries: endpoint({
    ...logReading,
    path: '/api/sites/{site_id}/log',
    summary: 'List the entries of the log',
    description:
      'Newest first; with after and without before, oldest first. Entries contain no reasons, labels or user references. This does not follow the log: verifiers use the feed.',
    request: { params, query: logQuerySchema },
    answers: { 200: { description: 'A page of entries.', body: logPageSchema } },
    problems: ['cursor_malformed', 'cursor_ahead', 'cursor_expired', 'store_unavailable'],
  }),
  read_head: endpoint({
    ...logReading,
    path: '/api/sites/{site_id}/head',
    summary: 'Get the signed head of the log',
    description: 'The same as a heartbeat of the feed: the last entry that this node knows, signed.',
    request: { params, query: headQuerySchema },
    answers: { 200: { description: 'The head.', body: heartbeatSchema } },
    problems: ['revocation_view_stale', 'store_unavailable'],
  }),
}
