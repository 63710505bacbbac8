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
import { deliveryStatuses, webhookStatuses } from './vocabulary.ts'

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

const params = z.strictObject(siteParams)
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
  replay_delivery: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/deliveries/{delivery_id}/replay',
    summary: 'Replay a delivery',
    description:
      'A delivery that has ended is sent again without delaying others. A pending delivery is sent immediately.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject({ ...siteParams, delivery_id: madeId }),
      headers: z.object(idempotencyHeaders),
    },
    answers: { 202: { description: 'Pending again.', body: deliverySchema } },
    problems: ['store_unavailable'],
  }),
}
