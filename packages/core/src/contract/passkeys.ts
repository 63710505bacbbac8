import * as z from 'zod'
import { currentSessionSchema } from './console.ts'
import { endpoint } from './endpoint.ts'
import { madeId, shownName, time } from './fields.ts'
import { limits } from './limits.ts'
import { page, pageParameters } from './paging.ts'
import { codedText } from './validation.ts'

const BASE64URL = /^[A-Za-z0-9_-]+$/

/** Bytes that an authenticator has made, in base64url. */
function authenticatorBytes(charsMax: number, description: string) {
  return codedText(
    'passkey_invalid',
    (value) => value.length <= charsMax && BASE64URL.test(value),
    'must be base64url without padding',
    { pattern: BASE64URL.source, maxLength: charsMax, description },
  )
}

const credentialId = authenticatorBytes(
  limits.passkey_id_chars_max,
  'The id that the authenticator has given to the passkey.',
)
const clientData = authenticatorBytes(limits.passkey_bytes_chars_max, 'clientDataJSON of the browser.')
const challenge = z
  .string()
  .regex(BASE64URL)
  .meta({ description: 'Valid once, until expires_at, for this purpose and session.' })
const rpId = z.string().meta({ description: 'The host name that the passkey is bound to.' })

const passkeyName = shownName(limits.label_chars_max, 'The name of the passkey, for its person.')

const assertionSchema = z
  .strictObject({
    credential_id: credentialId,
    client_data: clientData,
    authenticator_data: authenticatorBytes(
      limits.passkey_bytes_chars_max,
      'authenticatorData of the response.',
    ),
    signature: authenticatorBytes(limits.passkey_bytes_chars_max, 'The signature of the authenticator.'),
    user_handle: authenticatorBytes(limits.passkey_bytes_chars_max, 'userHandle of the response.'),
  })
  .meta({ id: 'PasskeyAssertion' })
export type PasskeyAssertion = z.input<typeof assertionSchema>

const addPasskeyRequestSchema = z.strictObject({
  name: passkeyName,
  client_data: clientData,
  attestation: authenticatorBytes(limits.passkey_bytes_chars_max, 'attestationObject of the response.'),
})
export type AddPasskeyRequest = z.input<typeof addPasskeyRequestSchema>

const renamePasskeyRequestSchema = z.strictObject({ name: passkeyName })
export type RenamePasskeyRequest = z.input<typeof renamePasskeyRequestSchema>

const assertionChallengeSchema = z
  .strictObject({
    challenge,
    rp_id: rpId,
    credential_ids: z
      .array(credentialId)
      .max(limits.passkeys_per_person_max)
      .meta({ description: 'The passkeys that may answer. Empty: every passkey for this host name.' }),
    expires_at: time,
  })
  .meta({ id: 'PasskeyChallenge' })
export type PasskeyChallenge = z.input<typeof assertionChallengeSchema>

const newPasskeySchema = z
  .strictObject({
    challenge,
    rp_id: rpId,
    user_handle: z.string().regex(BASE64URL).meta({ description: 'The person, for the authenticator.' }),
    user_name: z.string().meta({ description: 'What the authenticator shows beside the passkey.' }),
    algorithms: z
      .array(z.int())
      .min(1)
      .max(8)
      .meta({ description: 'The COSE algorithms that are accepted, the preferred one first.' }),
    credential_ids: z
      .array(credentialId)
      .max(limits.passkeys_per_person_max)
      .meta({ description: 'The passkeys that the person has. Their authenticators make no second one.' }),
    expires_at: time,
  })
  .meta({ id: 'NewPasskeyChallenge' })
export type NewPasskeyChallenge = z.input<typeof newPasskeySchema>

const passkeySchema = z
  .strictObject({
    passkey_id: madeId,
    name: passkeyName,
    rp_id: rpId,
    created_at: time,
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Passkey' })
export type Passkey = z.input<typeof passkeySchema>

const passkeyPageSchema = page(passkeySchema).meta({ id: 'PasskeyPage' })

const console = { tag: 'console', auth: 'session', rateLimit: 'caller', noStore: true } as const
const cookie = { 'Set-Cookie': 'The cookie of the session.' }
const params = z.strictObject({ passkey_id: madeId })
const ofPerson = {
  person_id: madeId.optional().meta({ description: 'Of this person; for operators. Default: your own.' }),
}

export const passkeyEndpoints = {
  start_passkey_sign_in: endpoint({
    ...console,
    auth: 'console',
    method: 'POST',
    path: '/console/session/challenge',
    summary: 'Get a challenge for signing in with a passkey',
    description: `The challenge is valid for ${limits.passkey_challenge_seconds / 60} minutes, once.`,
    request: {},
    answers: { 200: { description: 'The challenge.', body: assertionChallengeSchema } },
    problems: ['passkey_unavailable'],
  }),
  open_session_with_passkey: endpoint({
    ...console,
    auth: 'console',
    method: 'POST',
    path: '/console/session/passkey',
    summary: 'Sign in to the console with a passkey',
    description: 'Sets the cookie of a new session. A session that the browser had ends.',
    request: { body: assertionSchema },
    answers: { 201: { description: 'The session.', body: currentSessionSchema, headers: cookie } },
    problems: ['passkey_unavailable', 'passkey_invalid', 'store_unavailable'],
  }),
  start_step_up: endpoint({
    ...console,
    method: 'POST',
    path: '/console/session/step-up/challenge',
    summary: 'Get a challenge for confirming a session with a passkey',
    description: 'Not found when the person has no passkey for this host name.',
    request: {},
    answers: { 200: { description: 'The challenge.', body: assertionChallengeSchema } },
    problems: ['passkey_unavailable', 'store_unavailable'],
  }),
  step_up: endpoint({
    ...console,
    method: 'POST',
    path: '/console/session/step-up',
    summary: 'Confirm a session with a passkey',
    description: `For ${limits.console_elevated_seconds / 60} minutes the session may do what needs a recent sign-in. It gets a new id and a new cookie, and ends when it would have ended.`,
    request: { body: assertionSchema },
    answers: { 200: { description: 'The session.', body: currentSessionSchema, headers: cookie } },
    problems: ['passkey_unavailable', 'passkey_invalid', 'store_unavailable'],
  }),
  start_passkey: endpoint({
    ...console,
    method: 'POST',
    path: '/console/passkeys/challenge',
    summary: 'Get a challenge for adding a passkey',
    description: `Needs a recent sign-in. A person has at most ${limits.passkeys_per_person_max} passkeys.`,
    request: {},
    answers: { 200: { description: 'What the browser needs to create it.', body: newPasskeySchema } },
    problems: ['passkey_unavailable', 'step_up_required', 'store_unavailable'],
  }),
  add_passkey: endpoint({
    ...console,
    method: 'POST',
    path: '/console/passkeys',
    summary: 'Add a passkey',
    description: 'Needs a recent sign-in.',
    request: { body: addPasskeyRequestSchema },
    answers: { 201: { description: 'The passkey.', body: passkeySchema } },
    problems: [
      'passkey_unavailable',
      'passkey_invalid',
      'step_up_required',
      'already_exists',
      'store_unavailable',
    ],
  }),
  list_passkeys: endpoint({
    ...console,
    method: 'GET',
    path: '/console/passkeys',
    summary: 'List passkeys of a person',
    request: { query: z.strictObject({ ...pageParameters, ...ofPerson }) },
    answers: { 200: { description: 'A page of passkeys.', body: passkeyPageSchema } },
    problems: ['cursor_malformed', 'role_insufficient', 'store_unavailable'],
  }),
  rename_passkey: endpoint({
    ...console,
    method: 'PATCH',
    path: '/console/passkeys/{passkey_id}',
    summary: 'Rename a passkey',
    request: { params, body: renamePasskeyRequestSchema },
    answers: { 200: { description: 'The passkey as it is now.', body: passkeySchema } },
    problems: ['store_unavailable'],
  }),
  remove_passkey: endpoint({
    ...console,
    method: 'DELETE',
    path: '/console/passkeys/{passkey_id}',
    summary: 'Remove a passkey of a person',
    description:
      'The sessions that were opened with it end, on every node within two seconds. Other sessions of the person need a new sign-in for what needs a recent one.',
    request: { params, query: z.strictObject(ofPerson) },
    answers: { 204: { description: 'Removed.' } },
    problems: ['role_insufficient', 'step_up_required', 'store_unavailable'],
  }),
}
