import { createHash } from 'node:crypto'
import type { JsonValue, UnverifiedJwt } from '@countersign/core'
import { isLoopback } from '@countersign/core/contract'
import type * as OpenIdClient from 'openid-client'
import type { Logger } from 'pino'
import type { ConsoleOidc } from '../config/console-oidc.ts'
import { Problem } from '../problem.ts'
import { createProviderFetch } from './provider-fetch.ts'
import { createProviderKeys, type ProviderKeys } from './provider-keys.ts'
import type { RoundTrip } from './round-trip.ts'

/** The parameters with which the browser comes back. */
interface ProviderAnswer {
  readonly code: string
  readonly state: string
  readonly iss: string | undefined
}

/**
 * The identity provider of the console. Nothing is loaded or requested before a person or the
 * provider asks for it, so a provider that is down affects its own sign-ins only.
 */
export interface IdentityProvider {
  readonly settings: ConsoleOidc
  /** Where the browser signs in. Throws `provider_unavailable`. */
  toSignInUrl(trip: RoundTrip): Promise<string>
  /**
   * Exchanges the code for an ID token and returns its claims, after all of it was checked against
   * the round trip. Throws `callback_invalid` or `provider_unavailable`.
   */
  redeem(answer: ProviderAnswer, trip: RoundTrip): Promise<Readonly<Record<string, JsonValue | undefined>>>
  /** Whether the provider has signed this token. */
  checkSignature(jwt: UnverifiedJwt): ReturnType<ProviderKeys['check']>
}

const TIMEOUT_SECONDS = 5
/** How long the metadata of the provider is used. */
const METADATA_KEPT_MS = 10 * 60_000
const RETRY_MS = 1000
const CLOCK_TOLERANCE_SECONDS = 30
/** RFC 6749 §5.2: the code is used, expired or of another client. Other errors are faults here. */
const CODE_ERROR = 'invalid_grant'

export interface IdentityProviderOptions {
  readonly log: Pick<Logger, 'warn'>
  /** A clock that never runs back. */
  readonly monotonicMs: () => number
  /** For tests. */
  readonly timeoutMs?: number
}

export function createIdentityProvider(
  settings: ConsoleOidc,
  { log, monotonicMs, timeoutMs }: IdentityProviderOptions,
): IdentityProvider {
  const { issuer } = settings
  const fetch = createProviderFetch(issuer, timeoutMs === undefined ? {} : { timeoutMs })
  const warn = (cause: unknown, message: string) => log.warn({ err: cause, issuer }, message)
  const keys = createProviderKeys(fetch, monotonicMs, (cause) =>
    warn(cause, 'could not fetch the keys of the identity provider'),
  )
  let kept: { readonly loaded: Promise<Loaded>; readonly atMs: number; failedMs?: number } | undefined

  /** One request at a time. After a failure, the same answer for a second. */
  const load = (): Promise<Loaded> => {
    const nowMs = monotonicMs()
    const isUsable =
      kept !== undefined &&
      (kept.failedMs === undefined ? nowMs - kept.atMs < METADATA_KEPT_MS : nowMs - kept.failedMs < RETRY_MS)
    if (kept !== undefined && isUsable) return kept.loaded
    const mine: NonNullable<typeof kept> = { loaded: discover(settings, fetch), atMs: nowMs }
    kept = mine
    mine.loaded.catch((cause: unknown) => {
      mine.failedMs = monotonicMs()
      warn(cause, 'could not load the metadata of the identity provider')
    })
    return mine.loaded
  }
  const requireLoaded = () => load().catch((cause: unknown) => Promise.reject(unavailable(cause)))

  return {
    settings,
    async toSignInUrl({ state, nonce, codeVerifier, redirectUri, isStepUp }) {
      const { client, configuration } = await requireLoaded()
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: settings.scope,
        state,
        nonce,
        code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
        code_challenge_method: 'S256',
        ...(isStepUp && { prompt: 'login', max_age: '0' }),
      })
      return url.href
    },
    async redeem({ code, state, iss }, { nonce, codeVerifier, redirectUri, state: expectedState }) {
      const { client, configuration } = await requireLoaded()
      const back = new URL(redirectUri)
      for (const [name, value] of Object.entries({ code, state, iss }))
        if (value !== undefined) back.searchParams.set(name, value)
      const checks = {
        expectedState,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      }
      try {
        const tokens = await client.authorizationCodeGrant(configuration, back, checks)
        const claims = tokens.claims()
        if (claims === undefined || claims.iss !== issuer)
          throw new Error('the ID token is of another issuer')
        return claims as Readonly<Record<string, JsonValue | undefined>>
      } catch (cause) {
        warn(cause, 'a sign-in with the identity provider has failed')
        throw toProblem(client, cause)
      }
    },
    async checkSignature(jwt) {
      const loaded = await load().catch(() => undefined)
      return loaded === undefined ? 'unavailable' : keys.check(jwt, loaded.jwksUri)
    },
  }
}

interface Loaded {
  readonly client: typeof OpenIdClient
  readonly configuration: OpenIdClient.Configuration
  readonly jwksUri: string
}

/** Loads the library and the metadata of the provider. */
async function discover(
  { issuer, clientId, clientSecret, clientAuth }: ConsoleOidc,
  fetch: ReturnType<typeof createProviderFetch>,
): Promise<Loaded> {
  const client = await import('openid-client')
  const auth =
    clientSecret === undefined
      ? client.None()
      : clientAuth === 'basic'
        ? client.ClientSecretBasic(clientSecret)
        : client.ClientSecretPost(clientSecret)
  const isHttp = new URL(issuer).protocol === 'http:' && isLoopback(new URL(issuer))
  const configuration = await client.discovery(
    new URL(issuer),
    clientId,
    { [client.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
    auth,
    {
      [client.customFetch]: (url, sent) => fetch(url, sent),
      timeout: TIMEOUT_SECONDS,
      // Verifies the signature of the ID token, although it comes over TLS.
      execute: [client.enableNonRepudiationChecks, ...(isHttp ? [client.allowInsecureRequests] : [])],
    },
  )
  const { issuer: named, jwks_uri: jwksUri } = configuration.serverMetadata()
  // The library compares URLs. Tokens are compared character by character.
  if (named !== issuer)
    throw new Error('the metadata name another issuer; use the issuer exactly as the provider spells it')
  if (jwksUri === undefined) throw new Error('the metadata have no jwks_uri')
  return { client, configuration, jwksUri }
}

/** Faults of the provider or of the settings are not the fault of this sign-in. */
function toProblem(client: typeof OpenIdClient, cause: unknown): Problem {
  if (cause instanceof client.ResponseBodyError)
    return cause.error === CODE_ERROR
      ? new Problem('callback_invalid', undefined, { cause })
      : unavailable(cause)
  const { code } = cause as { readonly code?: unknown }
  const isOfAnswer = typeof code === 'string' && INVALID_ANSWERS.has(code)
  return isOfAnswer || (cause as Error).name === 'Error'
    ? new Problem('callback_invalid', undefined, { cause })
    : unavailable(cause)
}

/** What is wrong with the parameters or the ID token, by the codes of the library. */
const INVALID_ANSWERS: ReadonlySet<string> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_PARSE_ERROR',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
])

function unavailable(cause: unknown): Problem {
  return cause instanceof Problem ? cause : new Problem('provider_unavailable', undefined, { cause })
}
