import { createHash, randomBytes } from 'node:crypto'
import { readJwt } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import type { IdentityProvider } from '../identity-provider/identity-provider.ts'
import { findRoles, isAccountName, readAccount, toLine } from '../identity-provider/read-account.ts'
import {
  createRoundTrip,
  openRoundTrip,
  type RoundTrip,
  sealRoundTrip,
} from '../identity-provider/round-trip.ts'
import type { SignedIn } from '../keys/console-sessions.ts'
import { createId } from '../keys/ids.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import { readSignal, SIGNAL_AGE_MS_MAX } from '../signals/read-signal.ts'
import { isSignalFault } from '../signals/signal.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { PersonRole } from '../store/operations/people.ts'
import type { ProviderRejection } from '../store/operations/provider-sessions.ts'

type SignInDeps = Pick<Deps, 'store' | 'keys' | 'clock' | 'consoleSessions' | 'identityProvider' | 'log'>

/** How much earlier than the start an authentication may seem, because of clocks that differ. */
const STEP_UP_LEEWAY_MS = 10_000
/** Longer than a logout may be repeated: older ones are rejected. */
const LOGOUTS_KEPT_MS = 4 * SIGNAL_AGE_MS_MAX

/** What waits for the identity provider. */
type WaitingRequest = Pick<RouteRequest, 'releaseWhile' | 'requestId'>

export interface SignInStart {
  readonly redirectUri: string
  readonly returnTo: string
  readonly isStepUp: boolean
  /** The session that the browser has. */
  readonly signedIn: SignedIn | undefined
}

/**
 * Begins a sign-in with the identity provider. `sealed` is for the cookie that binds it to this
 * browser; nothing is stored. Throws `provider_unavailable`.
 */
export async function startProviderSignIn(
  deps: SignInDeps,
  { redirectUri, returnTo, isStepUp, signedIn }: SignInStart,
  { releaseWhile }: Pick<WaitingRequest, 'releaseWhile'>,
): Promise<{ readonly location: string; readonly sealed: string }> {
  const provider = requireProvider(deps)
  const trip = createRoundTrip({
    redirectUri,
    returnTo,
    isStepUp,
    startedAtMs: deps.clock.nowMs(),
    personId: isStepUp ? signedIn?.person.personId : undefined,
    replaced: signedIn?.session.sha256,
  })
  const location = await releaseWhile(provider.toSignInUrl(trip))
  return { location, sealed: sealRoundTrip(deps.keys, trip) }
}

export interface SignInAnswer {
  /** The cookie of the browser. */
  readonly sealed: string | undefined
  readonly state: string
  readonly code: string | undefined
  readonly iss: string | undefined
  readonly error: string | undefined
}

/**
 * Finishes a sign-in, once, and opens a session. `secret` is for its cookie, and stored nowhere.
 * Throws `state_invalid`, `callback_invalid`, `sign_in_forbidden` or `provider_unavailable`.
 */
export async function finishProviderSignIn(
  deps: SignInDeps,
  answer: SignInAnswer,
  { requestId, releaseWhile }: WaitingRequest,
): Promise<{ readonly secret: string; readonly returnTo: string }> {
  const provider = requireProvider(deps)
  const trip = await requireRoundTrip(deps, answer)
  const account = await releaseWhile(requireAccount(deps, provider, answer, trip))
  const atMs = deps.clock.nowMs()
  const secret = randomBytes(32).toString('base64url')
  const opened = await deps.store.openProviderSession(
    {
      issuer: provider.settings.issuer,
      subject: account.subject,
      sid: account.sid,
      issuedAtMs: account.issuedAtMs,
      name: account.name,
      nameOtherwise: toLine(account.subject) ?? 'Unnamed account',
      roles: await findRolesAtSites(deps, findRoles(account.groups, provider.settings.roles)),
      expectedPersonId: trip.personId,
      newPersonId: createId('person_', atMs),
    },
    {
      session: {
        sha256: secretSha256(secret),
        sessionId: createId('session_', atMs),
        expiresAtMs: atMs + limits.console_session_seconds * 1000,
        // A sign-in that the provider remembers proves no presence now.
        elevatedUntilMs:
          Math.min(account.authenticatedAtMs ?? 0, atMs) + limits.console_elevated_seconds * 1000,
      },
      replaced: trip.replaced,
      sessionsMax: limits.console_sessions_per_person_max,
      peopleMax: limits.people_max,
    },
    { atMs, requestId },
  )
  const personId = opened.state === 'opened' ? opened.person.personId : opened.personId
  // Roles may have changed, and sessions may have ended.
  if (personId !== undefined) deps.consoleSessions.forget(personId)
  if (opened.state !== 'opened') throw toRejection(opened.state)
  return { secret, returnTo: trip.returnTo }
}

/**
 * Verifies a logout token and ends the sessions that it names, on this node immediately. Throws
 * `signal_invalid` or `signal_keys_unavailable`; then no session has ended.
 */
export async function receiveProviderLogout(
  deps: SignInDeps & Pick<Deps, 'rateLimiter'>,
  token: string | undefined,
  { requestId, releaseWhile }: WaitingRequest,
): Promise<void> {
  const provider = requireProvider(deps)
  const { issuer, clientId } = provider.settings
  const jwt = readJwt(token ?? '')
  if (jwt === undefined) throw invalidLogout('it is not a signed JWT in compact form')
  const atMs = deps.clock.nowMs()
  const signal = readSignal('backchannel_logout', jwt, atMs)
  if (isSignalFault(signal)) throw invalidLogout(signal.fault)
  if (signal.issuer !== issuer) throw invalidLogout('its issuer is not the identity provider of the console')
  if (!isAddressed(jwt.claims.aud, clientId)) throw invalidLogout('aud does not name this client')
  if (![jwt.claims.sub, jwt.claims.sid].every((name) => name === undefined || isAccountName(name)))
    throw invalidLogout('sub and sid must each be one line of 1 to 256 characters')
  const check = await releaseWhile(provider.checkSignature(jwt))
  if (check === 'unavailable')
    throw new Problem('signal_keys_unavailable', undefined, { retryAfterSeconds: 10 })
  if (check === 'invalid') throw invalidLogout('no key of the identity provider verifies its signature')
  deps.rateLimiter.consume('signal', `console ${issuer}`, deps.clock.clocks().monotonicMs)
  const context: AuditContext = { actor: `sender:${issuer}`, atMs, requestId }
  const { subs, session } = signal.subject
  const ended = await deps.store.endProviderSessions(
    {
      issuer,
      jti: signal.jti,
      subject: subs[0]?.sub,
      sid: session,
      // Without the signature: ECDSA has a second valid one for every first one.
      bodySha256: createHash('sha256').update(jwt.signingInput).digest('hex'),
      issuedAtMs: signal.atMs,
      expiresAtMs: atMs + LOGOUTS_KEPT_MS,
    },
    context,
  )
  if (ended.state === 'other_body') throw invalidLogout('its jti was used for another logout')
  if (ended.state === 'ended') for (const personId of ended.personIds) deps.consoleSessions.forget(personId)
}

function requireProvider({ identityProvider }: Pick<Deps, 'identityProvider'>): IdentityProvider {
  if (identityProvider !== undefined) return identityProvider
  throw new Problem(
    'not_found',
    'This service has no identity provider for the console. The operator can set console_oidc_issuer.',
  )
}

/** The round trip of this browser, which is used up. */
async function requireRoundTrip(
  { keys, clock, store }: SignInDeps,
  { sealed, state }: SignInAnswer,
): Promise<RoundTrip> {
  const nowMs = clock.nowMs()
  const trip = openRoundTrip(keys, sealed, nowMs)
  if (trip === undefined || trip.state !== state) throw new Problem('state_invalid')
  const expiresAtMs = nowMs + limits.console_sign_in_seconds * 2000
  if (!(await store.consumeOnce('round_trip', secretSha256(state), expiresAtMs)))
    throw new Problem('state_invalid')
  return trip
}

async function requireAccount(
  { clock, log }: SignInDeps,
  provider: IdentityProvider,
  { code, state, iss, error }: SignInAnswer,
  trip: RoundTrip,
) {
  if (error !== undefined || code === undefined) {
    const named = /^[a-z_]+$/.test(error ?? '') ? ` (${error})` : ''
    throw new Problem(
      'callback_invalid',
      `The identity provider did not sign you in${named}. Start the sign-in again.`,
    )
  }
  const claims = await provider.redeem({ code, state, iss }, trip)
  const account = readAccount(claims, provider.settings.groupsClaim, clock.nowMs())
  if ('fault' in account) {
    log.warn({ issuer: provider.settings.issuer, fault: account.fault }, 'an ID token was rejected')
    throw new Problem('callback_invalid', `The ID token is not valid: ${account.fault}. Start again.`)
  }
  const atMs = account.authenticatedAtMs ?? 0
  if (trip.isStepUp && atMs < trip.startedAtMs - STEP_UP_LEEWAY_MS)
    throw new Problem(
      'callback_invalid',
      'The identity provider did not ask you to authenticate again. Confirm with a passkey or a new link instead.',
    )
  return account
}

/** A role at a site that does not exist would be one at a later site of that name. */
async function findRolesAtSites(
  { store, log }: Pick<Deps, 'store' | 'log'>,
  roles: readonly PersonRole[],
): Promise<readonly PersonRole[]> {
  const found: PersonRole[] = []
  for (const role of roles) {
    if (role.siteId === null || (await store.site(role.siteId)) !== undefined) found.push(role)
    else log.warn({ site_id: role.siteId }, 'console_oidc_roles names a site that does not exist')
  }
  return found
}

function isAddressed(aud: unknown, clientId: string): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  return named.includes(clientId) && named.every((each) => typeof each === 'string')
}

function toRejection(state: ProviderRejection): Problem {
  const [code, detail] = REJECTIONS[state]
  return new Problem(code, detail)
}

const REJECTIONS = {
  no_role: [
    'sign_in_forbidden',
    'No group of your account has a role in the console. Ask an operator for one, then sign in again.',
  ],
  ended: ['sign_in_forbidden', 'Your access to the console was ended. Ask an operator to reactivate it.'],
  full: [
    'sign_in_forbidden',
    `There are ${limits.people_max} active people already. Ask an operator to end the access of another person.`,
  ],
  logged_out: [
    'callback_invalid',
    'The identity provider has ended this sign-in meanwhile. Start the sign-in again.',
  ],
  other_person: [
    'callback_invalid',
    'The account at the identity provider is not that of the person who is signed in. Sign out of the console first.',
  ],
} as const satisfies Record<ProviderRejection, readonly [string, string]>

function invalidLogout(fault: string): Problem {
  return new Problem(
    'signal_invalid',
    `The logout is not valid: ${fault}. Check the provider, then send it again.`,
  )
}
