import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { isRandom256, madeId, RANDOM_256, siteId, time } from './fields.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { personName, personRoles } from './people.ts'
import { codedText } from './validation.ts'
import { sessionDoors } from './vocabulary.ts'

const openSessionRequestSchema = z.strictObject({
  link: codedText('link_invalid', isRandom256, 'must be the secret of a link', {
    pattern: RANDOM_256,
    description: 'What follows #link= in the address of the link.',
  }),
})
export type OpenSessionRequest = z.input<typeof openSessionRequestSchema>

const sessionMembers = {
  session_id: madeId,
  door: z.enum(sessionDoors).meta({ description: 'How the person signed in.' }),
  created_at: time,
  seen_at: time.meta({ description: 'The last use, at most about a minute old.' }),
  expires_at: time.meta({
    description: `The session ends then, and earlier after ${limits.console_idle_seconds / 60} minutes without use.`,
  }),
  elevated_until: time
    .nullable()
    .meta({ description: 'Until when acts are allowed that need a recent sign-in. Null: not any more.' }),
}

export const currentSessionSchema = z
  .strictObject({
    person_id: madeId,
    name: personName,
    roles: personRoles,
    sites: z
      .array(siteId)
      .max(limits.person_roles_max)
      .nullable()
      .meta({ description: 'The sites that the person may open. Null: all sites.' }),
    has_demo_verifiers: z
      .boolean()
      .meta({ description: 'Whether demo verifiers can be started: in development only.' }),
    ...sessionMembers,
  })
  .meta({ id: 'CurrentSession' })
export type CurrentSession = z.input<typeof currentSessionSchema>

const listedSessionSchema = z
  .strictObject({
    ...sessionMembers,
    current: z.boolean().meta({ description: 'The session of this request.' }),
  })
  .meta({ id: 'ConsoleSession' })
export type ListedSession = z.input<typeof listedSessionSchema>

const doorsSchema = z
  .strictObject({
    passkey: z.boolean().meta({ description: 'Whether passkeys can be used at this address.' }),
    oidc: z
      .strictObject({ name: z.string().meta({ description: 'The name of the provider, for people.' }) })
      .nullable()
      .meta({ description: 'The OpenID Connect provider. Null: there is none.' }),
    has_session: z.boolean().meta({
      description: 'Whether this browser has the cookie of a session. The session may have ended.',
    }),
    command_line: z.string().meta({
      description:
        'How commands begin that are copied from the console: `countersign`, or in development what runs it there.',
    }),
  })
  .meta({ id: 'ConsoleDoors' })
export type ConsoleDoors = z.input<typeof doorsSchema>

const personNameSchema = z.strictObject({ person_id: madeId, name: personName }).meta({ id: 'PersonName' })
export type PersonName = z.input<typeof personNameSchema>

const personNamePageSchema = page(personNameSchema).meta({ id: 'PersonNamePage' })

const sessionPageSchema = page(listedSessionSchema).meta({ id: 'SessionPage' })

const demoVerifierSchema = z
  .strictObject({
    verifier_id: z.string().meta({ description: 'Its name in lists and receipts.' }),
    url: z.string().meta({ format: 'uri', description: 'Its protected route.' }),
  })
  .meta({ id: 'DemoVerifier' })

const ofPerson = {
  person_id: madeId.optional().meta({ description: 'Of this person; for operators. Default: your own.' }),
}
const console = { tag: 'console', auth: 'session', rateLimit: 'caller', noStore: true } as const
const cookie = { 'Set-Cookie': 'The cookie of the session.' }

export const consoleEndpoints = {
  list_doors: endpoint({
    ...console,
    auth: 'console',
    method: 'GET',
    path: '/console/doors',
    summary: 'List the ways to sign in to the console',
    description: 'A link is always possible.',
    request: {},
    answers: { 200: { description: 'The ways to sign in.', body: doorsSchema } },
    problems: [],
  }),
  open_session: endpoint({
    ...console,
    auth: 'console',
    method: 'POST',
    path: '/console/session',
    summary: 'Sign in to the console with a link',
    description:
      'Uses the link up, and sets the cookie of a new session. A session that the browser had ends.',
    request: { body: openSessionRequestSchema },
    bodyBytesMax: limits.request_body_bytes_small_max,
    answers: { 201: { description: 'The session.', body: currentSessionSchema, headers: cookie } },
    problems: ['link_invalid', 'store_unavailable'],
  }),
  read_session: endpoint({
    ...console,
    method: 'GET',
    path: '/console/session',
    summary: 'Get the session of this browser',
    request: {},
    answers: { 200: { description: 'The session.', body: currentSessionSchema } },
    problems: ['store_unavailable'],
  }),
  end_session: endpoint({
    ...console,
    method: 'DELETE',
    path: '/console/session',
    summary: 'Sign out of the console',
    request: {},
    answers: { 204: { description: 'Signed out.', headers: cookie } },
    problems: ['store_unavailable'],
  }),
  list_sessions: endpoint({
    ...console,
    method: 'GET',
    path: '/console/sessions',
    summary: 'List sessions of a person',
    request: { query: z.strictObject({ ...pageParameters, ...ofPerson }) },
    answers: { 200: { description: 'A page of sessions.', body: sessionPageSchema } },
    problems: ['cursor_malformed', 'role_insufficient', 'store_unavailable'],
  }),
  end_listed_session: endpoint({
    ...console,
    method: 'DELETE',
    path: '/console/sessions/{session_id}',
    summary: 'End a session of a person',
    description:
      'It ends on every node within two seconds. For a session of another person, a recent sign-in is needed.',
    request: { params: z.strictObject({ session_id: madeId }), query: z.strictObject(ofPerson) },
    answers: { 204: { description: 'Ended.' } },
    problems: ['role_insufficient', 'step_up_required', 'store_unavailable'],
  }),
  list_person_names: endpoint({
    ...console,
    method: 'GET',
    path: '/console/people',
    summary: 'List the names of people in the console',
    description:
      'For operators: of everyone. For others: of operators, and of the people with a role at one of their own sites.',
    request: { query: z.strictObject(pageParameters) },
    answers: { 200: { description: 'A page of names.', body: personNamePageSchema } },
    problems: ['cursor_malformed', 'store_unavailable'],
  }),
  start_demo_verifier: endpoint({
    ...console,
    method: 'POST',
    path: '/console/demo-verifiers',
    summary: 'Start a demo verifier',
    description:
      'For operators, and only where the service was started for development: elsewhere the path does not exist. The verifier is an application with one protected route, on the machine of the service. It ends with the service.',
    request: {},
    answers: { 201: { description: 'The verifier, which follows the demo site.', body: demoVerifierSchema } },
    problems: ['role_insufficient', 'store_unavailable'],
  }),
}
