import * as z from 'zod'
import { endpoint } from './endpoint.ts'
import { isRandom256, RANDOM_256 } from './fields.ts'
import { limits } from './limits.ts'
import { logoutFormSchema } from './signals.ts'
import { codedText } from './validation.ts'

/**
 * A path of the console, with a query if it has one, as the URL parser writes it. So it names no
 * other host, and no path outside of the pages.
 */
function isConsolePath(value: string): boolean {
  if (value.length > limits.console_return_chars_max || !/^\/console(?:[/?][\x21-\x7e]*)?$/.test(value))
    return false
  const here = 'https://console.example'
  if (!URL.canParse(value, here)) return false
  const { origin, pathname, search } = new URL(value, here)
  const isPage = pathname === '/console' || pathname.startsWith('/console/')
  return origin === here && isPage && pathname + search === value && !/^\/console\/(?:api|oidc)\//.test(value)
}

const startQuerySchema = z.strictObject({
  return: z
    .string()
    .refine(isConsolePath, 'must be a path of the console, such as /console/users')
    .default('/console')
    .meta({
      maxLength: limits.console_return_chars_max,
      description: 'The page to open after the sign-in.',
      examples: ['/console/users?status=revoked'],
    }),
  step_up: z
    .literal('1')
    .optional()
    .meta({ description: 'The provider asks the person who is signed in to authenticate once more.' }),
})

/** Providers may add parameters, such as session_state, which are ignored. */
const callbackQuerySchema = z.object({
  state: codedText('state_invalid', isRandom256, 'must be the state of a sign-in', { pattern: RANDOM_256 }),
  code: z.string().max(limits.provider_code_chars_max).optional(),
  iss: z.string().max(limits.did_chars_max).optional().meta({ description: 'The issuer (RFC 9207).' }),
  error: z.string().max(limits.label_chars_max).optional().meta({ description: 'Sent instead of a code.' }),
})

const provider = { tag: 'console', auth: 'none', noStore: true } as const
const page = { ...provider, errorFormat: 'page' } as const

export const consoleProviderEndpoints = {
  start_provider_sign_in: endpoint({
    ...page,
    rateLimit: 'sign_in_start',
    method: 'GET',
    path: '/console/oidc/start',
    summary: 'Sign in to the console with the identity provider',
    description: 'For browsers. Sets a cookie for ten minutes that binds the sign-in to this browser.',
    request: { query: startQuerySchema },
    answers: {
      303: {
        description: 'Redirects to the identity provider.',
        headers: { Location: 'The provider.', 'Set-Cookie': 'The cookie of the sign-in.' },
      },
    },
    problems: ['csrf_invalid', 'provider_unavailable', 'store_unavailable'],
  }),
  finish_provider_sign_in: endpoint({
    ...page,
    rateLimit: 'failed_presentation',
    method: 'GET',
    path: '/console/oidc/callback',
    summary: 'Finish a sign-in with the identity provider',
    description:
      'The redirect URI of the console. The roles of the person follow the groups that the provider names, at every sign-in.',
    request: { query: callbackQuerySchema },
    answers: {
      303: {
        description: 'Signed in. Redirects to the page of the console.',
        headers: { Location: 'The page.', 'Set-Cookie': 'The cookie of the session.' },
      },
    },
    problems: [
      'state_invalid',
      'callback_invalid',
      'sign_in_forbidden',
      'provider_unavailable',
      'store_unavailable',
    ],
  }),
  receive_provider_logout: endpoint({
    ...provider,
    rateLimit: 'failed_presentation',
    method: 'POST',
    path: '/console/oidc/logout',
    summary: 'Receive a logout of the identity provider of the console',
    description:
      'OpenID Connect Back-Channel Logout 1.0. Ends the sessions that the person opened with the provider, or one of them if the token has sid, on every node within two seconds.',
    request: { form: logoutFormSchema },
    bodyBytesMax: limits.signal_body_bytes_max,
    answers: {
      200: {
        description:
          'The sessions have ended, or there were none. A repeated logout gets the same answer and has no second effect.',
      },
    },
    problems: ['signal_invalid', 'signal_keys_unavailable', 'store_unavailable'],
  }),
}
