import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { credentialId, epoch, feedCursor, ppid, reason, seq, siteId, time } from './fields.ts'
import { idempotencyHeaders, preferenceHeaders, preferHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { claimText, documentedOneUser, namedIssuer, namesOneUser, oneUser, userForms } from './users.ts'
import { credentialStatuses, revocationTypes, verifierStates } from './vocabulary.ts'

const revocationHeaders = z.object({ ...idempotencyHeaders, ...preferHeaders })

export const revokeUserRequestSchema = z
  .strictObject({ ...userForms, site_id: siteId, reason: reason.optional() })
  .refine(namesOneUser, oneUser)
  .meta(documentedOneUser)
export type RevokeUserRequest = z.input<typeof revokeUserRequestSchema>

export const revokeCredentialRequestSchema = z
  .strictObject({
    credential_id: credentialId.optional(),
    issuer: namedIssuer.optional(),
    jti: claimText('An access token of that issuer, by its jti.').optional(),
    session: claimText('A session at that issuer, as in the session claim of its tokens.').optional(),
    site_id: siteId,
    reason: reason.optional(),
  })
  .refine(
    ({ credential_id, issuer, jti, session }) =>
      (issuer === undefined) === (credential_id !== undefined) &&
      [credential_id, jti, session].filter((name) => name !== undefined).length === 1,
    {
      path: ['credential_id'],
      message: 'must be sent, or issuer with jti, or issuer with session, but only one of the three',
    },
  )
  .meta({
    oneOf: [
      { required: ['credential_id'], properties: { issuer: false } },
      { required: ['issuer', 'jti'] },
      { required: ['issuer', 'session'] },
    ],
    dependentRequired: { jti: ['issuer'], session: ['issuer'] },
  })
export type RevokeCredentialRequest = z.input<typeof revokeCredentialRequestSchema>

const instance_id = z
  .string()
  .nullable()
  .meta({ description: 'Null for a reader that declares no instance.' })

const reportedMs = z.int().min(0).nullable()
export const appliedMs = reportedMs.meta({
  description:
    'From at of the entry until the verifier applied it, by its own report: the time at which the report arrived, minus how long ago the verifier had applied the entry. At most too high by the time that the report took. Null if it did not report it.',
})
export const firstDeniedMs = reportedMs.meta({
  description:
    'From at of the entry until the verifier first denied what the entry revoked, by its own report. Null if it has not reported that.',
})

const verifierStateSchema = z
  .strictObject({
    verifier_id: z.string(),
    instance_id,
    state: z.enum(verifierStates),
    seq: seq.meta({ description: 'The last position that it has acknowledged.' }),
    acknowledged_at: time
      .nullable()
      .meta({ description: 'When it first acknowledged this entry or a later one.' }),
    applied_ms: appliedMs,
    first_denied_ms: firstDeniedMs,
    rejects_from: time.nullable().meta({
      description:
        'If it has not acknowledged the entry: the time from which it rejects everything unless it has received the entry. Null if unknown, because it fails open, or is connected and declares no instance.',
    }),
  })
  .meta({ description: 'The state of one verifier.' })

/** Which verifiers have applied an entry. */
export const propagationSchema = z
  .strictObject({
    connected: z.int().min(0).meta({ description: 'Verifiers with an open stream, without observers.' }),
    acknowledged: z.int().min(0).meta({ description: 'How many of them have acknowledged the entry.' }),
    expected: z.int().min(0).meta({
      description:
        'Instances that may still accept with the data they have, and named instances that vanished within 24 hours without closing.',
    }),
    committed_at: time.meta({ description: 'A time read after the entry was committed.' }),
    denied_everywhere_at: time.nullable().meta({
      description:
        'From this time, no guard of the site accepts what the entry revoked, if clocks differ by at most 10 seconds. Null if a verifier fails open.',
    }),
    denied_at_latest: time.meta({
      description:
        'An upper bound for every guard that does not fail open. It relies on signed heads only. An earlier denied_everywhere_at also relies on declarations and acknowledgements of verifiers.',
    }),
    elapsed_ms: z.number().min(0).meta({
      description: 'From at of the entry until the last of them acknowledged it, or until now.',
    }),
    laggards: z
      .array(
        z
          .strictObject({ verifier_id: z.string(), instance_id, seq })
          .meta({ description: 'A verifier and the last position that it has acknowledged.' }),
      )
      .max(limits.laggards_listed_max)
      .meta({
        description: 'Connected verifiers that have not acknowledged the entry, the furthest behind first.',
      }),
    verifiers: z
      .array(verifierStateSchema)
      .max(limits.laggards_listed_max)
      .meta({ description: 'All verifiers with their states, those that have not acknowledged first.' }),
    exceptions: z
      .array(z.strictObject({ verifier_id: z.string(), instance_id, reason: z.literal('fails_open') }))
      .max(limits.laggards_listed_max)
      .meta({ description: 'Verifiers without a known time.' }),
  })
  .meta({ id: 'Propagation' })
export type Propagation = z.input<typeof propagationSchema>

export const revocationSchema = z
  .strictObject({
    success: z.literal(true),
    credential_id: credentialId
      .nullable()
      .meta({ description: 'The newest known credential; null if the service knows none.' }),
    revocation_type: z.enum(revocationTypes),
    credential_ids: z.array(credentialId).meta({ description: 'All known credentials that this revokes.' }),
    already_revoked: z
      .boolean()
      .meta({ description: 'True: everything was revoked before, and this is the first response again.' }),
    revoked_at: time,
    tokens_revoked: z.int().min(0),
    entries: z
      .array(z.strictObject({ ppid, seq, already_revoked: z.boolean() }))
      .optional()
      .meta({ description: 'Of a user: all ids that were revoked together, each with its log entry.' }),
    epoch,
    seq: seq.meta({ description: 'The log entry; the last one if there are several entries.' }),
    propagation: propagationSchema.optional().meta({ description: 'Only with Prefer: wait.' }),
  })
  .meta({ id: 'Revocation' })
export type Revocation = z.input<typeof revocationSchema>

export type ReinstateUserRequest = z.input<typeof revokeUserRequestSchema>

export const reinstatementSchema = z
  .strictObject({
    success: z.literal(true),
    ppid: ppid.meta({ description: 'The user; the first of entries.' }),
    site_id: siteId,
    reinstated_at: time.meta({ description: 'Credentials signed later are valid; older ones stay revoked.' }),
    already_active: z.boolean().meta({
      description:
        'True: the user was not revoked, and nothing changed. False: an entry was appended. After a restore or fail-over, the first reinstatement of a user is always appended, because verifiers may have a revocation that this log has lost.',
    }),
    entries: z
      .array(z.strictObject({ ppid, seq, already_active: z.boolean() }))
      .meta({ description: 'All ids that were reinstated together, each with its log entry.' }),
    epoch,
    seq: seq.meta({ description: 'The last of the log entries.' }),
  })
  .meta({ id: 'Reinstatement' })
export type Reinstatement = z.input<typeof reinstatementSchema>

export const revocationStatusQuerySchema = z
  .strictObject({
    credential_ids: z
      .array(credentialId)
      .min(1)
      .max(limits.status_ids_max)
      .meta({ description: 'Repeated once per credential.' }),
    site_id: siteId.optional(),
    min_seq: feedCursor
      .optional()
      .meta({ description: 'Returns 503 unless the view of site_id has reached this position.' }),
  })
  .refine(({ site_id, min_seq }) => min_seq === undefined || site_id !== undefined, {
    path: ['site_id'],
    message: 'is needed with min_seq',
  })
  .meta({ dependentRequired: { min_seq: ['site_id'] } })

export const revocationStateSchema = z
  .strictObject({
    status: z.enum(credentialStatuses),
    revoked: z
      .boolean()
      .nullable()
      .meta({ description: 'Null if the credential is unknown. An unknown credential may be revoked.' }),
    revoked_at: time.optional(),
    revocation_type: z.enum(revocationTypes).optional().meta({ description: 'For a key of the site only.' }),
    reason: z.string().optional().meta({ description: 'For a key of the site only.' }),
  })
  .refine(({ status, revoked }) => revoked === (status === 'unknown' ? null : status === 'revoked'), {
    path: ['revoked'],
    message: 'must agree with status',
  })
  .meta({ id: 'RevocationState' })
export type RevocationState = z.input<typeof revocationStateSchema>

export const revocationStatusSchema = z
  .strictObject({
    success: z.literal(true),
    as_of: z.strictObject({
      epoch,
      time,
      seq: seq.optional().meta({ description: 'The position of the site named by site_id.' }),
    }),
    statuses: z.record(credentialId, revocationStateSchema),
  })
  .meta({ id: 'RevocationStatus' })
export type RevocationStatus = z.input<typeof revocationStatusSchema>

export const revocationEndpoints = {
  revoke_user: endpoint({
    method: 'POST',
    path: '/api/wallet/revoke-user',
    summary: 'Revoke a user at a site',
    description:
      'Revokes all credentials and access tokens of the user at the site: known ones, those never seen, and new ones until the user is reinstated. ' +
      'Name the user by ppid, by your own user_ref, or by issuer and subject. The node that answers denies before it answers. Requires a key of the site, or the user’s own root credential in X-Service-Credential.',
    tag: 'wallet',
    auth: 'api_key_or_credential',
    permissions: ['credentials:revoke'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    revokes: true,
    request: { body: revokeUserRequestSchema, headers: revocationHeaders },
    answers: {
      200: {
        description: 'Revoked, and committed durably.',
        body: revocationSchema,
        headers: preferenceHeaders,
      },
    },
    problems: ['revocation_forbidden', 'site_unknown', 'store_unavailable'],
    noStore: true,
  }),
  revoke_credential: endpoint({
    method: 'POST',
    path: '/api/wallet/revoke',
    summary: 'Revoke one credential, access token or session',
    description:
      'Name an access token of an OAuth issuer by its jti, or a session by issuer and session. The service need not know it. Requires a key of the site, or the credential itself in X-Service-Credential, delegated or not.',
    tag: 'wallet',
    auth: 'api_key_or_credential',
    permissions: ['credentials:revoke'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    revokes: true,
    request: { body: revokeCredentialRequestSchema, headers: revocationHeaders },
    answers: {
      200: {
        description: 'Revoked, and committed durably.',
        body: revocationSchema,
        headers: preferenceHeaders,
      },
    },
    problems: ['revocation_forbidden', 'site_unknown', 'store_unavailable'],
    noStore: true,
  }),
  reinstate_user: endpoint({
    method: 'POST',
    path: '/api/wallet/reinstate-user',
    summary: 'Reinstate a revoked user',
    description:
      'Credentials and access tokens issued after the reinstatement are valid again. Older ones stay revoked permanently. Name the user as in revoke-user.',
    tag: 'wallet',
    auth: 'api_key',
    permissions: ['credentials:reinstate'],
    rateLimit: 'caller',
    idempotency: 'replayed',
    request: { body: revokeUserRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'Reinstated.', body: reinstatementSchema } },
    problems: ['revocation_forbidden', 'site_unknown', 'revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
  revocation_status: endpoint({
    method: 'GET',
    path: '/api/wallet/revocation-status',
    summary: 'Get the status of credentials',
    description:
      'A repeated id gets one status. With a key of a site, the response covers that site only and includes reason and revocation_type.',
    tag: 'wallet',
    auth: 'api_key_optional',
    rateLimit: 'caller',
    request: { query: revocationStatusQuerySchema, queryLists: ['credential_ids'] },
    answers: { 200: { description: 'One status per id.', body: revocationStatusSchema } },
    problems: ['cursor_malformed', 'revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
}
