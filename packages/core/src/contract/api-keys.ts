import * as z from 'zod'
import { administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { label, madeId, time } from './fields.ts'
import { idempotencyHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { API_KEY_PATTERN } from './tokens.ts'
import { permissions } from './vocabulary.ts'

const somePermissions = z
  .array(z.enum(permissions))
  .min(1)
  .max(permissions.length)
  .refine((list) => new Set(list).size === list.length, 'must not contain duplicates')
  .meta({ uniqueItems: true })

export const createKeyRequestSchema = z.strictObject({
  permissions: somePermissions,
  label: label.optional(),
  expires_in_seconds: z
    .int()
    .min(1)
    .max(limits.api_key_lifetime_seconds_max)
    .optional()
    .meta({ description: 'Default: valid until deleted.' }),
})
export type CreateKeyRequest = z.input<typeof createKeyRequestSchema>

export const createdKeySchema = z
  .strictObject({
    key_id: madeId,
    api_key: z.string().regex(new RegExp(API_KEY_PATTERN)).meta({ description: 'Shown only once.' }),
    permissions: somePermissions,
  })
  .meta({ id: 'CreatedKey' })
export type CreatedKey = z.input<typeof createdKeySchema>

export const apiKeySchema = z
  .strictObject({
    key_id: madeId,
    permissions: somePermissions,
    label: label.nullable(),
    last4: z.string().length(4).meta({ description: 'The last four characters of the key.' }),
    created_at: time,
    expires_at: time.nullable(),
  })
  .meta({ id: 'ApiKey' })
export type ApiKey = z.input<typeof apiKeySchema>

export const apiKeyPageSchema = page(apiKeySchema).meta({ id: 'ApiKeyPage' })
export type ApiKeyPage = z.input<typeof apiKeyPageSchema>

const params = z.strictObject(siteParams)

export const apiKeyEndpoints = {
  create_key: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/keys',
    summary: 'Create an API key',
    idempotency: 'secret',
    request: { params, body: createKeyRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 201: { description: 'The key. It is shown only once.', body: createdKeySchema } },
    problems: ['store_unavailable'],
  }),
  list_keys: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/keys',
    summary: 'List API keys',
    request: { params, query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of keys, without their secrets.', body: apiKeyPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  delete_key: endpoint({
    ...administration,
    method: 'DELETE',
    path: '/api/sites/{site_id}/keys/{key_id}',
    summary: 'Delete an API key',
    description: 'The key becomes invalid immediately, and its streams are closed.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject({ ...siteParams, key_id: madeId }),
      headers: z.object(idempotencyHeaders),
    },
    answers: { 204: { description: 'Deleted.' } },
    problems: ['store_unavailable'],
  }),
}
