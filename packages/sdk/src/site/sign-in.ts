import { encodeBase64url } from '@countersign/core'
import type { SignInResult } from '@countersign/core/contract'
import { call } from '../client/call.ts'
import { calls } from '../client/client.ts'
import { type ClientOptions, CONNECTION_KINDS, readConnection } from '../client/connection.ts'
import { requireOptions } from '../shared/require-options.ts'
import { isSameText } from './same-text.ts'

export interface StartSignInOptions extends Omit<ClientOptions, 'apiKey'> {
  readonly siteId: string
  /** Where the browser returns to; must be registered for the site, byte for byte. */
  readonly returnUrl: string
  /** Default: the whole scope of the user's credential. */
  readonly scope?: readonly string[]
  /**
   * The issuer name of the service if it differs from `baseUrl`: when a backend uses another
   * address than browsers.
   */
  readonly issuer?: string
  /** Languages for the page, the preferred one first. Default: what the browser prefers. */
  readonly uiLocales?: readonly string[]
}

/**
 * The state of a sign-in until the browser returns. Keep it for this browser only, by its `state`,
 * because a browser can have several pending sign-ins: `createSignInCookies` does that. Plain JSON.
 * `verifier` is a secret.
 */
export interface PendingSignIn {
  readonly state: string
  readonly verifier: string
  readonly issuer: string
  readonly siteId: string
  readonly scope: readonly string[] | null
  readonly expiresAtMs: number
}

export interface StartedSignIn {
  /** Send the browser there. */
  readonly authUrl: string
  readonly pending: PendingSignIn
}

/**
 * `callback_malformed`: not the callback of a sign-in. `issuer_mismatch`: from another service, or
 * without `iss`. `state_mismatch`: of another sign-in, perhaps of another person. `expired`: too
 * late. `denied`: the user cancelled or was denied. `result_mismatch`: the service answered for
 * another site or without the requested scope.
 */
export type SignInErrorCode =
  | 'callback_malformed'
  | 'issuer_mismatch'
  | 'state_mismatch'
  | 'expired'
  | 'denied'
  | 'result_mismatch'

/** A sign-in that must not be accepted. Let the user start again. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly code: SignInErrorCode
  /** On `denied`: what the service gave as `error`. */
  readonly reason: string | undefined

  constructor(code: SignInErrorCode, message: string, reason?: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

/**
 * Starts a hosted sign-in (RFC 7636 with S256). Keep `pending` for this browser and send it to
 * `authUrl`. Throws a `CountersignError` when the service rejects it, for example
 * `redirect_not_allowed`.
 */
export async function startSignIn(options: StartSignInOptions): Promise<StartedSignIn> {
  requireOptions<StartSignInOptions>('startSignIn', options, {
    ...CONNECTION_KINDS,
    siteId: 'string',
    returnUrl: 'string',
    scope: 'list',
    issuer: 'string',
    uiLocales: 'list',
  })
  const { siteId, returnUrl, scope, uiLocales } = options
  const connection = readConnection(options)
  const issuer = options.issuer ?? connection.baseUrl
  const state = randomText()
  const verifier = randomText()
  const digest = await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))
  const started = (await call(connection, calls.startSignIn, {
    site_id: siteId,
    return_url: returnUrl,
    requested_scope: scope,
    client_state: state,
    code_challenge: encodeBase64url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
    ui_locales: uiLocales?.join(' '),
  })) as { readonly auth_url: string; readonly expires_in: number }
  // The state must outlive the sign-in by the minute in which its code can be redeemed.
  const expiresAtMs = connection.nowMs() + started.expires_in * 1000 + CODE_MS
  return {
    authUrl: started.auth_url,
    pending: { state, verifier, issuer, siteId, scope: scope ?? null, expiresAtMs },
  }
}

export interface FinishSignInOptions extends Omit<ClientOptions, 'apiKey'> {
  /** The URL at which the browser came back, or its parameters. */
  readonly callback: string | URL | URLSearchParams
  /**
   * The `pending` of `startSignIn` for this browser; undefined, which is rejected, when there is
   * none. Delete it whatever the result is.
   */
  readonly pending: PendingSignIn | undefined
}

/**
 * Finishes a hosted sign-in: returns the user, and until when the sign-in is valid. Throws a
 * `SignInError` for a callback that did not come from that service (`iss`, RFC 9207), does not
 * belong to this browser (`state`) or is too late, and a `CountersignError` for what the service
 * rejects, such as a code that was used before.
 */
export async function finishSignIn(options: FinishSignInOptions): Promise<SignInResult> {
  requireOptions<FinishSignInOptions>('finishSignIn', options, {
    ...CONNECTION_KINDS,
    callback: 'any',
    pending: 'any',
  })
  const { pending } = options
  const connection = readConnection(options)
  const found = readParameters(options.callback)
  if (pending === undefined)
    throw new SignInError('state_mismatch', 'No sign-in was started in this browser.')
  if (found.iss !== pending.issuer)
    throw new SignInError('issuer_mismatch', 'The parameter iss is missing, or names another service.')
  if (!isSameText(found.state ?? '', pending.state))
    throw new SignInError('state_mismatch', 'The parameter state is missing, or belongs to another sign-in.')
  if (!(connection.nowMs() < pending.expiresAtMs))
    throw new SignInError('expired', 'The sign-in took too long. Start it again.')
  if (found.error !== undefined)
    throw new SignInError(
      'denied',
      found.error_description ?? 'The user cancelled, or was denied.',
      found.error,
    )
  if (found.code === undefined) throw new SignInError('callback_malformed', 'The parameter code is missing.')

  const input = { code: found.code, code_verifier: pending.verifier }
  const result = (await call(connection, calls.signInResult, input)) as SignInResult
  const lacks = (pending.scope ?? []).filter((scope) => !result.scope.includes(scope))
  if (result.site_id !== pending.siteId || lacks.length > 0)
    throw new SignInError('result_mismatch', 'The response is for another site or scope than the request.')
  return result
}

const CODE_MS = 60_000
const RANDOM_BYTES = 32
const PARAMETERS = ['code', 'state', 'iss', 'error', 'error_description'] as const

function randomText(): string {
  return encodeBase64url(globalThis.crypto.getRandomValues(new Uint8Array(RANDOM_BYTES)))
}

/**
 * Ignores other parameters. Each of ours may occur once only, so that all readers agree on its
 * value.
 */
function readParameters(
  callback: string | URL | URLSearchParams,
): Partial<Record<(typeof PARAMETERS)[number], string>> {
  const parameters = toSearchParams(callback)
  const found: Partial<Record<(typeof PARAMETERS)[number], string>> = {}
  for (const name of PARAMETERS) {
    const [value, more] = parameters.getAll(name)
    if (more !== undefined)
      throw new SignInError('callback_malformed', `The parameter ${name} was sent twice.`)
    if (value !== undefined) found[name] = value
  }
  return found
}

/** The parameters of a callback. */
export function toSearchParams(callback: string | URL | URLSearchParams): URLSearchParams {
  return callback instanceof URLSearchParams
    ? callback
    : new URL(callback, 'http://relative.invalid').searchParams
}
