import * as z from 'zod'
import { administration } from './administration.ts'
import { endpoint } from './endpoint.ts'
import { madeId, reason, shownName, siteId, time } from './fields.ts'
import { idempotencyHeaders } from './headers.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { consoleRoles, personStatuses } from './vocabulary.ts'

const personRole = z
  .strictObject({
    site_id: siteId.nullable().meta({ description: 'Null for an operator, whose role is for all sites.' }),
    role: z.enum(consoleRoles),
  })
  .refine(
    (given) => (given.role === 'operator') === (given.site_id === null),
    'must have a site, unless the role is operator',
  )

export const personRoles = z
  .array(personRole)
  .max(limits.person_roles_max)
  .refine(
    (roles) => new Set(roles.map(({ site_id }) => site_id)).size === roles.length,
    'must have at most one role for each site',
  )
  .meta({ description: 'One role for each site, or operator for all sites. A change replaces the list.' })

export const personName = shownName(limits.label_chars_max, 'The name of the person, for people.')

const createPersonRequestSchema = z.strictObject({
  name: personName,
  roles: personRoles,
  reason: reason.optional(),
})
export type CreatePersonRequest = z.input<typeof createPersonRequestSchema>

const changePersonRequestSchema = z.strictObject({
  name: personName.optional(),
  roles: personRoles.optional(),
  status: z.enum(personStatuses).optional().meta({
    description: 'ended: the sessions and links of the person end, on every node within two seconds.',
  }),
  reason: reason.optional(),
})
export type ChangePersonRequest = z.input<typeof changePersonRequestSchema>

const personSchema = z
  .strictObject({
    person_id: madeId,
    name: personName,
    roles: personRoles,
    status: z.enum(personStatuses),
    created_at: time,
  })
  .meta({ id: 'Person' })
export type Person = z.input<typeof personSchema>

const personPageSchema = page(personSchema).meta({ id: 'PersonPage' })
export type PersonPage = z.input<typeof personPageSchema>

const consoleLinkSchema = z
  .strictObject({
    url: z.string().meta({
      format: 'uri',
      description: 'Opens a session of the person, once. The secret is in the fragment.',
    }),
    expires_at: time,
  })
  .meta({ id: 'ConsoleLink' })
export type ConsoleLink = z.input<typeof consoleLinkSchema>

const operators = { ...administration, auth: 'operator_key', permissions: [] } as const
const params = z.strictObject({ person_id: madeId })

export const peopleEndpoints = {
  create_person: endpoint({
    ...operators,
    method: 'POST',
    path: '/api/people',
    summary: 'Add a person who may use the console',
    idempotency: 'replayed',
    request: { body: createPersonRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 201: { description: 'The person.', body: personSchema } },
    problems: ['site_unknown', 'store_unavailable'],
  }),
  list_people: endpoint({
    ...operators,
    method: 'GET',
    path: '/api/people',
    summary: 'List the people who may use the console',
    description: 'Includes people whose access has ended, for about a year.',
    request: { query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of people.', body: personPageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  change_person: endpoint({
    ...operators,
    method: 'PATCH',
    path: '/api/people/{person_id}',
    summary: 'Change the name, the roles or the status of a person',
    description:
      'Members that are not sent do not change. Ending a person ends their sessions. API keys that the person has created stay valid: delete them separately.',
    idempotency: 'replayed',
    request: { params, body: changePersonRequestSchema, headers: z.object(idempotencyHeaders) },
    answers: { 200: { description: 'The person as they are now.', body: personSchema } },
    problems: ['site_unknown', 'own_access', 'store_unavailable'],
  }),
  create_console_link: endpoint({
    ...operators,
    method: 'POST',
    path: '/api/people/{person_id}/links',
    summary: 'Create a one-time link with which a person signs in',
    description: `The link is valid for ${limits.console_link_seconds} seconds, once. It replaces the links that the person had before.`,
    idempotency: 'secret',
    request: { params, headers: z.object(idempotencyHeaders) },
    answers: { 201: { description: 'The link. It is shown only once.', body: consoleLinkSchema } },
    problems: ['own_access', 'store_unavailable'],
  }),
}
