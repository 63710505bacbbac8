import * as z from 'zod'
import { siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { credentialId, epoch, madeId, reason, seq, siteId, time } from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { propagationSchema } from './revocation.ts'
import { namesOneUser, userForms } from './users.ts'
import { revocationOutcomes } from './vocabulary.ts'

/** A user, a credential or a bearer token. */
export const revocationTargetSchema = z
  .strictObject({ ...userForms, credential_id: credentialId.optional(), token_id: madeId.optional() })
  .refine(
    ({ credential_id, token_id, ...user }) => {
      const others = [credential_id, token_id].filter((name) => name !== undefined).length
      const isUser = Object.values(user).some((name) => name !== undefined)
      return isUser ? others === 0 && namesOneUser(user) : others === 1
    },
    {
      path: ['ppid'],
      message:
        'must be sent, or user_ref, or issuer with subject, or credential_id, or token_id, but only one of them',
    },
  )
  .meta({
    oneOf: [
      { required: ['ppid'] },
      { required: ['user_ref'] },
      { required: ['issuer', 'subject'] },
      { required: ['credential_id'] },
      { required: ['token_id'] },
    ],
    dependentRequired: { issuer: ['subject'], subject: ['issuer'] },
  })
export type RevocationTarget = z.input<typeof revocationTargetSchema>

export const revokeTargetsRequestSchema = z.strictObject({
  targets: z.array(revocationTargetSchema).min(1).max(limits.revocation_targets_max),
  reason: reason.optional(),
})
export type RevokeTargetsRequest = z.input<typeof revokeTargetsRequestSchema>

const count = (description: string) => z.int().min(0).meta({ description })

export const revokedTargetsSchema = z
  .strictObject({
    success: z.literal(true),
    site_id: siteId,
    results: z
      .array(
        z.strictObject({
          type: z.enum(['user', 'credential', 'token']),
          ids: z
            .array(z.string())
            .min(1)
            .meta({ description: 'The ids of the user, the credential_id or the token_id.' }),
          outcome: z.enum(revocationOutcomes).meta({
            description: 'not_found: a token that is unknown, of another site or expired.',
          }),
          seq: seq.nullable().meta({ description: 'The last log entry about it; null if there is none.' }),
        }),
      )
      .max(limits.revocation_targets_max)
      .meta({ description: 'One for each target, in the order of the request.' }),
    revoked: count('Targets that this request has revoked.'),
    already_revoked: count('Targets that were revoked before.'),
    not_found: count('Tokens that could not be revoked.'),
    tokens_revoked: count('Bearer tokens that ended with users and credentials, or were named.'),
    revoked_at: time,
    epoch,
    seq: seq.meta({ description: 'The last log entry of all; the head if there is none.' }),
    propagation: propagationSchema.optional().meta({ description: 'Only with Prefer: wait.' }),
  })
  .meta({ id: 'RevokedTargets' })
export type RevokedTargets = z.input<typeof revokedTargetsSchema>

export const bulkRevocationEndpoints = {
  revoke_targets: endpoint({
    method: 'POST',
    path: '/api/sites/{site_id}/revocations',
    summary: 'Revoke several users, credentials and tokens together',
    description:
      'One transaction: all are revoked, or none. Each target has its own log entries, as if it were revoked alone. ' +
      'Credentials and users need not be known. Users are revoked until they are reinstated, the rest permanently.',
    tag: 'administration',
    auth: 'api_key',
    permissions: ['credentials:revoke'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    revokes: true,
    request: {
      params: z.strictObject(siteParams),
      body: revokeTargetsRequestSchema,
      headers: z.object({ ...idempotencyHeaders, ...preferHeaders }),
    },
    bodyBytesMax: limits.request_body_bytes_max,
    answers: {
      200: {
        description: 'All are revoked, and committed durably.',
        body: revokedTargetsSchema,
        headers: preferenceHeaders,
      },
    },
    problems: ['revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
}
