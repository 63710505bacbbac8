import type { Auth } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { ApiKey } from '../store/store.ts'
import { whenKnown } from '../when-known.ts'
import type { MountedEndpoint } from './exit.ts'
import type { Incoming } from './incoming.ts'
import type { KeyRefusals } from './key-refusals.ts'
import type { Paces } from './rate-limit.ts'

const TAKES_KEY: ReadonlySet<Auth> = new Set([
  'api_key',
  'api_key_optional',
  'api_key_or_credential',
  'api_key_and_credential',
  'operator_key',
])
const WANTS_KEY: ReadonlySet<Auth> = new Set(['api_key', 'api_key_and_credential', 'operator_key'])
const ONE_LINE_EACH = ['x-api-key', 'x-service-credential', 'authorization']

export interface Gatekeeping {
  readonly deps: Pick<Deps, 'apiKeys' | 'clock'>
  readonly paces: Paces
  readonly refusals: KeyRefusals
}

/**
 * Who calls, from the API key, after the pace of that caller has been taken into account.
 * Credentials are not looked at here but by the guard, only whether there is one where one is
 * needed instead of a key.
 */
export function authenticate(
  incoming: Incoming,
  endpoint: MountedEndpoint,
  gates: Gatekeeping,
): Caller | Promise<Caller> {
  const { address, lines, startedMs } = incoming
  for (const name of ONE_LINE_EACH) {
    if ((lines(name)?.length ?? 0) > 1)
      throw new Problem('auth_ambiguous', `The header ${name} was sent more than once. Send it once.`)
  }
  const { auth, rateLimit } = endpoint
  const secret = TAKES_KEY.has(auth) ? lines('x-api-key')?.[0] : undefined
  requirePace(incoming, endpoint, gates.paces, startedMs)
  if (rateLimit === 'sign_in_start') gates.paces.spend('sign_in_start', address, startedMs)
  if (secret === undefined) {
    if (rateLimit === 'caller') gates.paces.spend('keyless', address, startedMs)
    return anonymous(incoming, auth)
  }
  if (auth === 'api_key_or_credential' && hasCredential(incoming)) {
    throw new Problem('auth_ambiguous', 'The request has an API key and a credential. Send one of them.')
  }
  return callerWithKey(secret, incoming, endpoint, gates)
}

function callerWithKey(
  secret: string,
  incoming: Incoming,
  endpoint: MountedEndpoint,
  gates: Gatekeeping,
): Caller | Promise<Caller> {
  const { deps, paces, refusals } = gates
  const { address, startedMs } = incoming
  // A caller that guesses must not lock out a good key behind the same address.
  paces.check('wrong_key', address, startedMs, () => deps.apiKeys.wasGood(secret))
  const nowMs = deps.clock.nowMs()
  return whenKnown(deps.apiKeys.find(secret, nowMs), (key) => {
    if (key === undefined) {
      paces.count('wrong_key', address, startedMs)
      refusals.note({
        code: 'api_key_invalid',
        endpoint: endpoint.id,
        caller: undefined,
        requestId: incoming.requestId,
        nowMs,
      })
      throw new Problem('api_key_invalid')
    }
    if (endpoint.rateLimit === 'caller') paces.spend('key', key.keyId, startedMs)
    return callerOf(key, address)
  })
}

/**
 * Throws `api_key_invalid` unless the key behind the caller is still the one it was: a request that
 * takes long to arrive must not outlive the deletion of its key.
 */
export async function confirmKey(caller: Caller, { lines }: Incoming, { deps }: Gatekeeping): Promise<void> {
  if (caller.kind === 'anonymous') return
  const key = await deps.apiKeys.find(lines('x-api-key')?.[0] ?? '', deps.clock.nowMs())
  if (key?.keyId !== caller.keyId) throw new Problem('api_key_invalid')
}

/**
 * Against whom failed presentations count; undefined where they are not counted. At forward-auth
 * the connection is the proxy's: unless a trusted proxy tells its callers apart, one of them could
 * use up the allowance of all.
 */
export function presenterOf(
  { address, raw }: Incoming,
  { rateLimit, auth }: MountedEndpoint,
): string | undefined {
  if (rateLimit !== 'failed_presentation') return undefined
  const isProxys =
    auth === 'api_key_and_credential' &&
    [address, `::ffff:${address}`].includes(raw.socket.remoteAddress ?? '')
  return isProxys ? undefined : address
}

/** Throws `rate_limited` when too many presentations of this presenter have failed. */
export function requirePace(
  incoming: Incoming,
  endpoint: MountedEndpoint,
  paces: Paces,
  nowMs: number,
): void {
  const presenter = presenterOf(incoming, endpoint)
  if (presenter !== undefined) paces.check('failed_presentation', presenter, nowMs)
}

/**
 * Throws unless the caller may call: first whether the site is its own, then whether the key has
 * the permission.
 */
export function authorize(
  caller: Caller,
  endpoint: MountedEndpoint,
  siteId: unknown,
  onRefusal: (code: 'api_key_forbidden') => void,
): void {
  if (caller.kind !== 'site') return
  // Exactly as if there were no such site.
  if (siteId !== undefined && siteId !== caller.siteId) throw new Problem('not_found')
  const { auth, permissions = [] } = endpoint
  const isOpen =
    auth !== 'operator_key' &&
    (permissions.length === 0 || permissions.some((permission) => caller.permissions.includes(permission)))
  if (isOpen) return
  onRefusal('api_key_forbidden')
  const needed = auth === 'operator_key' ? 'an operator key' : `a key with ${permissions.join(' or ')}`
  throw new Problem('api_key_forbidden', `This endpoint needs ${needed}.`)
}

function anonymous(incoming: Incoming, auth: Auth): Caller {
  if (WANTS_KEY.has(auth)) throw new Problem('api_key_missing')
  // A bearer token does not stand for the credential it was exchanged for.
  if (auth === 'api_key_or_credential' && !isSent(incoming, 'x-service-credential')) {
    throw new Problem(
      'api_key_missing',
      'Send an API key of the site in X-API-Key, or the credential itself in X-Service-Credential.',
    )
  }
  return { kind: 'anonymous', address: incoming.address }
}

function callerOf(key: ApiKey, address: string): Exclude<Caller, { kind: 'anonymous' }> {
  const { keyId, siteId, permissions } = key
  if (siteId === null) return { kind: 'operator', keyId, address }
  return { kind: 'site', siteId, keyId, permissions, address }
}

function hasCredential(incoming: Incoming): boolean {
  return isSent(incoming, 'x-service-credential') || isSent(incoming, 'authorization')
}

function isSent({ lines }: Incoming, name: string): boolean {
  return (lines(name)?.[0]?.trim() ?? '') !== ''
}
