import * as z from 'zod'
import { CLAIM_CHARS_MAX } from '../jwt/claims.ts'
import { administration, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { epoch, ppid, seq, siteId, time, userRef } from './fields.ts'
import { idempotencyHeaders } from './headers.ts'
import { oauthIssuerUrl } from './oauth-issuer-state.ts'
import { userStatuses } from './vocabulary.ts'

/** A claim of a token, as its issuer wrote it. */
export function claimText(description: string) {
  return z
    .string()
    .min(1)
    .max(CLAIM_CHARS_MAX)
    .refine((value) => value.isWellFormed(), 'must be valid Unicode')
    .meta({ description })
}

/** The OAuth issuer of a token or user that a request names. */
export const namedIssuer = oauthIssuerUrl.meta({
  description: 'The issuer, as iss of its tokens. The site need not trust it any more.',
})

/** The members that name a user. `namesOneUser` checks that exactly one form was sent. */
export const userForms = {
  ppid: ppid.optional(),
  user_ref: userRef
    .meta({
      description:
        'The site’s own id of the user: the user of its credentials, and of OAuth issuers that use the same id. Not stored.',
    })
    .optional(),
  issuer: namedIssuer.optional(),
  subject: claimText('The user of that issuer, as in the subject claim of its tokens.').optional(),
}

interface NamedUser {
  readonly ppid?: string | undefined
  readonly user_ref?: string | undefined
  readonly issuer?: string | undefined
  readonly subject?: string | undefined
}

export function namesOneUser({ ppid: given, user_ref, issuer, subject }: NamedUser): boolean {
  if ((issuer === undefined) !== (subject === undefined)) return false
  return [given, user_ref, subject].filter((name) => name !== undefined).length === 1
}

export const oneUser = {
  path: ['ppid'],
  message: 'must be sent, or user_ref, or issuer with subject, but only one of the three',
}

export const documentedOneUser = {
  oneOf: [{ required: ['ppid'] }, { required: ['user_ref'] }, { required: ['issuer', 'subject'] }],
  dependentRequired: { issuer: ['subject'], subject: ['issuer'] },
}

export const resolveUserRequestSchema = z
  .strictObject(userForms)
  .refine(namesOneUser, oneUser)
  .meta(documentedOneUser)
export type ResolveUserRequest = z.input<typeof resolveUserRequestSchema>

export const resolvedUserSchema = z
  .strictObject({
    site_id: siteId,
    users: z
      .array(
        z.strictObject({
          ppid,
          status: z.enum(userStatuses).meta({ description: 'Revoked: nothing of this user is accepted.' }),
          revoked_at: time.optional().meta({ description: 'Since when the user is revoked.' }),
        }),
      )
      .meta({ description: 'All ids of the user at this site. The first is the one that was named.' }),
    epoch,
    seq,
  })
  .meta({ id: 'ResolvedUser' })
export type ResolvedUser = z.input<typeof resolvedUserSchema>

export const eraseUserRequestSchema = z
  .strictObject({
    ...userForms,
    dry_run: z
      .boolean()
      .optional()
      .meta({ description: 'True: only count what would be erased, and change nothing. Default: false.' }),
  })
  .refine(namesOneUser, oneUser)
  .meta(documentedOneUser)
export type EraseUserRequest = z.input<typeof eraseUserRequestSchema>

const count = (description: string) => z.int().min(0).meta({ description })

export const erasedUserSchema = z
  .strictObject({
    success: z.literal(true),
    dry_run: z.boolean(),
    site_id: siteId,
    ppids: z.array(ppid).meta({ description: 'All ids of the user at this site.' }),
    credentials: count('Known credentials that were removed.'),
    tokens: count('Access tokens that were removed.'),
    offers: count('Offers that were removed.'),
    presentations: count('Credentials shown for a sign-in that were removed.'),
    audit_rows: count('Audit rows in which the person was replaced.'),
    epoch,
    seq: seq.meta({ description: 'The log entry of the sign-out; for a dry run, the head.' }),
  })
  .meta({ id: 'ErasedUser' })
export type ErasedUser = z.input<typeof erasedUserSchema>

export const userEndpoints = {
  erase_user: endpoint({
    ...administration,
    method: 'POST',
    path: '/api/sites/{site_id}/users/erase',
    summary: 'Erase the data of a user',
    description:
      'Signs the user out, then removes the known credentials, tokens, offers and sign-ins of the user, and the person from the audit log. ' +
      'The log keeps the pairwise ids, so that revocations stay in effect. A revoked user stays revoked. Name the user as in revoke-user. Cannot be undone.',
    idempotency: 'replayed',
    request: {
      params: z.strictObject(siteParams),
      body: eraseUserRequestSchema,
      headers: z.object(idempotencyHeaders),
    },
    answers: { 200: { description: 'Erased, or counted.', body: erasedUserSchema } },
    problems: ['revocation_view_stale', 'store_unavailable'],
  }),
  resolve_user: endpoint({
    method: 'POST',
    path: '/api/sites/{site_id}/users/resolve',
    summary: 'Get the ids of a user',
    description:
      'The ids under which the log revokes this user, with their state. A user_ref has two: one of credentials, one of OAuth tokens. Changes nothing. The response is the same for users who do not exist.',
    tag: 'administration',
    auth: 'api_key',
    permissions: ['credentials:revoke', 'credentials:reinstate', 'site:read', 'site:admin'],
    rateLimit: 'caller',
    request: { params: z.strictObject(siteParams), body: resolveUserRequestSchema },
    answers: { 200: { description: 'The ids.', body: resolvedUserSchema } },
    problems: ['revocation_view_stale', 'store_unavailable'],
    noStore: true,
  }),
}
