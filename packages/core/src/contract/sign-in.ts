import * as z from 'zod'
import { presentedCredentialSchema } from './access-credential.ts'
import { endpoint, presentationProblems } from './endpoint.ts'
import {
  chainMembers,
  credentialId,
  isRandom256,
  line,
  permissionId,
  ppid,
  RANDOM_256,
  scopeList,
  siteId,
  someScopes,
  time,
  uiLocales,
} from './fields.ts'
import { limits } from './limits.ts'
import { parseReturnUrl } from './urls.ts'
import { codedText } from './validation.ts'

export const returnUrlSchema = codedText(
  'redirect_not_allowed',
  (value) => parseReturnUrl(value) !== undefined,
  'must be a canonical https URL, or http on loopback, without user name or fragment',
  { format: 'uri', maxLength: limits.return_url_chars_max, examples: ['https://app.example/callback'] },
)

const state = codedText('state_invalid', isRandom256, 'must be the state of a sign-in', {
  pattern: RANDOM_256,
})

const signInMembers = {
  site_id: siteId,
  return_url: returnUrlSchema.meta({ description: 'A registered URL of the site, byte by byte.' }),
  client_state: line(limits.client_state_chars_max, 'Returned as state.').optional(),
  code_challenge: z.string().regex(new RegExp(RANDOM_256), 'must be a SHA-256 in base64url (RFC 7636)'),
  code_challenge_method: z.literal('S256'),
  ui_locales: uiLocales,
}

export const signInRequestSchema = z.strictObject({
  ...signInMembers,
  requested_scope: someScopes.optional(),
})
export type SignInRequest = z.input<typeof signInRequestSchema>

export const signInQuerySchema = z.strictObject({
  ...signInMembers,
  requested_scope: z
    .string()
    .transform((value) => value.split(' '))
    .pipe(someScopes)
    .optional()
    .meta({ description: 'Scopes, separated by one space.' }),
})

export const signInStartedSchema = z
  .strictObject({
    state,
    auth_url: z.string().meta({ format: 'uri' }),
    expires_in: z.literal(limits.sign_in_state_seconds),
  })
  .meta({ id: 'SignInStarted' })
export type SignInStarted = z.input<typeof signInStartedSchema>

export const presentRequestSchema = z.strictObject({ state, credential: presentedCredentialSchema })
export type PresentRequest = z.input<typeof presentRequestSchema>

/** For a page without JavaScript: the credential as text from the user. */
export const presentFormSchema = z.strictObject({
  state,
  credential: z.string().meta({ description: 'The signed credential as JSON or as in the header.' }),
  csrf_token: z.string().optional(),
  ui_locales: uiLocales,
})

export const presentedSchema = z
  .strictObject({
    callback_url: z.string().meta({ format: 'uri', description: 'The next URL for the page.' }),
  })
  .meta({ id: 'Presented' })
export type Presented = z.input<typeof presentedSchema>

/** Either the payload of a presentation, or an error because the user cancelled. */
export const callbackParametersSchema = z
  .strictObject({
    state,
    payload: z
      .string()
      .optional()
      .meta({ description: 'Opaque and valid once. Checked after the state is consumed.' }),
    error: z.literal('access_denied').optional().meta({ description: 'The user cancelled the sign-in.' }),
  })
  .refine(({ payload, error }) => (payload === undefined) !== (error === undefined), {
    path: ['payload'],
    message: 'must be sent, or error, but not both',
  })
  .meta({ oneOf: [{ required: ['payload'] }, { required: ['error'] }] })

export const signInResultRequestSchema = z.strictObject({
  code: codedText('code_invalid', isRandom256, 'must be the code of a sign-in', { pattern: RANDOM_256 }),
  code_verifier: codedText(
    'code_invalid',
    (value) => /^[A-Za-z0-9._~-]{43,128}$/.test(value),
    'must be a code verifier (RFC 7636)',
    {
      pattern: '^[A-Za-z0-9._~-]{43,128}$',
    },
  ),
})
export type SignInResultRequest = z.input<typeof signInResultRequestSchema>

export const signInResultSchema = z
  .strictObject({
    ppid,
    site_id: siteId,
    scope: scopeList.meta({
      description: 'The requested scopes; if none were requested, all scopes of the credential.',
    }),
    permission_id: permissionId,
    credential_id: credentialId,
    verified_at: time,
    expires_at: time,
    issuer: z.string().meta({ description: 'The DID that signed the root of the credential.' }),
    oldest_created_at: time.meta({
      description: 'When the oldest credential of the chain was signed. A cut-off compares this time.',
    }),
    ...chainMembers,
  })
  .meta({ id: 'SignInResult' })
export type SignInResult = z.input<typeof signInResultSchema>

export const signInPageQuerySchema = z.strictObject({ state, ui_locales: uiLocales })

const callback = {
  path: '/auth/sdk-callback',
  summary: 'Finish a sign-in and return to the integration',
  tag: 'sign-in',
  auth: 'none',
  rateLimit: 'caller',
  answers: {
    303: {
      description:
        'Redirects to return_url with code, state and iss, or with error, error_description, state and iss.',
      headers: {
        Location: 'The return URL.',
        'Referrer-Policy': 'no-referrer',
        'Content-Security-Policy': 'With frame-ancestors none.',
      },
    },
  },
  problems: [
    'state_invalid',
    'callback_invalid',
    'redirect_not_allowed',
    'revocation_view_stale',
    'store_unavailable',
  ],
  noStore: true,
  errorFormat: 'page',
} as const

export const signInEndpoints = {
  start_sign_in: endpoint({
    method: 'POST',
    path: '/auth/sdk-request',
    summary: 'Start a hosted sign-in',
    tag: 'sign-in',
    auth: 'none',
    rateLimit: 'sign_in_start',
    request: { body: signInRequestSchema },
    answers: { 201: { description: 'Send the browser to auth_url.', body: signInStartedSchema } },
    problems: ['redirect_not_allowed', 'site_unknown', 'store_unavailable'],
    noStore: true,
  }),
  start_sign_in_by_link: endpoint({
    method: 'GET',
    path: '/auth/sdk-request',
    summary: 'Start a hosted sign-in from a link',
    description:
      'The service never redirects to a return_url that is not registered. It shows a page instead.',
    tag: 'sign-in',
    auth: 'none',
    rateLimit: 'sign_in_start',
    request: { query: signInQuerySchema },
    answers: {
      303: { description: 'Redirects to the sign-in page.', headers: { Location: 'The sign-in page.' } },
    },
    problems: ['redirect_not_allowed', 'site_unknown', 'store_unavailable'],
    noStore: true,
    errorFormat: 'page',
  }),
  sign_in_page: endpoint({
    method: 'GET',
    path: '/auth/sign-in',
    summary: 'Show the sign-in page (auth_url)',
    description:
      'A cookie binds the sign-in to the first browser that opens the page. For other browsers the state is state_invalid.',
    tag: 'sign-in',
    auth: 'none',
    rateLimit: 'caller',
    request: { query: signInPageQuerySchema },
    answers: {
      200: {
        description: 'A page.',
        mediaType: 'text/html',
        headers: {
          'Set-Cookie': 'Binds the browser.',
          'Referrer-Policy': 'no-referrer',
          'Content-Security-Policy': 'With frame-ancestors none.',
        },
      },
    },
    problems: ['state_invalid', 'redirect_not_allowed', 'store_unavailable'],
    noStore: true,
    errorFormat: 'page',
  }),
  present: endpoint({
    method: 'POST',
    path: '/auth/present',
    summary: 'Present a credential, from the sign-in page',
    description:
      'A rejected credential does not consume the state. There are ten tries; tries_left is the number of remaining ones. A form without a credential is not counted. JSON faults inside the member credential are credential_malformed, elsewhere ' +
      'request_malformed. A holder-bound credential needs an RFC 9421 signature of this request.',
    tag: 'sign-in',
    auth: 'page',
    rateLimit: 'caller',
    request: { body: presentRequestSchema, form: presentFormSchema },
    answers: {
      200: { description: 'Accepted.', body: presentedSchema },
      303: {
        description: 'Accepted, for a form. Redirects to the callback.',
        headers: { Location: 'The callback.' },
      },
    },
    problems: [...presentationProblems, 'state_invalid', 'store_unavailable'],
    noStore: true,
    errorFormat: 'page',
  }),
  sign_in_callback: endpoint({ ...callback, method: 'GET', request: { query: callbackParametersSchema } }),
  sign_in_callback_by_form: endpoint({
    ...callback,
    method: 'POST',
    request: { form: callbackParametersSchema },
    bodyBytesMax: limits.request_body_bytes_small_max,
  }),
  sign_in_result: endpoint({
    method: 'POST',
    path: '/auth/sdk-result',
    summary: 'Redeem the code of a sign-in',
    tag: 'sign-in',
    auth: 'none',
    rateLimit: 'caller',
    request: { body: signInResultRequestSchema },
    bodyBytesMax: limits.request_body_bytes_small_max,
    answers: { 200: { description: 'The signed-in user. A code works once.', body: signInResultSchema } },
    problems: ['code_invalid', 'store_unavailable'],
    noStore: true,
  }),
}
