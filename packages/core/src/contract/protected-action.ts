import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { credentialId, epoch, line, permissionId, ppid, scopeList, seq, siteId, time } from './fields.ts'
import { limits } from './limits.ts'
import { oauthIssuerUrl } from './oauth-issuer-state.ts'
import { presentations } from './vocabulary.ts'

export const protectedActionRequestSchema = z.strictObject({
  action: line(limits.action_chars_max, 'Returned in the response.').nullable().optional(),
})
export type ProtectedActionRequest = z.input<typeof protectedActionRequestSchema>

/** The accepted user and what the credential grants. */
export const subjectSchema = z
  .strictObject({
    ppid,
    site_id: siteId,
    scope: scopeList,
    credential_id: credentialId,
    permission_id: permissionId,
    expires_at: time,
  })
  .meta({ id: 'Subject' })
export type SubjectBody = z.input<typeof subjectSchema>

const claim = z.string().min(1).max(256)

/** What an OAuth issuer calls the user and the token. */
export const oauthTokenSchema = z
  .strictObject({
    issuer: oauthIssuerUrl.meta({ description: 'iss of the token.' }),
    subject: claim.meta({
      description: 'The user, as the issuer calls it: sub, or the subject_claim of the issuer.',
    }),
    client_id: claim.nullable().meta({ description: 'client_id or azp; null if the token has neither.' }),
    jti: claim.nullable().meta({ description: 'jti; null if the token has none.' }),
  })
  .meta({
    id: 'OauthToken',
    description: 'Facts of an access token of an OAuth issuer, as the issuer wrote them.',
  })
export type OauthToken = z.input<typeof oauthTokenSchema>

/** The log position and age of the revocation data behind a decision. */
export const viewStampSchema = z
  .strictObject({ epoch, seq, age_ms: z.number().min(0) })
  .meta({ id: 'ViewStamp' })

export const protectedActionAnswerSchema = z
  .strictObject({
    allowed: z.literal(true),
    action: z.string().nullable(),
    subject: subjectSchema,
    presented: z.enum(presentations),
    token: oauthTokenSchema.optional().meta({ description: 'Only if presented is jwt.' }),
    view: viewStampSchema,
  })
  .meta({ id: 'ProtectedAction' })
export type ProtectedActionAnswer = z.input<typeof protectedActionAnswerSchema>

export const protectedEndpoints = {
  protected_action: endpoint({
    method: 'POST',
    path: '/api/protected/action',
    summary: 'The reference protected route',
    description:
      'Decides like a guard of the SDK. Site and required scope come from the configuration of the service, never from the request. ' +
      'Faults of the credential header are credential_malformed; faults of the body are request_malformed.',
    tag: 'protected',
    auth: 'credential',
    rateLimit: 'failed_presentation',
    request: { body: protectedActionRequestSchema, bodyOptional: true },
    answers: { 200: { description: 'The request is accepted.', body: protectedActionAnswerSchema } },
    problems: ['store_unavailable'],
    noStore: true,
  }),
}
