import * as z from 'zod'
import { siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { epoch, holderKey, ppid, reason, seq, siteId, thumbprint, time } from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { propagationSchema, revokeUserRequestSchema } from './revocation.ts'

const headers = z.object({ ...idempotencyHeaders, ...preferHeaders })
const params = z.strictObject(siteParams)

export type SignOutUserRequest = z.input<typeof revokeUserRequestSchema>

export const revokeHolderRequestSchema = z
  .strictObject({
    holder_key: holderKey.optional(),
    thumbprint: thumbprint.optional(),
    reason: reason.optional(),
  })
  .refine(({ holder_key, thumbprint: given }) => (holder_key === undefined) !== (given === undefined), {
    path: ['holder_key'],
    message: 'must be sent, or thumbprint, but not both',
  })
  .meta({ oneOf: [{ required: ['holder_key'] }, { required: ['thumbprint'] }] })
export type RevokeHolderRequest = z.input<typeof revokeHolderRequestSchema>

export const cutOffIssuerRequestSchema = z.strictObject({
  issuer: z.string().min(1).max(limits.did_chars_max).meta({ description: 'An issuer of this site.' }),
  reason: reason.optional(),
})
export type CutOffIssuerRequest = z.input<typeof cutOffIssuerRequestSchema>

export const cutOffSiteRequestSchema = z.strictObject({
  confirm: siteId.meta({ description: 'The site_id again: everything issued so far becomes invalid.' }),
  reason: reason.optional(),
})
export type CutOffSiteRequest = z.input<typeof cutOffSiteRequestSchema>

/** What ends access that is not named by one credential or user. */
export const cutOffKinds = ['user.signed_out', 'holder.revoked', 'issuer.cut_off', 'site.cut_off'] as const

export const cutOffSchema = z
  .strictObject({
    success: z.literal(true),
    kind: z.enum(cutOffKinds),
    site_id: siteId,
    target: z.string().meta({ description: 'The user, the thumbprint, the issuer or the site.' }),
    before: time.meta({
      description: 'Everything issued at or before this time is invalid; of a stolen key, everything ever.',
    }),
    already_revoked: z
      .boolean()
      .meta({ description: 'True: the key was revoked before, and nothing was appended.' }),
    entries: z
      .array(z.strictObject({ ppid, seq }))
      .optional()
      .meta({ description: 'Of a user: all ids that were signed out together, each with its log entry.' }),
    epoch,
    seq: seq.meta({ description: 'The log entry; the last one if there are several entries.' }),
    propagation: propagationSchema.optional().meta({ description: 'Only with Prefer: wait.' }),
  })
  .meta({ id: 'CutOff' })
export type CutOff = z.input<typeof cutOffSchema>

const common = {
  auth: 'api_key',
  permissions: ['credentials:revoke'],
  rateLimit: 'caller',
  idempotency: 'replayed',
  revokes: true,
  answers: {
    200: { description: 'Committed durably.', body: cutOffSchema, headers: preferenceHeaders },
  },
  noStore: true,
} as const

export const cutOffEndpoints = {
  sign_out_user: endpoint({
    ...common,
    method: 'POST',
    path: '/api/wallet/sign-out-user',
    summary: 'End all current access of a user',
    description:
      'Everything that was issued to the user until now is invalid. Credentials and tokens issued later are valid, so the user can sign in again. Name the user as in revoke-user.',
    tag: 'wallet',
    request: { body: revokeUserRequestSchema, headers },
    problems: ['revocation_forbidden', 'site_unknown', 'revocation_view_stale', 'store_unavailable'],
  }),
  revoke_holder: endpoint({
    ...common,
    method: 'POST',
    path: '/api/sites/{site_id}/revoke-holder',
    summary: 'Revoke a stolen holder key',
    description:
      'Permanently invalidates everything that is bound to the key or was delegated through it: credentials, their tokens, and access tokens with a DPoP key.',
    tag: 'administration',
    request: { params, body: revokeHolderRequestSchema, headers },
    problems: ['key_rejected', 'store_unavailable'],
  }),
  cut_off_issuer: endpoint({
    ...common,
    method: 'POST',
    path: '/api/sites/{site_id}/cut-off-issuer',
    summary: 'Invalidate everything that an issuer has signed so far',
    description: 'What the issuer signs later is valid while the site trusts it.',
    tag: 'administration',
    request: { params, body: cutOffIssuerRequestSchema, headers },
    problems: ['store_unavailable'],
  }),
  cut_off_site: endpoint({
    ...common,
    permissions: ['site:admin'],
    method: 'POST',
    path: '/api/sites/{site_id}/cut-off',
    summary: 'Invalidate everything that was issued for the site so far',
    description:
      'The panic button: credentials, access tokens, sign-ins and offers that were not claimed all end. All users need new credentials.',
    tag: 'administration',
    request: { params, body: cutOffSiteRequestSchema, headers },
    problems: ['store_unavailable'],
  }),
}
