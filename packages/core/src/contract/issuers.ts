import * as z from 'zod'
import { administration, reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { entryBodySchemas } from './events.ts'
import {
  credentialTtlSecondsMax,
  issuerDid,
  issuerKeyId,
  label,
  multikey,
  reason,
  someScopes,
  time,
} from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders } from './headers.ts'
import { limits } from './limits.ts'
import {
  addOAuthIssuerRequestSchema,
  issuerId,
  keysRefreshedAt,
  oauthChanges,
  oauthIssuerSchema,
} from './oauth-issuers.ts'
import { page, pageParameters } from './paging.ts'
import { propagationSchema } from './revocation.ts'
import { issuerKeyStatuses, issuerStatuses } from './vocabulary.ts'

const keys = z
  .array(multikey)
  .min(1)
  .max(limits.issuer_keys_max)
  .refine((list) => new Set(list).size === list.length, 'must not contain duplicates')
  .meta({
    uniqueItems: true,
    description:
      'Pins the keys of a did:web, which is then never fetched. Not allowed for other DIDs, which contain their keys.',
  })

const addCredentialIssuerRequestSchema = z
  .strictObject({
    type: z.literal('credential').optional(),
    issuer: issuerDid,
    keys: keys.optional(),
    scope: someScopes.optional().meta({ description: 'The scopes that the issuer may grant. Default: all.' }),
    credential_ttl_seconds_max: credentialTtlSecondsMax.optional(),
    label: label.optional(),
    reason: reason.optional(),
  })
  .refine(({ issuer, keys: pinned }) => pinned === undefined || issuer.startsWith('did:web:'), {
    path: ['keys'],
    message: 'is allowed for did:web only',
  })
  .meta({ id: 'AddCredentialIssuerRequest' })

/** The type is credential unless the request says otherwise. */
export const addIssuerRequestSchema = z.discriminatedUnion('type', [
  addCredentialIssuerRequestSchema,
  addOAuthIssuerRequestSchema,
])
export type AddIssuerRequest = z.input<typeof addIssuerRequestSchema>

export const changeIssuerRequestSchema = z.strictObject({
  status: z.enum(issuerStatuses).optional(),
  keys: keys.optional(),
  scope: someScopes.nullable().optional().meta({ description: 'Null removes the limit.' }),
  credential_ttl_seconds_max: credentialTtlSecondsMax
    .nullable()
    .optional()
    .meta({ description: 'Null removes the limit of this issuer.' }),
  label: label.nullable().optional(),
  reason: reason.optional(),
  ...oauthChanges,
})
export type ChangeIssuerRequest = z.input<typeof changeIssuerRequestSchema>

export const changeIssuerKeyRequestSchema = z.strictObject({
  status: z.enum(issuerKeyStatuses).meta({ description: 'compromised is permanent.' }),
  reason: reason.optional(),
})
export type ChangeIssuerKeyRequest = z.input<typeof changeIssuerKeyRequestSchema>

export const credentialIssuerSchema = z
  .strictObject({
    type: z.literal('credential'),
    issuer_id: issuerId,
    ...entryBodySchemas['issuer.trusted'].shape,
    keys_refreshed_at: keysRefreshedAt,
    status: z.enum(issuerStatuses),
    label: label.nullable(),
    created_at: time,
  })
  .meta({ id: 'CredentialIssuer' })

/** An issuer of credentials, or an OAuth issuer. */
export const issuerSchema = z
  .discriminatedUnion('type', [credentialIssuerSchema, oauthIssuerSchema])
  .meta({ id: 'Issuer' })
export type Issuer = z.input<typeof issuerSchema>

const propagation = {
  propagation: propagationSchema
    .optional()
    .meta({ description: 'Only with Prefer: wait, if an entry was appended.' }),
}

/** The response to a change, which may revoke access. */
export const changedIssuerSchema = z
  .discriminatedUnion('type', [
    credentialIssuerSchema.extend(propagation).meta({ id: 'ChangedCredentialIssuer' }),
    oauthIssuerSchema.extend(propagation).meta({ id: 'ChangedOAuthIssuer' }),
  ])
  .meta({ id: 'ChangedIssuer' })
export type ChangedIssuer = z.input<typeof changedIssuerSchema>

export const issuerPageSchema = page(issuerSchema).meta({ id: 'IssuerPage' })
export type IssuerPage = z.input<typeof issuerPageSchema>

const params = z.strictObject(siteParams)
const issuerInPath = z
  .union([issuerDid, issuerId])
  .meta({ description: 'The issuer_id of the issuer, or its DID. Not the URL of an OAuth issuer.' })

export const issuerEndpoints = {
  add_issuer: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/issuers',
    summary: 'Trust an issuer',
    description:
      'The service fetches a did:web without keys now and refreshes it in the background. An OAuth issuer (type oauth) signs access tokens: the service fetches its key set, unless jwks is sent. If keys cannot be fetched, nothing is stored.',
    idempotency: 'replayed',
    request: { params, body: addIssuerRequestSchema, headers: z.object(idempotencyHeaders) },
    bodyBytesMax: limits.request_body_bytes_max,
    answers: { 201: { description: 'The issuer.', body: issuerSchema } },
    problems: ['key_rejected', 'already_exists', 'store_unavailable'],
  }),
  list_issuers: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/issuers',
    summary: 'List issuers',
    request: { params, query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of issuers.', body: issuerPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  get_issuer: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/issuers/{issuer}',
    summary: 'Get an issuer',
    request: { params: z.strictObject({ ...siteParams, issuer: issuerInPath }) },
    answers: { 200: { description: 'The issuer.', body: issuerSchema } },
    problems: ['store_unavailable'],
  }),
  change_issuer: endpoint({
    ...administration,
    method: 'PATCH',
    path: '/api/sites/{site_id}/issuers/{issuer}',
    summary: 'Change or distrust an issuer',
    description:
      'Members that are not sent do not change. keys is validation_failed unless the issuer is a did:web. Members that only the other type of issuer has are validation_failed.',
    idempotency: 'replayed',
    bodyBytesMax: limits.request_body_bytes_max,
    request: {
      params: z.strictObject({ ...siteParams, issuer: issuerInPath }),
      body: changeIssuerRequestSchema,
      headers: z.object({ ...idempotencyHeaders, ...preferHeaders }),
    },
    answers: {
      200: { description: 'The issuer as it is now.', body: changedIssuerSchema, headers: preferenceHeaders },
    },
    problems: ['key_rejected', 'store_unavailable'],
  }),
  change_issuer_key: endpoint({
    ...administration,
    method: 'PATCH',
    path: '/api/sites/{site_id}/issuers/{issuer}/keys/{key}',
    summary: 'Retire or reactivate a key of an issuer, or mark it as compromised',
    description: 'Changing a compromised key is validation_failed.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject({ ...siteParams, issuer: issuerInPath, key: issuerKeyId }),
      body: changeIssuerKeyRequestSchema,
      headers: z.object({ ...idempotencyHeaders, ...preferHeaders }),
    },
    answers: {
      200: { description: 'The issuer as it is now.', body: changedIssuerSchema, headers: preferenceHeaders },
    },
    problems: ['store_unavailable'],
  }),
}
