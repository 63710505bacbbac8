import {
  type Auth,
  isConsoleEndpoint,
  needsStepUp,
  stepUp,
  stepUpOfSessions,
} from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import { parseSecretText } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { ApiKey } from '../store/operations/api-keys.ts'
import type { AuthDeps } from './auth-deps.ts'
import { authenticatePerson, confirmPerson, isForConsole, recordRejection } from './authenticate-person.ts'
import type { Exchange } from './exchange.ts'
import { findGivenKey, type GivenKey, invalidKeyProblem } from './given-key.ts'
import type { RawRequest } from './raw-request.ts'

const TAKES_KEY: ReadonlySet<Auth> = new Set([
  'api_key',
  'oauth_client',
  'api_key_optional',
  'api_key_or_credential',
  'api_key_and_credential',
  'operator_key',
])
const WANTS_KEY: ReadonlySet<Auth> = new Set([
  'api_key',
  'oauth_client',
  'api_key_and_credential',
  'operator_key',
])
const ONE_LINE_EACH = ['x-api-key', 'x-service-credential', 'authorization']

const NO_CLIENT =
  'The request has no API key. Send it in X-API-Key, or as the client_secret of an OAuth client, with HTTP Basic or in the form.'

/**
 * Finds the caller by its API key, or in the console by the session of a person, and counts the
 * request against the caller's rate limit. Of a credential it checks only that there is one where
 * it is needed instead of a key; the guard does the rest.
 */
export function authenticate(exchange: Exchange, deps: AuthDeps): void | Promise<void> {
  if (isForConsole(exchange))
    return authenticatePerson(exchange, deps).then(() => setCaller(exchange, exchange.caller))
  const caller = findCaller(exchange, deps)
  if (caller instanceof Promise) return caller.then((later) => setCaller(exchange, later))
  setCaller(exchange, caller)
}

function setCaller(exchange: Exchange, caller: Caller): void {
  exchange.caller = caller
  exchange.callerKnownAtMs = performance.now()
  exchange.raw.caller = caller
}

function findCaller(exchange: Exchange, deps: AuthDeps): Caller | Promise<Caller> {
  const { raw, endpoint } = exchange
  const { address, lines, startedMs } = raw
  for (const name of ONE_LINE_EACH) {
    if ((lines(name)?.length ?? 0) > 1)
      throw new Problem('auth_ambiguous', `The header ${name} was sent more than once. Send it once.`)
  }
  const { auth, rateLimit } = endpoint
  checkFailedPresentations(exchange, deps, startedMs)
  if (rateLimit === 'sign_in_start') deps.rateLimiter.consume('sign_in_start', address, startedMs)
  exchange.given = TAKES_KEY.has(auth) ? requireReadableKey(exchange, deps) : undefined
  if (exchange.given === undefined) {
    // A form that was read for its key is counted with its size, by `recordFailure`.
    if (rateLimit === 'caller' && !exchange.isReadForKey)
      deps.rateLimiter.consume('keyless', address, startedMs)
    return requireAnonymousAllowed(raw, auth)
  }
  if (auth === 'api_key_or_credential' && hasCredential(raw)) {
    throw new Problem('auth_ambiguous', 'The request has an API key and a credential. Send one of them.')
  }
  return requireKey(exchange.given, exchange, deps)
}

/** A key that cannot be read is recorded like one that is unknown. */
function requireReadableKey(exchange: Exchange, deps: AuthDeps): GivenKey | undefined {
  try {
    return findGivenKey(exchange.raw, exchange.endpoint.auth, exchange.form)
  } catch (error) {
    if (error instanceof Problem && error.code === 'api_key_invalid') {
      deps.rateLimiter.check('wrong_key', exchange.raw.address, exchange.raw.startedMs)
      recordInvalidKey(exchange, deps, deps.deps.clock.nowMs())
    }
    throw error
  }
}

function requireKey(given: GivenKey, exchange: Exchange, auth: AuthDeps): Caller | Promise<Caller> {
  const { secret } = given
  const { deps, rateLimiter } = auth
  const { address, startedMs } = exchange.raw
  // A caller that guesses keys must not lock out a valid key behind the same address, also one that
  // this node has not seen yet. A key without a valid checksum needs no lookup.
  rateLimiter.check('wrong_key', address, startedMs, () => {
    if (deps.apiKeys.wasGood(secret)) return true
    if (parseSecretText('svc_sk_', secret) === undefined) return false
    rateLimiter.consume('unknown_key', address, startedMs)
    return true
  })
  const key = deps.apiKeys.find(secret, deps.clock.nowMs())
  return key instanceof Promise
    ? key.then((later) => acceptKey(later, given, exchange, auth))
    : acceptKey(key, given, exchange, auth)
}

function acceptKey(
  key: ApiKey | undefined,
  { clientId, method }: GivenKey,
  exchange: Exchange,
  auth: AuthDeps,
): Caller {
  const { address, startedMs } = exchange.raw
  if (key === undefined || (clientId !== undefined && clientId !== key.keyId)) {
    recordInvalidKey(exchange, auth, auth.deps.clock.nowMs())
    throw invalidKeyProblem(method)
  }
  if (exchange.endpoint.rateLimit === 'caller') auth.rateLimiter.consume('key', key.keyId, startedMs)
  return toCaller(key, address)
}

function recordInvalidKey(
  { raw: { address, startedMs, requestId }, endpoint }: Exchange,
  { rateLimiter, keyRejections }: AuthDeps,
  nowMs: number,
): void {
  rateLimiter.record('wrong_key', address, startedMs)
  const { id } = endpoint
  keyRejections.record({ code: 'api_key_invalid', endpoint: id, caller: undefined, requestId, nowMs })
}

/**
 * Throws `api_key_invalid` unless the API key of the caller still exists: a request that takes long
 * to arrive must not be answered after its key was deleted. What grants access would outlive the
 * second for which a key is cached, so there the store is queried.
 */
export async function confirmKey(exchange: Exchange, auth: AuthDeps): Promise<void> {
  const { given, caller } = exchange
  const { deps } = auth
  if (exchange.signedIn !== undefined) {
    exchange.signedIn = await confirmPerson(exchange, auth)
    return requireStepUp(exchange, auth)
  }
  if (caller.kind === 'anonymous') return
  const isFresh = needsStepUp(exchange.endpoint.id)
  const key = await deps.apiKeys.find(given?.secret ?? '', deps.clock.nowMs(), isFresh)
  if (key?.keyId !== caller.keyId) throw invalidKeyProblem(given?.method ?? 'header')
}

/**
 * The rate-limit key for failed presentations, or undefined if they are not limited. At
 * forward-auth the connection is the proxy's: unless a trusted proxy names its clients, one of them
 * could use up the allowance of all.
 */
export function findRateLimitKey({
  raw: { address, message },
  endpoint: { rateLimit, auth },
}: Pick<Exchange, 'raw' | 'endpoint'>): string | undefined {
  if (rateLimit !== 'failed_presentation') return undefined
  const isProxys =
    auth === 'api_key_and_credential' &&
    [address, `::ffff:${address}`].includes(message.socket.remoteAddress ?? '')
  return isProxys ? undefined : address
}

/** Throws `rate_limited` when too many presentations of this sender have failed. */
export function checkFailedPresentations(exchange: Exchange, { rateLimiter }: AuthDeps, nowMs: number): void {
  const key = findRateLimitKey(exchange)
  if (key !== undefined) rateLimiter.check('failed_presentation', key, nowMs)
}

/**
 * Throws unless the caller may call this endpoint: first whether the site is its own, then whether
 * its key has the permission.
 */
export function authorize(exchange: Exchange, auth: AuthDeps): void {
  requirePermission(exchange, auth)
  requireStepUp(exchange, auth)
}

function requireStepUp(exchange: Exchange, auth: AuthDeps): void {
  const { caller, endpoint, signedIn } = exchange
  if (signedIn === undefined) return
  if (caller.kind === 'anonymous' && !stepUpOfSessions.has(endpoint.id)) return
  // What is not listed is not mounted; if it were, it would need a recent sign-in.
  const isNeeded = !isConsoleEndpoint(endpoint.id) || stepUp[endpoint.id]
  if (isNeeded && signedIn.session.elevatedUntilMs <= auth.deps.clock.nowMs())
    throw new Problem('step_up_required')
}

function requirePermission(exchange: Exchange, { deps, keyRejections }: AuthDeps): void {
  const { caller, endpoint, params, raw } = exchange
  const siteId = findSiteId(params)
  // A person acts at the site that the request names, also as an operator.
  const { consoleSite } = exchange
  if (consoleSite !== undefined && siteId !== undefined && siteId !== consoleSite) {
    // The caller does not learn whether there is such a site. Who reads the audit sees the attempt.
    if (caller.kind === 'site') recordRejection(exchange, { deps, keyRejections }, 'role_insufficient')
    throw new Problem('not_found')
  }
  if (consoleSite !== undefined && caller.kind === 'operator' && endpoint.auth === 'operator_key')
    throw new Problem(
      'role_insufficient',
      'This endpoint is about the whole service. Send Countersign-Console: all.',
    )
  if (caller.kind !== 'site') return
  // As if there were no such site.
  if (siteId !== undefined && siteId !== caller.siteId) throw new Problem('not_found')
  const { auth, permissions = [] } = endpoint
  const isAllowed =
    auth !== 'operator_key' &&
    (permissions.length === 0 || permissions.some((permission) => caller.permissions.includes(permission)))
  if (isAllowed) return
  if (caller.person !== undefined) throw new Problem('role_insufficient')
  const code = 'api_key_forbidden'
  const { requestId } = raw
  keyRejections.record({ code, endpoint: endpoint.id, caller, requestId, nowMs: deps.clock.nowMs() })
  const needed = auth === 'operator_key' ? 'an operator key' : `a key with ${permissions.join(' or ')}`
  throw new Problem(code, `This API key is not allowed to call this endpoint. Use ${needed}.`)
}

/** The site in the path, if there is one. */
export function findSiteId(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'site_id' in params ? params.site_id : undefined
}

function requireAnonymousAllowed(raw: RawRequest, auth: Auth): Caller {
  if (WANTS_KEY.has(auth))
    throw new Problem('api_key_missing', auth === 'oauth_client' ? NO_CLIENT : undefined)
  // A bearer token cannot be used in place of the credential it was exchanged for.
  if (auth === 'api_key_or_credential' && !isSent(raw, 'x-service-credential')) {
    throw new Problem(
      'api_key_missing',
      'The request has neither an API key nor a credential. Send an API key of the site in X-API-Key, or the credential itself in X-Service-Credential.',
    )
  }
  return { kind: 'anonymous', address: raw.address }
}

function toCaller(key: ApiKey, address: string): Exclude<Caller, { kind: 'anonymous' }> {
  const { keyId, siteId, permissions } = key
  if (siteId === null) return { kind: 'operator', keyId, address }
  return { kind: 'site', siteId, keyId, permissions, address }
}

function hasCredential(raw: RawRequest): boolean {
  return isSent(raw, 'x-service-credential') || isSent(raw, 'authorization')
}

function isSent({ lines }: RawRequest, name: string): boolean {
  return (lines(name)?.[0]?.trim() ?? '') !== ''
}
