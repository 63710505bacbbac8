import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { feedEventDataSchema, snapshotLineSchema } from './events.ts'
import { epoch, feedCursor, integerParameter, seq, siteId, time } from './fields.ts'
import {
  feedVersionHeaders,
  ifNoneMatchHeaders,
  lastEventHeaders,
  verifierHeaders,
  verifierHeadHeaders,
  verifierPromiseHeaders,
  verifierTimingHeaders,
} from './headers.ts'
import { oauthIssuerUrl } from './oauth-issuer-state.ts'
import { propagationSchema } from './revocation.ts'

const params = z.strictObject({ site_id: siteId })

const observe = z.literal('1').optional().meta({
  description:
    'The caller makes no access decisions with this data, so receipts do not count it. Required in the console. At most 20 streams per key or person.',
})

export const feedQuerySchema = z.strictObject({
  after: feedCursor
    .optional()
    .meta({ description: 'epoch.seq of the last applied entry. Default: the head.' }),
  observe,
})

export const snapshotQuerySchema = z.strictObject({ observe })

export const feedAckRequestSchema = z.strictObject({
  epoch,
  seq: seq.meta({ description: 'The last proven head of the verifier.' }),
  sent_at: time
    .optional()
    .meta({ description: 'The wall clock of the verifier. The service reports clocks that differ.' }),
  closed: z
    .literal(true)
    .optional()
    .meta({ description: 'The instance rejects everything from now on, so its lease ends.' }),
  refresh_issuer: oauthIssuerUrl.optional().meta({
    description:
      'An OAuth issuer of this site: the verifier has met a key that it does not know. The service fetches its keys, at most once in ten seconds.',
  }),
})
export type FeedAckRequest = z.input<typeof feedAckRequestSchema>

export const propagationQuerySchema = z.strictObject({ seq: integerParameter(1, Number.MAX_SAFE_INTEGER) })

/** Which verifiers have applied an entry, and when. */
export const propagationReceiptSchema = z
  .strictObject({ epoch, seq, ...propagationSchema.shape })
  .meta({ id: 'PropagationReceipt' })
export type PropagationReceipt = z.input<typeof propagationReceiptSchema>

const snapshotTag = 'W/"epoch.seq": the log position of the snapshot.'

export const feedEndpoints = {
  snapshot: endpoint({
    method: 'GET',
    path: '/api/sites/{site_id}/snapshot',
    summary: 'Get the current state of a site, for verifiers',
    description:
      'Newline-delimited JSON: the head, the beginnings of epochs, the state of the site, pages of revocations, the revocations after the last page, the end. The end is signed; its digest covers every line outside pages, and the announcement of each page has the digest of that page. 304 only states that the site has no newer entries: it is not signed, and does not make the data of a verifier fresh.',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read'],
    rateLimit: 'caller',
    request: {
      params,
      query: snapshotQuerySchema,
      headers: z.object({
        ...verifierHeaders,
        ...verifierPromiseHeaders,
        ...feedVersionHeaders,
        ...ifNoneMatchHeaders,
      }),
    },
    answers: {
      200: {
        description: 'The lines.',
        body: snapshotLineSchema,
        mediaType: 'application/x-ndjson',
        headers: { ETag: snapshotTag },
      },
      304: {
        description: 'The caller has this snapshot, as its If-None-Match states.',
        headers: { ETag: snapshotTag },
      },
    },
    problems: ['revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  feed: endpoint({
    method: 'GET',
    path: '/api/sites/{site_id}/feed',
    summary: 'Follow the log of a site',
    description:
      'Server-sent events: id is epoch.seq, event is the kind, data is the entry. The service sends a heartbeat every five seconds and after each burst.',
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
        description: 'The stream. It stays open until one side closes it; retry states when to reconnect.',
        body: feedEventDataSchema,
        mediaType: 'text/event-stream',
        headers: {
          'X-Verifier-Id':
            'The name of the connection, for acknowledgements: its X-Verifier-Id, else its instance, else a generated name.',
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
      'A verifier acknowledges every five seconds. An acknowledgement applies to the instance in X-Verifier-Instance with the same API key; without an instance, to the reader with that name.',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read'],
    rateLimit: 'caller',
    request: {
      params,
      body: feedAckRequestSchema,
      headers: z.object({ ...verifierHeaders, ...verifierTimingHeaders }),
    },
    answers: { 204: { description: 'Acknowledged.' } },
    problems: ['cursor_ahead', 'revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  propagation_receipt: endpoint({
    method: 'GET',
    path: '/api/sites/{site_id}/propagation',
    summary: 'Get the receipt of an entry',
    tag: 'feed',
    auth: 'api_key',
    permissions: ['feed:read', 'credentials:revoke', 'site:read', 'site:admin'],
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
