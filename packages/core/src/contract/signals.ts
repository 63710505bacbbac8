import * as z from 'zod'
import { JWT_CHARS_MAX } from '../jwt/read.ts'
import { siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { limits } from './limits.ts'

/** Values beside logout_token are ignored (OpenID Connect Back-Channel Logout 1.0 §2.5). */
export const logoutFormSchema = z.object({
  logout_token: z
    .string()
    .optional()
    .meta({ description: 'A logout token: a JWT signed by a registered sender. Required.' }),
})

/** Members of later drafts are ignored. */
export const tokenRevocationRequestSchema = z.object({
  sub_id: z.looseObject({}).meta({
    description: 'A subject identifier (RFC 9493): format iss_sub, email or aliases, or complex with a user.',
    examples: [{ format: 'iss_sub', iss: 'https://idp.example', sub: '248289761001' }],
  }),
})
export type TokenRevocationRequest = z.input<typeof tokenRevocationRequestSchema>

/** The body of an RFC 8935 push: the security event token itself. */
export const securityEventSchema = z.string().min(1).max(JWT_CHARS_MAX).meta({
  description: 'A security event token (RFC 8417): a JWT with typ secevent+jwt and exactly one event.',
})

const params = z.strictObject(siteParams)

const common = {
  method: 'POST',
  tag: 'signals',
  rateLimit: 'failed_presentation',
  noStore: true,
} as const

const signalProblems = [
  'signal_invalid',
  'signal_subject_unmapped',
  'signal_keys_unavailable',
  'auth_ambiguous',
  'revocation_view_stale',
  'store_unavailable',
] as const

const ACKNOWLEDGED =
  'The effect is durable, and this node denies already. A repeated signal gets the same answer and has no second effect.'

export const signalEndpoints = {
  receive_logout: endpoint({
    ...common,
    path: '/api/sites/{site_id}/signals/logout',
    summary: 'Receive a logout of an identity provider',
    description:
      'OpenID Connect Back-Channel Logout 1.0. A logout with sid ends the session, if the issuer has a session_claim; otherwise a logout with sub signs the user out. A user who signs in again has access again.',
    auth: 'none',
    request: { params, form: logoutFormSchema },
    bodyBytesMax: limits.signal_body_bytes_max,
    answers: { 200: { description: ACKNOWLEDGED } },
    problems: signalProblems,
  }),
  receive_token_revocation: endpoint({
    ...common,
    path: '/api/sites/{site_id}/signals/token-revocation',
    summary: 'Receive a global token revocation of an identity provider',
    description:
      'Global Token Revocation, which Okta calls Universal Logout. The sender authenticates with a signed JWT whose aud is the URL of this endpoint. The user is signed out.',
    auth: 'sender_token',
    request: { params, body: tokenRevocationRequestSchema },
    bodyBytesMax: limits.request_body_bytes_small_max,
    answers: { 204: { description: ACKNOWLEDGED } },
    problems: signalProblems,
  }),
  receive_event: endpoint({
    ...common,
    path: '/api/sites/{site_id}/signals/events',
    summary: 'Receive a security event of an identity provider',
    description:
      'RFC 8935 push delivery. session-revoked and sessions-revoked sign the user out; account-disabled and account-purged revoke the user. Other events, such as the verification of a stream, are recorded in the audit and have no effect.',
    auth: 'none',
    request: { params, securityEvent: securityEventSchema },
    bodyBytesMax: JWT_CHARS_MAX,
    answers: { 202: { description: ACKNOWLEDGED } },
    problems: signalProblems,
    errorFormat: 'secevent',
  }),
}
