import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { feedEventDataSchema, snapshotLineSchema } from './events.ts'
import { epoch, feedCursor, integerParameter, seq, siteId, time } from './fields.ts'
import {
  feedVersionHeaders,
  lastEventHeaders,
  verifierHeaders,
  verifierHeadHeaders,
  verifierPromiseHeaders,
} from './headers.ts'
import { propagationSchema } from './revocation.ts'

const params = z.strictObject({ site_id: siteId })

const observe = z.literal('1').optional().meta({
  description:
    'The caller decides nothing by what it reads, so receipts do not count it. At most 20 streams per key.',
})

export const feedQuerySchema = z.strictObject({
  after: feedCursor
    .optional()
    .meta({ description: 'epoch.seq of the last entry applied. Default: the head.' }),
  observe,
})

export const snapshotQuerySchema = z.strictObject({ observe })

export const feedAckRequestSchema = z.strictObject({
  epoch,
  seq: seq.meta({ description: 'The last head that the verifier has proven.' }),
  sent_at: time
    .optional()
    .meta({ description: 'The wall clock of the verifier. The service reports clocks that disagree.' }),
  closed: z
    .literal(true)
    .optional()
    .meta({ description: 'The instance rejects everything from now on: its lease ends.' }),
})
export type FeedAckRequest = z.input<typeof feedAckRequestSchema>

export const propagationQuerySchema = z.strictObject({ seq: integerParameter(1, Number.MAX_SAFE_INTEGER) })

/** Who has applied an entry, and how soon. */
export const propagationReceiptSchema = z
  .strictObject({ epoch, seq, ...propagationSchema.shape })
  .meta({ id: 'PropagationReceipt' })
export type PropagationReceipt = z.input<typeof propagationReceiptSchema>

export const feedEndpoints = {
  snapshot: endpoint({
    method: 'GET',
    path: '/api/sites/{site_id}/snapshot',
    summary: 'All that a verifier of the site must know, now',
    description: 'Newline-delimited JSON, each line as the schema says, signed as a whole by the last.',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read'],
    rateLimit: 'caller',
    request: {
      params,
      query: snapshotQuerySchema,
      headers: z.object({ ...verifierHeaders, ...verifierPromiseHeaders, ...feedVersionHeaders }),
    },
    answers: {
      200: { description: 'The lines.', body: snapshotLineSchema, mediaType: 'application/x-ndjson' },
    },
    problems: ['revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  feed: endpoint({
    method: 'GET',
    path: '/api/sites/{site_id}/feed',
    summary: 'Follow the site’s log',
    description:
      'Server-sent events: id is epoch.seq, event the kind, data the entry. A heartbeat comes every five seconds and after each burst.',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read'],
    rateLimit: 'caller',
    request: {
      params,
      query: feedQuerySchema,
      headers: z.object({
        ...lastEventHeaders,
        ...verifierHeaders,
        ...verifierPromiseHeaders,
        ...verifierHeadHeaders,
        ...feedVersionHeaders,
      }),
    },
    answers: {
      200: {
        description: 'The stream. It stays open until one side closes it; retry says when to connect again.',
        body: feedEventDataSchema,
        mediaType: 'text/event-stream',
        headers: {
          'X-Verifier-Id':
            'The name of the connection: its X-Verifier-Id, else its instance, else one that was made for it to acknowledge with.',
        },
      },
    },
    problems: [
      'cursor_malformed',
      'cursor_ahead',
      'cursor_expired',
      'revocation_view_stale',
      'store_unavailable',
    ],
    noStore: true,
  }),
  acknowledge: endpoint({
    method: 'POST',
    path: '/api/sites/{site_id}/feed/ack',
    summary: 'Acknowledge the log up to a proven head',
    description:
      'A verifier acknowledges every five seconds. An acknowledgement counts for the instance in X-Verifier-Instance under the same API key, without one for the reader of that name.',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read'],
    rateLimit: 'caller',
    request: { params, body: feedAckRequestSchema, headers: z.object(verifierHeaders) },
    answers: { 204: { description: 'Noted.' } },
    problems: ['cursor_ahead', 'revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  propagation_receipt: endpoint({
    method: 'GET',
    path: '/api/sites/{site_id}/propagation',
    summary: 'Who has applied an entry',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read', 'credentials:revoke'],
    rateLimit: 'caller',
    request: { params, query: propagationQuerySchema },
    answers: {
      200: {
        description: 'The receipt. An entry that does not exist yet is not_found.',
        body: propagationReceiptSchema,
      },
    },
    problems: ['store_unavailable'],
    noStore: true,
  }),
}
