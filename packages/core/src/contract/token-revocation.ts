import * as z from 'zod'
import { siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { epoch, madeId, reason, seq } from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders } from './headers.ts'
import { propagationSchema } from './revocation.ts'

export const revokeTokenByIdRequestSchema = z.strictObject({ reason: reason.optional() })
export type RevokeTokenByIdRequest = z.input<typeof revokeTokenByIdRequestSchema>

export const tokenRevocationSchema = z
  .strictObject({
    success: z.literal(true),
    token_id: madeId,
    revoked: z.boolean().meta({
      description:
        'False if there was nothing to revoke: the token is unknown, of another site, expired or already revoked.',
    }),
    epoch: epoch.nullable().meta({ description: 'Null if there was nothing to revoke.' }),
    seq: seq.nullable().meta({ description: 'The log entry; null if there was nothing to revoke.' }),
    propagation: propagationSchema
      .optional()
      .meta({ description: 'Only with Prefer: wait, if a token was revoked.' }),
  })
  .meta({ id: 'TokenRevocation' })
export type TokenRevocation = z.input<typeof tokenRevocationSchema>

export const tokenRevocationEndpoints = {
  revoke_token_by_id: endpoint({
    method: 'POST',
    path: '/api/sites/{site_id}/tokens/{token_id}/revoke',
    summary: 'Revoke a bearer token by its id',
    description:
      'For callers that do not have the token itself. The id is token_id in the list of tokens, and jti in the introspection. ' +
      'The effect is that of POST /api/auth/revoke with the token.',
    tag: 'administration',
    auth: 'api_key',
    permissions: ['tokens:revoke'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    revokes: true,
    request: {
      params: z.strictObject({ ...siteParams, token_id: madeId }),
      body: revokeTokenByIdRequestSchema,
      bodyOptional: true,
      headers: z.object({ ...idempotencyHeaders, ...preferHeaders }),
    },
    answers: {
      200: {
        description: 'Revoked, or there was nothing to revoke.',
        body: tokenRevocationSchema,
        headers: preferenceHeaders,
      },
    },
    problems: ['store_unavailable'],
    noStore: true,
  }),
}
