import * as z from 'zod'
import { administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { entryKinds } from './events.ts'
import { epoch, madeId, reason, seq, time } from './fields.ts'
import { idempotencyHeaders, reasonHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { parseWebhookUrl } from './urls.ts'
import { codedText } from './validation.ts'
import { attemptFailures, deliveryStatuses, webhookStatuses } from './vocabulary.ts'

const kinds = z
  .array(z.enum(entryKinds))
  .min(1)
  .max(entryKinds.length)
  .refine((list) => new Set(list).size === list.length, 'must not contain duplicates')
  .meta({ uniqueItems: true })

const webhookUrl = codedText(
  'webhook_url_forbidden',
  (value) => parseWebhookUrl(value) !== undefined,
  'must be a canonical https URL on port 443 or 8443, without user name or fragment',
  { format: 'uri', maxLength: limits.webhook_url_chars_max, examples: ['https://hooks.example/countersign'] },
)

export const createWebhookRequestSchema = z.strictObject({
  url: webhookUrl,
  kinds: kinds.optional().meta({ description: 'The kinds of entries to send. Default: all.' }),
  reason: reason.optional(),
})
export type CreateWebhookRequest = z.input<typeof createWebhookRequestSchema>

const secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/)
  .meta({ description: 'Shown only once.' })

export const createdWebhookSchema = z
  .strictObject({ webhook_id: madeId, secret })
  .meta({ id: 'CreatedWebhook' })
export type CreatedWebhook = z.input<typeof createdWebhookSchema>

export const rotatedSecretSchema = z
  .strictObject({
    webhook_id: madeId,
    secret,
    previous_valid_until: time.meta({
      description: 'Until then, each delivery also has a signature with the previous secret.',
    }),
  })
  .meta({ id: 'RotatedSecret' })
export type RotatedSecret = z.input<typeof rotatedSecretSchema>

export const webhookSchema = z
  .strictObject({
    webhook_id: madeId,
    url: z.string(),
    kinds: kinds.nullable(),
    status: z.enum(webhookStatuses),
    created_at: time,
  })
  .meta({ id: 'Webhook' })
export type Webhook = z.input<typeof webhookSchema>

export const webhookPageSchema = page(webhookSchema).meta({ id: 'WebhookPage' })
export type WebhookPage = z.input<typeof webhookPageSchema>

export const deliverySchema = z
  .strictObject({
    delivery_id: madeId,
    webhook_id: madeId,
    kind: z.enum(entryKinds),
    epoch,
    seq,
    status: z.enum(deliveryStatuses),
    attempts: z.int().min(0),
    created_at: time,
    next_attempt_at: time
      .nullable()
      .meta({ description: 'Not before then, and not before earlier deliveries have ended.' }),
    delivered_at: time.nullable(),
    last_status: z
      .int()
      .min(100)
      .max(599)
      .nullable()
      .meta({ description: 'The last status of the receiver; null if it did not respond.' }),
  })
  .meta({ id: 'Delivery' })
export type Delivery = z.input<typeof deliverySchema>

export const deliveryPageSchema = page(deliverySchema).meta({ id: 'DeliveryPage' })
export type DeliveryPage = z.input<typeof deliveryPageSchema>

export const changeWebhookRequestSchema = z.strictObject({
  url: webhookUrl.optional().meta({ description: 'Pending deliveries are sent there immediately.' }),
  kinds: kinds
    .nullable()
    .optional()
    .meta({ description: 'The kinds of entries to send from now on; null for all.' }),
  status: z.enum(['on', 'paused']).optional().meta({
    description:
      'paused: nothing is sent, and nothing is lost that the log still has when it is on again. on: also for a disabled webhook.',
  }),
  reason: reason.optional(),
})
export type ChangeWebhookRequest = z.input<typeof changeWebhookRequestSchema>

export const recoverWebhookRequestSchema = z.strictObject({
  since: time.meta({ description: 'Only deliveries that were created at this time or later.' }),
  deliveries: z
    .enum(['failed', 'all'])
    .optional()
    .meta({ description: 'Default: failed. all: also delivered ones.' }),
  cursor: pageParameters.cursor.meta({ description: 'next_cursor of the previous answer.' }),
  reason: reason.optional(),
})
export type RecoverWebhookRequest = z.input<typeof recoverWebhookRequestSchema>

export const recoveredDeliveriesSchema = z
  .strictObject({
    webhook_id: madeId,
    recovered: z
      .int()
      .min(0)
      .max(limits.webhook_recovered_max)
      .meta({ description: 'How many deliveries are pending again.' }),
    next_cursor: z
      .string()
      .max(limits.cursor_chars_max)
      .nullable()
      .meta({ description: 'Not null if there are more: send it with the same since and deliveries.' }),
  })
  .meta({ id: 'RecoveredDeliveries' })
export type RecoveredDeliveries = z.input<typeof recoveredDeliveriesSchema>

export const webhookTestSchema = z
  .strictObject({
    webhook_id: madeId,
    sent_at: time,
    status_class: z
      .enum(['2xx', '3xx', '4xx', '5xx'])
      .nullable()
      .meta({ description: 'Of the response; null if there was none.' }),
    ms: z.int().min(0).nullable().meta({ description: 'Until the response; null if there was none.' }),
    failure: z.enum(['status', 'no_answer']).nullable().meta({
      description:
        'Null if the receiver accepted it. no_answer: the answer does not say why, and always takes the same time.',
    }),
  })
  .meta({ id: 'WebhookTest' })
export type WebhookTest = z.input<typeof webhookTestSchema>

export const deliveryAttemptSchema = z
  .strictObject({
    at: time,
    ms: z.int().min(0).nullable().meta({ description: 'Until the response; null if there was none.' }),
    status: z.int().min(100).max(599).nullable(),
    failure: z.enum(attemptFailures).nullable().meta({ description: 'Null if it was delivered.' }),
  })
  .meta({ id: 'DeliveryAttempt' })
export type DeliveryAttempt = z.input<typeof deliveryAttemptSchema>

export const deliveryDetailsSchema = z
  .strictObject({
    ...deliverySchema.shape,
    attempt_history: z
      .array(deliveryAttemptSchema)
      .max(limits.webhook_attempts_listed_max)
      .meta({ description: 'The last attempts, newest first, also those before a replay.' }),
  })
  .meta({ id: 'DeliveryDetails' })
export type DeliveryDetails = z.input<typeof deliveryDetailsSchema>

export const siteDeliveryQuerySchema = z.strictObject({
  ...pageParameters,
  status: z.enum(deliveryStatuses).optional(),
  kind: z.enum(entryKinds).optional(),
  webhook_id: madeId.optional(),
})

const params = z.strictObject(siteParams)
const deliveryParams = z.strictObject({ ...siteParams, delivery_id: madeId })
const webhookParams = z.strictObject({ ...siteParams, webhook_id: madeId })

export const webhookEndpoints = {
  create_webhook: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/webhooks',
    summary: 'Create a webhook',
    description:
      'Entries are sent to public addresses only; loopback and http are allowed in development only.',
    idempotency: 'secret',
    request: { params, body: createWebhookRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: {
      201: {
        description: 'The webhook and its secret. The secret is shown only once.',
        body: createdWebhookSchema,
      },
    },
    problems: ['webhook_url_forbidden', 'store_unavailable'],
  }),
  list_webhooks: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/webhooks',
    summary: 'List webhooks',
    request: { params, query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of webhooks.', body: webhookPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  delete_webhook: endpoint({
    ...administration,
    method: 'DELETE',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}',
    summary: 'Delete a webhook',
    idempotency: 'replayed',
    request: { params: webhookParams, headers: z.object({ ...idempotencyHeaders, ...reasonHeaders }) },
    answers: { 204: { description: 'Deleted.' } },
    problems: ['store_unavailable'],
  }),
  change_webhook: endpoint({
    ...administration,
    method: 'PATCH',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}',
    summary: 'Change, pause or resume a webhook',
    description:
      'A webhook that is on again continues where it stopped. Deliveries that failed before stay failed: see recover_webhook.',
    idempotency: 'replayed',
    request: {
      params: webhookParams,
      body: changeWebhookRequestSchema,
      headers: z.object(idempotencyHeaders),
    },
    answers: { 200: { description: 'The webhook.', body: webhookSchema } },
    problems: ['webhook_url_forbidden', 'store_unavailable'],
  }),
  recover_webhook: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}/recover',
    summary: 'Send the deliveries since a time again',
    description:
      'Oldest first, without delaying other deliveries. At most 500 for each request, and 1,000 can be waiting.',
    idempotency: 'replayed',
    request: {
      params: webhookParams,
      body: recoverWebhookRequestSchema,
      headers: z.object(idempotencyHeaders),
    },
    answers: { 202: { description: 'Pending again.', body: recoveredDeliveriesSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  test_webhook: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}/test',
    summary: 'Send a test to a webhook',
    description: `Sends one signed message of type webhook.test, also to a paused or disabled webhook, and waits up to ${limits.webhook_test_seconds} seconds for the response. It changes nothing, and is not repeated. At most ${limits.webhook_tests_per_minute_max} in a minute for each site and node, one at a time.`,
    idempotency: 'replayed',
    request: { params: webhookParams, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'How the receiver answered.', body: webhookTestSchema } },
    problems: ['store_unavailable'],
  }),
  rotate_webhook_secret: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}/rotate-secret',
    summary: 'Rotate the secret of a webhook',
    description: 'For one day, each delivery is signed with both the new and the previous secret.',
    idempotency: 'secret',
    request: { params: webhookParams, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'The new secret. It is shown only once.', body: rotatedSecretSchema } },
    problems: ['store_unavailable'],
  }),
  list_deliveries: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}/deliveries',
    summary: 'List deliveries of a webhook',
    request: { params: webhookParams, query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of deliveries, newest first.', body: deliveryPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  list_site_deliveries: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/deliveries',
    summary: 'List deliveries of a site',
    description:
      'Newest first. With several filters, or status=delivered, a page can have fewer items than requested although next_cursor is not null.',
    request: { params, query: siteDeliveryQuerySchema },
    answers: { 200: { description: 'A page of deliveries.', body: deliveryPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  read_delivery: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/deliveries/{delivery_id}',
    summary: 'Get a delivery with its attempts',
    request: { params: deliveryParams },
    answers: { 200: { description: 'The delivery.', body: deliveryDetailsSchema } },
    problems: ['store_unavailable'],
  }),
  replay_delivery: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/deliveries/{delivery_id}/replay',
    summary: 'Replay a delivery',
    description:
      'A delivery that has ended is sent again without delaying others. A pending delivery is sent immediately.',
    idempotency: 'replayed',
    request: {
      params: deliveryParams,
      headers: z.object(idempotencyHeaders),
    },
    answers: { 202: { description: 'Pending again.', body: deliverySchema } },
    problems: ['store_unavailable'],
  }),
}
