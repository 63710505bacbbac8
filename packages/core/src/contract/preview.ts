import * as z from 'zod'
import { reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import {
  credentialId,
  epoch,
  issuerKeyId,
  issuerName,
  madeId,
  ppid,
  seq,
  siteId,
  thumbprint,
} from './fields.ts'
import { boundedCount } from './known-users.ts'
import { limits } from './limits.ts'
import { revocationTargetSchema } from './revocations.ts'
import { namesOneUser, oneUser, userForms } from './users.ts'

const user = <Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), ...userForms }).refine(namesOneUser, oneUser)

/** An act that revokes access. Its members are those of the request that does it. */
export const previewActSchema = z.discriminatedUnion('type', [
  user('revoke_user'),
  user('sign_out_user'),
  z.strictObject({ type: z.literal('revoke_credential'), credential_id: credentialId }),
  z.strictObject({ type: z.literal('revoke_token'), token_id: madeId }),
  z.strictObject({
    type: z.literal('revoke_targets'),
    targets: z.array(revocationTargetSchema).min(1).max(limits.revocation_targets_max),
  }),
  z.strictObject({ type: z.literal('revoke_holder'), thumbprint }),
  z.strictObject({ type: z.literal('cut_off_issuer'), issuer: issuerName }),
  z.strictObject({ type: z.literal('cut_off_site') }),
  z.strictObject({ type: z.literal('distrust_issuer'), issuer: issuerName }),
  z.strictObject({
    type: z.literal('change_issuer_key'),
    issuer: issuerName,
    key: issuerKeyId,
    status: z.enum(['retired', 'compromised']),
  }),
  z.strictObject({
    type: z.literal('change_site'),
    bearer: z.literal('off').optional(),
    delegation: z.literal('off').optional(),
  }),
  z.strictObject({ type: z.literal('delete_key'), key_id: madeId }),
])
export type PreviewAct = z.input<typeof previewActSchema>

/** Deleting an API key ends nothing that was created with it. */
export const previewNotEnded = ['credentials', 'tokens', 'offers', 'sessions'] as const

const samples = <Item extends z.ZodType>(item: Item) => z.array(item).max(limits.preview_samples_max)

export const previewSchema = z
  .strictObject({
    site_id: siteId,
    users: boundedCount('Users who would lose a known credential or token, or are named.'),
    credentials: boundedCount('Known credentials that are valid now and would end.'),
    bound_credentials: z.int().min(0).meta({ description: 'How many of them are bound to a holder key.' }),
    delegated_credentials: z.int().min(0).meta({ description: 'How many of them were delegated.' }),
    tokens: boundedCount('Bearer tokens that are valid now and would end.'),
    offers: z
      .int()
      .min(0)
      .meta({ description: 'Offers that would be cancelled, or could no longer be claimed.' }),
    sign_ins: z
      .int()
      .min(0)
      .meta({ description: 'Sign-ins in progress, with a credential presented, that would be cancelled.' }),
    verifiers: z.int().min(0).meta({
      description:
        'Connected verifiers that use the API key that would be deleted: they lose the feed, and reject everything once their data is stale.',
    }),
    not_ended: z.array(z.enum(previewNotEnded)).meta({
      description:
        'What was created with the API key that would be deleted, and stays valid until it is ended by itself.',
    }),
    samples: z.strictObject({
      users: samples(ppid),
      credentials: samples(credentialId),
      tokens: samples(madeId),
    }),
    webhooks: z.array(madeId).meta({ description: 'Webhooks that would be called.' }),
    lagging_verifiers: samples(z.string()).meta({
      description: 'Connected verifiers that have not acknowledged the head of the log.',
    }),
    irreversible: z.boolean().meta({ description: 'True: no other act undoes this one.' }),
    ends_own_access: z.boolean().meta({ description: 'True: the act ends the access of this API key.' }),
    epoch,
    seq: seq.meta({ description: 'The head of the log that the preview is based on.' }),
  })
  .meta({ id: 'Preview' })
export type Preview = z.input<typeof previewSchema>

export const previewEndpoints = {
  preview: endpoint({
    ...reading,
    method: 'POST',
    path: '/api/sites/{site_id}/preview',
    summary: 'Preview what an act would end',
    description:
      'Counts what is valid now and would be denied after the act. Changes nothing. The service counts only what it knows: credentials that it has never seen would end, too.',
    request: { params: z.strictObject(siteParams), body: z.strictObject({ act: previewActSchema }) },
    bodyBytesMax: limits.request_body_bytes_max,
    answers: { 200: { description: 'The preview.', body: previewSchema } },
    problems: ['revocation_view_stale', 'store_unavailable'],
  }),
}
