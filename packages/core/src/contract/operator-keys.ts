import * as z from 'zod'
import { operating } from './administration.ts'
import { changeKeyRequestSchema, createdKeyMembers, listedKeyMembers, newKeyMembers } from './api-keys.ts'
import { endpoint } from './endpoint.ts'
import { madeId } from './fields.ts'
import { idempotencyHeaders, reasonHeaders } from './headers.ts'
import { page, pageParameters } from './paging.ts'

export const createOperatorKeyRequestSchema = z.strictObject(newKeyMembers)
export type CreateOperatorKeyRequest = z.input<typeof createOperatorKeyRequestSchema>

export const createdOperatorKeySchema = z.strictObject(createdKeyMembers).meta({ id: 'CreatedOperatorKey' })
export type CreatedOperatorKey = z.input<typeof createdOperatorKeySchema>

export const operatorKeySchema = z.strictObject(listedKeyMembers).meta({ id: 'OperatorKey' })
export type OperatorKey = z.input<typeof operatorKeySchema>

export const operatorKeyPageSchema = page(operatorKeySchema).meta({ id: 'OperatorKeyPage' })
export type OperatorKeyPage = z.input<typeof operatorKeyPageSchema>

const params = z.strictObject({ key_id: madeId })

export const operatorKeyEndpoints = {
  create_operator_key: endpoint({
    ...operating,
    method: 'POST',
    path: '/api/service/operator-keys',
    summary: 'Create an operator key',
    description: 'An operator key has no site and may do everything at every site.',
    idempotency: 'secret',
    request: { body: createOperatorKeyRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 201: { description: 'The key. It is shown only once.', body: createdOperatorKeySchema } },
    problems: ['store_unavailable'],
  }),
  list_operator_keys: endpoint({
    ...operating,
    method: 'GET',
    path: '/api/service/operator-keys',
    summary: 'List operator keys',
    request: { query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of keys, without their secrets.', body: operatorKeyPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  change_operator_key: endpoint({
    ...operating,
    method: 'PATCH',
    path: '/api/service/operator-keys/{key_id}',
    summary: 'Change the label of an operator key',
    idempotency: 'replayed',
    request: { params, body: changeKeyRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'The key as it is now, without its secret.', body: operatorKeySchema } },
    problems: ['store_unavailable'],
  }),
  delete_operator_key: endpoint({
    ...operating,
    method: 'DELETE',
    path: '/api/service/operator-keys/{key_id}',
    summary: 'Delete an operator key',
    description:
      'The key becomes invalid immediately, and its streams are closed. The key of the request itself and the last valid operator key are key_in_use.',
    idempotency: 'replayed',
    request: { params, headers: z.object({ ...idempotencyHeaders, ...reasonHeaders }) },
    answers: { 204: { description: 'Deleted.' } },
    problems: ['key_in_use', 'store_unavailable'],
  }),
}
