import * as z from 'zod'
import { administration, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { entryKinds } from './events.ts'
import { epoch, madeId, seq, time } from './fields.ts'
import { idempotencyHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { parseWebhookUrl } from './urls.ts'
import { codedText } from './validation.ts'
import { deliveryStatuses, webhookStatuses } from './vocabulary.ts'

const kinds = z
  .array(z.enum(entryKinds))
  .min(1)
  .max(entryKinds.length)
  .refine((list) => new Set(list).size === list.length, 'must not name a kind twice')
  .meta({ uniqueItems: true })

const webhookUrl = codedText(
  'webhook_url_forbidden',
  (value) => parseWebhookUrl(value) !== undefined,
  'must be https on port 443 or 8443, without user name or fragment, in its canonical spelling',
  { format: 'uri', maxLength: limits.webhook_url_chars_max, examples: ['https://hooks.example/countersign'] },
)

export const createWebhookRequestSchema = z.strictObject({
  url: webhookUrl,
  kinds: kinds.optional().meta({ description: 'Which kinds of entries are sent. Absent: all.' }),
})
export type CreateWebhookRequest = z.input<typeof createWebhookRequestSchema>

const secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/)
  .meta({ description: 'Shown this once.' })

export const createdWebhookSchema = z
  .strictObject({ webhook_id: madeId, secret })
  .meta({ id: 'CreatedWebhook' })
export type CreatedWebhook = z.input<typeof createdWebhookSchema>

export const rotatedSecretSchema = z
  .strictObject({
    webhook_id: madeId,
    secret,
    previous_valid_until: time.meta({
      description: 'Until then each delivery also has a signature under the secret before.',
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
      .meta({ description: 'Not before then, and not before the deliveries in front of it have ended.' }),
    delivered_at: time.nullable(),
    last_status: z
      .int()
      .min(100)
      .max(599)
      .nullable()
      .meta({ description: 'What the receiver last answered; null when it did not.' }),
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
    summary: 'Have entries sent to a URL',
    description: 'Public addresses only; loopback and http in development only.',
    idempotency: 'secret',
    request: { params, body: createWebhookRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: {
      201: { description: 'The webhook and its secret, shown this once.', body: createdWebhookSchema },
    },
    problems: ['webhook_url_forbidden', 'store_unavailable'],
  }),
  list_webhooks: endpoint({
    ...administration,
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
    request: { params: webhookParams, headers: z.object(idempotencyHeaders) },
    answers: { 204: { description: 'Deleted.' } },
    problems: ['store_unavailable'],
  }),
  rotate_webhook_secret: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}/rotate-secret',
    summary: 'Make a new secret for a webhook',
    description: 'For a day each delivery is signed under the new secret and under the one before.',
    idempotency: 'secret',
    request: { params: webhookParams, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'The new secret, shown this once.', body: rotatedSecretSchema } },
    problems: ['store_unavailable'],
  }),
  list_deliveries: endpoint({
    ...administration,
    method: 'GET',
    path: '/api/sites/{site_id}/webhooks/{webhook_id}/deliveries',
    summary: 'List what was sent to a webhook',
    request: { params: webhookParams, query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of deliveries, the newest first.', body: deliveryPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  replay_delivery: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/deliveries/{delivery_id}/replay',
    summary: 'Send a delivery once more',
    description:
      'One that has ended is sent beside the others, which do not wait for it. One that is pending is due at once.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject({ ...siteParams, delivery_id: madeId }),
      headers: z.object(idempotencyHeaders),
    },
    answers: { 202: { description: 'Pending again.', body: deliverySchema } },
    problems: ['store_unavailable'],
  }),
}
