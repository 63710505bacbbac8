import * as z from 'zod'
import { actorSchema, administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { label, madeId, reason, time } from './fields.ts'
import { idempotencyHeaders, reasonHeaders } from './headers.ts'
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

/** What callers choose for any API key. */
export const newKeyMembers = {
  label: label.optional(),
  expires_in_seconds: z
    .int()
    .min(1)
    .max(limits.api_key_lifetime_seconds_max)
    .optional()
    .meta({ description: 'Default: valid until deleted.' }),
  reason: reason.optional(),
}

export const createKeyRequestSchema = z.strictObject({ permissions: somePermissions, ...newKeyMembers })
export type CreateKeyRequest = z.input<typeof createKeyRequestSchema>

export const changeKeyRequestSchema = z.strictObject({
  label: label.nullable().meta({ description: 'A name for people. Null removes it.' }),
  reason: reason.optional(),
})
export type ChangeKeyRequest = z.input<typeof changeKeyRequestSchema>

/** The answer that shows a key. */
export const createdKeyMembers = {
  key_id: madeId,
  api_key: z.string().regex(new RegExp(API_KEY_PATTERN)).meta({ description: 'Shown only once.' }),
}

export const createdKeySchema = z
  .strictObject({ ...createdKeyMembers, permissions: somePermissions })
  .meta({ id: 'CreatedKey' })
export type CreatedKey = z.input<typeof createdKeySchema>

/** What lists show of any API key. */
export const listedKeyMembers = {
  key_id: madeId,
  label: label.nullable(),
  last4: z.string().length(4).meta({ description: 'The last four characters of the key.' }),
  created_at: time,
  created_by: actorSchema
    .nullable()
    .meta({ description: 'Who created the key. Null for keys of earlier versions.' }),
  expires_at: time.nullable(),
  last_used_at: time.nullable().meta({
    description:
      'The hour in which the key was last used, at most about a minute late. Null: not used since the service records this.',
  }),
}

export const apiKeySchema = z
  .strictObject({ ...listedKeyMembers, permissions: somePermissions })
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
  change_key: endpoint({
    ...administration,
    method: 'PATCH',
    path: '/api/sites/{site_id}/keys/{key_id}',
    summary: 'Change the label of an API key',
    description: 'Permissions and expiry cannot be changed. Create another key instead.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject({ ...siteParams, key_id: madeId }),
      body: changeKeyRequestSchema,
      headers: z.object(idempotencyHeaders),
    },
    answers: { 200: { description: 'The key as it is now, without its secret.', body: apiKeySchema } },
    problems: ['store_unavailable'],
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
      headers: z.object({ ...idempotencyHeaders, ...reasonHeaders }),
    },
    answers: { 204: { description: 'Deleted.' } },
    problems: ['store_unavailable'],
  }),
}
