import type { Auth } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { ApiKey } from '../store/operations/api-keys.ts'
import type { Exchange } from './exchange.ts'
import type { KeyRejections } from './key-rejections.ts'
import type { RateLimiter } from './rate-limiter.ts'
import type { RawRequest } from './raw-request.ts'

const TAKES_KEY: ReadonlySet<Auth> = new Set([
  'api_key',
  'api_key_optional',
  'api_key_or_credential',
  'api_key_and_credential',
  'operator_key',
])
const WANTS_KEY: ReadonlySet<Auth> = new Set(['api_key', 'api_key_and_credential', 'operator_key'])
const ONE_LINE_EACH = ['x-api-key', 'x-service-credential', 'authorization']

export interface AuthDeps {
  readonly deps: Pick<Deps, 'apiKeys' | 'clock'>
  readonly rateLimiter: RateLimiter
  readonly keyRejections: KeyRejections
}

/**
 * Finds the caller by its API key and counts the request against the caller's rate limit. Of a
 * credential it checks only that there is one where it is needed instead of a key; the guard does
 * the rest.
 */
export async function authenticate(exchange: Exchange, deps: AuthDeps): Promise<void> {
  exchange.caller = await findCaller(exchange, deps)
  exchange.callerKnownAtMs = performance.now()
  exchange.raw.caller = exchange.caller
}

async function findCaller(exchange: Exchange, deps: AuthDeps): Promise<Caller> {
  const { raw, endpoint } = exchange
  const { address, lines, startedMs } = raw
  for (const name of ONE_LINE_EACH) {
    if ((lines(name)?.length ?? 0) > 1)
      throw new Problem('auth_ambiguous', `The header ${name} was sent more than once. Send it once.`)
  }
  const { auth, rateLimit } = endpoint
  const secret = TAKES_KEY.has(auth) ? lines('x-api-key')?.[0] : undefined
  checkFailedPresentations(exchange, deps, startedMs)
  if (rateLimit === 'sign_in_start') deps.rateLimiter.consume('sign_in_start', address, startedMs)
  if (secret === undefined) {
    if (rateLimit === 'caller') deps.rateLimiter.consume('keyless', address, startedMs)
    return requireAnonymousAllowed(raw, auth)
  }
  if (auth === 'api_key_or_credential' && hasCredential(raw)) {
    throw new Problem('auth_ambiguous', 'The request has an API key and a credential. Send one of them.')
  }
  return requireKey(secret, exchange, deps)
}

async function requireKey(
  secret: string,
  { raw, endpoint }: Exchange,
  { deps, rateLimiter, keyRejections }: AuthDeps,
): Promise<Caller> {
  const { address, startedMs, requestId } = raw
  // A caller that guesses keys must not lock out a valid key behind the same address.
  rateLimiter.check('wrong_key', address, startedMs, () => deps.apiKeys.wasGood(secret))
  const nowMs = deps.clock.nowMs()
  const key = await deps.apiKeys.find(secret, nowMs)
  if (key === undefined) {
    rateLimiter.record('wrong_key', address, startedMs)
    keyRejections.record({
      code: 'api_key_invalid',
      endpoint: endpoint.id,
      caller: undefined,
      requestId,
      nowMs,
    })
    throw new Problem('api_key_invalid')
  }
  if (endpoint.rateLimit === 'caller') rateLimiter.consume('key', key.keyId, startedMs)
  return toCaller(key, address)
}

/**
 * Throws `api_key_invalid` unless the API key of the caller still exists: a request that takes long
 * to arrive must not be answered after its key was deleted.
 */
export async function confirmKey({ raw, caller }: Exchange, { deps }: AuthDeps): Promise<void> {
  if (caller.kind === 'anonymous') return
  const key = await deps.apiKeys.find(raw.lines('x-api-key')?.[0] ?? '', deps.clock.nowMs())
  if (key?.keyId !== caller.keyId) throw new Problem('api_key_invalid')
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
export function authorize(
  { caller, endpoint, params, raw }: Exchange,
  { deps, keyRejections }: AuthDeps,
): void {
  if (caller.kind !== 'site') return
  // As if there were no such site.
  const siteId = findSiteId(params)
  if (siteId !== undefined && siteId !== caller.siteId) throw new Problem('not_found')
  const { auth, permissions = [] } = endpoint
  const isAllowed =
    auth !== 'operator_key' &&
    (permissions.length === 0 || permissions.some((permission) => caller.permissions.includes(permission)))
  if (isAllowed) return
  const code = 'api_key_forbidden'
  const { requestId } = raw
  keyRejections.record({ code, endpoint: endpoint.id, caller, requestId, nowMs: deps.clock.nowMs() })
  const needed = auth === 'operator_key' ? 'an operator key' : `a key with ${permissions.join(' or ')}`
  throw new Problem(code, `This API key is not allowed to call this endpoint. Use ${needed}.`)
}

function findSiteId(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'site_id' in params ? params.site_id : undefined
}

function requireAnonymousAllowed(raw: RawRequest, auth: Auth): Caller {
  if (WANTS_KEY.has(auth)) throw new Problem('api_key_missing')
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
