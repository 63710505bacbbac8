import * as z from 'zod'
import { label, reason, someScopes, time } from './fields.ts'
import { limits } from './limits.ts'
import {
  audience,
  claimName,
  clientIds,
  oauthIssuerState,
  oauthIssuerUrl,
  requireAtJwt,
  requiredClaims,
  scopeMap,
  tokenTtlSecondsMax,
} from './oauth-issuer-state.ts'
import { issuerStatuses, keySources, signalSubjects, signalTypes } from './vocabulary.ts'

/** For paths: the URL of an OAuth issuer in a path would break proxies. */
export const issuerId = z
  .string()
  .regex(/^iss_[0-9a-f]{26}$/, 'must be the issuer_id of an issuer')
  .meta({
    description: 'The id of the issuer for paths.',
    examples: ['iss_3f8a1c5e7b9d2046f1a3c5e7b9'],
  })

export const keysRefreshedAt = time.nullable().meta({
  description: 'When the keys were last fetched. Null: they are not fetched.',
})

const keySetUrl = z
  .string()
  .max(limits.did_chars_max)
  .regex(/^https?:\/\/[!$&-;=?-Z_a-z~%]+$/, 'must be the https URL of a key set')
  .meta({ description: 'Where the key set (RFC 7517) is fetched.' })

const keySet = z.looseObject({ keys: z.array(z.looseObject({})).min(1).max(limits.key_set_items_max) }).meta({
  description: 'A key set (RFC 7517) with public keys. Keys for encryption and of other types are skipped.',
})

const signalSender = z
  .strictObject({
    type: z.enum(signalTypes),
    issuer: oauthIssuerUrl,
    jwks_uri: keySetUrl.optional(),
    jwks: keySet.optional(),
    audience,
    subject: z.enum(signalSubjects).meta({
      description: 'sub: the subject as in tokens. email_is_user_ref: the email address is the user_ref.',
    }),
  })
  .refine(({ jwks, jwks_uri }) => jwks === undefined || jwks_uri === undefined, {
    path: ['jwks_uri'],
    message: 'must not be sent together with jwks',
  })
  .meta({ id: 'SignalSender' })
export type SignalSender = z.output<typeof signalSender>

/** What callers can set. Defaults apply only when the issuer is added. */
export const oauthMembers = {
  audience,
  client_ids: clientIds,
  jwks_uri: keySetUrl,
  jwks: keySet,
  require_at_jwt: requireAtJwt,
  required_claims: requiredClaims,
  scope_claim: claimName.meta({ description: 'The claim with the scopes. Default: scope.' }),
  scope_map: scopeMap,
  session_claim: claimName
    .nullable()
    .meta({ description: 'The claim that names the session, for example sid. Null: none.' }),
  session_ttl_seconds_max: z
    .int()
    .min(1)
    .max(limits.session_ttl_seconds_max)
    .meta({ description: 'How long sessions of the issuer last at most. Default: 366 days.' }),
  signals: z
    .array(signalSender)
    .max(limits.signal_senders_max)
    .meta({ description: 'Who may send signals about users and sessions of this issuer.' }),
  subject_claim: claimName.meta({ description: 'The claim that names the user. Default: sub.' }),
  token_ttl_seconds_max: tokenTtlSecondsMax,
  user_ref_from_subject: oauthIssuerState.user_ref_from_subject,
}

const changes = z.object(oauthMembers).partial().shape

export const addOAuthIssuerRequestSchema = z
  .strictObject({
    type: z.literal('oauth'),
    issuer: oauthIssuerUrl,
    ...changes,
    audience,
    scope: someScopes.optional().meta({ description: 'The scopes that the issuer may grant. Default: all.' }),
    label: label.optional(),
    reason: reason.optional(),
  })
  .refine(({ jwks, jwks_uri }) => jwks === undefined || jwks_uri === undefined, {
    path: ['jwks_uri'],
    message: 'must not be sent together with jwks',
  })
  .refine(rejectsIdTokens, { path: ['require_at_jwt'], message: needsClaims() })
  .meta({ id: 'AddOAuthIssuerRequest' })
export type AddOAuthIssuerRequest = z.input<typeof addOAuthIssuerRequestSchema>

/** The members of a change that only OAuth issuers have. */
export const oauthChanges = {
  ...changes,
  confirm_new_ids: z.literal(true).optional().meta({
    description:
      'Required to change subject_claim, user_ref_from_subject or a session_claim that is not null: users or sessions then get other ids, and those that were revoked have access again.',
  }),
}

export const oauthIssuerSchema = z
  .strictObject({
    ...oauthIssuerState,
    issuer_id: issuerId,
    session_ttl_seconds_max: oauthMembers.session_ttl_seconds_max,
    signals: oauthMembers.signals,
    key_source: z.enum(keySources).meta({ description: 'Where the keys come from.' }),
    jwks_uri: keySetUrl.nullable().meta({ description: 'Null unless the key set is fetched from there.' }),
    keys_refreshed_at: keysRefreshedAt,
    status: z.enum(issuerStatuses),
    label: label.nullable(),
    created_at: time,
  })
  .meta({ id: 'OAuthIssuer' })
export type OAuthIssuer = z.input<typeof oauthIssuerSchema>

/**
 * Whether ID tokens of the issuer cannot pass for access tokens: by the type of the token, or by
 * claims or clients that only access tokens have.
 */
export function rejectsIdTokens(members: {
  readonly require_at_jwt?: boolean | undefined
  readonly required_claims?: Readonly<Record<string, unknown>> | undefined
  readonly client_ids?: readonly string[] | null | undefined
}): boolean {
  const { require_at_jwt = true, required_claims = {}, client_ids = null } = members
  return require_at_jwt || client_ids !== null || Object.keys(required_claims).length > 0
}

export function needsClaims(): string {
  return 'can be false only with required_claims or client_ids, so that ID tokens are rejected'
}
