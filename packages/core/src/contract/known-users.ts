import * as z from 'zod'
import { reading, siteParams } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { epoch, ppid, seq, siteId, time } from './fields.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { userEntryKinds, userStatuses } from './vocabulary.ts'

const userEntrySchema = z
  .strictObject({
    seq,
    kind: z.enum(userEntryKinds),
    at: time,
    reason: z.string().nullable().meta({ description: 'The reason given by the caller.' }),
  })
  .meta({ id: 'UserEntry', description: 'A log entry about a user.' })

const state = {
  status: z.enum(userStatuses).meta({ description: 'Revoked: nothing of this user is accepted.' }),
  revoked_at: time.nullable().meta({ description: 'Since when the user is revoked.' }),
  reason: z.string().nullable().meta({ description: 'Why the user is revoked, if a reason was given.' }),
}

export const knownUserSchema = z
  .strictObject({
    ppid,
    ...state,
    last_entry: userEntrySchema.meta({ description: 'The last log entry about the user.' }),
  })
  .meta({ id: 'KnownUser' })
export type KnownUser = z.input<typeof knownUserSchema>

export const userPageSchema = page(knownUserSchema).meta({ id: 'UserPage' })
export type UserPage = z.input<typeof userPageSchema>

/** A count that stops at a maximum, so that it needs little time. */
export function boundedCount(description: string) {
  return z
    .strictObject({
      count: z.int().min(0),
      complete: z.boolean().meta({ description: 'False: there are more, which were not counted.' }),
    })
    .meta({ description })
}

export const userDetailSchema = z
  .strictObject({
    site_id: siteId,
    ppid,
    ...state,
    credentials: boundedCount('Known credentials of the user with the status active.'),
    tokens: boundedCount('Bearer tokens of the user with the status active.'),
    history: z
      .array(userEntrySchema)
      .max(limits.user_entries_listed_max)
      .meta({ description: 'The log entries about the user, the newest first.' }),
    history_complete: z.boolean().meta({ description: 'False: there are older entries.' }),
    epoch,
    seq: seq.meta({ description: 'The head of the log that the response is based on.' }),
  })
  .meta({ id: 'UserDetail' })
export type UserDetail = z.input<typeof userDetailSchema>

export const userListQuerySchema = z.strictObject({
  ...pageParameters,
  status: z.enum(userStatuses).optional(),
})

export const knownUserEndpoints = {
  list_users: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/users',
    summary: 'List the users that the log names',
    description:
      'Users who were revoked, reinstated or signed out; the last change first. Other users are active, and the service does not list them.',
    request: { params: z.strictObject(siteParams), query: userListQuerySchema },
    answers: { 200: { description: 'A page of users.', body: userPageSchema } },
    problems: ['cursor_malformed', 'revocation_view_stale', 'store_unavailable'],
  }),
  get_user: endpoint({
    ...reading,
    method: 'GET',
    path: '/api/sites/{site_id}/users/{ppid}',
    summary: 'Get the state and the history of a user',
    description:
      'Get the ppid of a user from users/resolve. The response is the same for a user who does not exist and for a user without log entries.',
    request: { params: z.strictObject({ ...siteParams, ppid }) },
    answers: { 200: { description: 'The user.', body: userDetailSchema } },
    problems: ['revocation_view_stale', 'store_unavailable'],
  }),
}
