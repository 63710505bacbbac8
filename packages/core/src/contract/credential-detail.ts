import * as z from 'zod'
import { reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { credentialId, issuerKeyId, scopeList, time } from './fields.ts'
import { limits } from './limits.ts'
import { knownCredentialSchema } from './site-lists.ts'
import { credentialSources, credentialStatuses } from './vocabulary.ts'

const status = z.enum(credentialStatuses).meta({
  description: 'Unknown: the service has not seen this credential, and it is not revoked.',
})

export const credentialDetailSchema = z
  .strictObject({
    ...knownCredentialSchema.shape,
    source: z.enum(credentialSources).meta({ description: 'How the service first saw the credential.' }),
    issuer_key: issuerKeyId
      .nullable()
      .meta({ description: 'The key that signed the root. Null if it was not recorded.' }),
    signed_at: time,
    parents: z
      .array(
        z.strictObject({
          credential_id: credentialId,
          status,
          holder_bound: z.boolean(),
          signed_at: time,
        }),
      )
      .max(limits.delegation_depth_max)
      .meta({ description: 'The credentials it was delegated from, the root last.' }),
    descendants: z
      .array(
        z.strictObject({
          credential_id: credentialId,
          parent_id: credentialId,
          status,
          scope: scopeList,
          holder_bound: z.boolean(),
          expires_at: time,
        }),
      )
      .max(limits.descendants_listed_max)
      .meta({ description: 'Known credentials that were delegated from it, directly or not, by id.' }),
    descendants_complete: z.boolean().meta({ description: 'False: there are more.' }),
  })
  .meta({ id: 'CredentialDetail' })
export type CredentialDetail = z.input<typeof credentialDetailSchema>

export const credentialDetailEndpoints = {
  get_credential: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/credentials/{credential_id}',
    summary: 'Get a known credential, with its chain and what was delegated from it',
    description: 'A credential that the service has not seen is not_found; it may still be revoked.',
    request: { params: z.strictObject({ ...siteParams, credential_id: credentialId }) },
    answers: { 200: { description: 'The credential.', body: credentialDetailSchema } },
    problems: ['store_unavailable'],
  }),
}
