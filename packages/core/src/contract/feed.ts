import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { feedEventDataSchema, snapshotLineSchema } from './events.ts'
import { epoch, feedCursor, integerParameter, seq, siteId } from './fields.ts'
import { feedVersionHeaders, lastEventHeaders, verifierHeaders } from './headers.ts'
import { propagationSchema } from './revocation.ts'

const params = z.strictObject({ site_id: siteId })

export const feedQuerySchema = z.strictObject({
  after: feedCursor.optional().meta({ description: 'epoch.seq of the last entry applied. Default: the head.' }),
})

export const feedAckRequestSchema = z.strictObject({ epoch, seq })
export type FeedAckRequest = z.input<typeof feedAckRequestSchema>

export const propagationQuerySchema = z.strictObject({ seq: integerParameter(1, Number.MAX_SAFE_INTEGER) })

/** Who has applied an entry, and how soon. */
export const propagationReceiptSchema = z.strictObject({ epoch, seq, ...propagationSchema.shape }).meta({ id: 'PropagationReceipt' })
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
    request: { params, headers: z.object(feedVersionHeaders) },
    answers: { 200: { description: 'The lines.', body: snapshotLineSchema, mediaType: 'application/x-ndjson' } },
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
    request: { params, query: feedQuerySchema, headers: z.object({ ...lastEventHeaders, ...verifierHeaders, ...feedVersionHeaders }) },
    answers: {
      200: {
        description: 'The stream. It goes on until somebody closes it; retry says when to come back then.',
        body: feedEventDataSchema,
        mediaType: 'text/event-stream',
        headers: {
          'X-Verifier-Id': 'The name that the connection goes by: the one it gave itself, or one of its own to acknowledge with.',
        },
      },
    },
    problems: ['cursor_malformed', 'cursor_ahead', 'cursor_expired', 'revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  acknowledge: endpoint({
    method: 'POST',
    path: '/api/sites/{site_id}/feed/ack',
    summary: 'A verifier says how far it has applied the log',
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
    answers: { 200: { description: 'The receipt. An entry that does not exist yet is not_found.', body: propagationReceiptSchema } },
    problems: ['store_unavailable'],
    noStore: true,
  }),
}
