import { parseSiteId, type SiteId } from '@countersign/core'
import { headerNames, needsStepUp, type ProblemCode, rolePermissions } from '@countersign/core/contract'
import type { Caller } from '../answer.ts'
import { isSessionSecret, type SignedIn } from '../keys/console-sessions.ts'
import { Problem } from '../problem.ts'
import type { AuthDeps } from './auth-deps.ts'
import { findSessionSecret, requireConsolePage } from './console-place.ts'
import type { Exchange } from './exchange.ts'
import type { RawRequest } from './raw-request.ts'

const OTHER_WAYS = [headerNames.apiKey, headerNames.credential, headerNames.bearer]
const NO_ROLE = 'You have no role at this site. Ask an operator for one.'

/**
 * Finds the person who calls in the console, by the cookie and nothing else, and counts the request
 * against their rate limit. `exchange.caller` then has the permissions of the role that the request
 * names. At endpoints about sessions, which need no role, it stays anonymous.
 */
export async function authenticatePerson(exchange: Exchange, auth: AuthDeps): Promise<void> {
  const { raw, endpoint } = exchange
  const { address, startedMs } = raw
  if (OTHER_WAYS.some((name) => raw.lines(name) !== undefined)) {
    auth.rateLimiter.consume('keyless', address, startedMs)
    throw new Problem(
      'auth_ambiguous',
      'The console accepts sessions only. Send API keys and credentials to the same path under /api.',
    )
  }
  if (endpoint.auth === 'console') {
    auth.rateLimiter.check('wrong_key', toSignInCaller(address), startedMs)
    return auth.rateLimiter.consume('keyless', address, startedMs)
  }
  const secret = findSessionSecret(raw, auth.place)
  if (secret === undefined) {
    auth.rateLimiter.consume('keyless', address, startedMs)
    throw new Problem('session_required')
  }
  // A caller that guesses must not lock out a person behind the same address, also one whose
  // session this node has not seen yet. What cannot be a session needs no lookup.
  auth.rateLimiter.check('wrong_key', address, startedMs, () => {
    if (auth.deps.consoleSessions.wasGood(secret)) return true
    if (!isSessionSecret(secret)) return false
    auth.rateLimiter.consume('unknown_key', address, startedMs)
    return true
  })
  const signedIn = await auth.deps.consoleSessions.find(secret, auth.deps.clock.nowMs(), isUse(raw))
  if (signedIn === undefined) {
    auth.rateLimiter.record('wrong_key', address, startedMs)
    throw new Problem('session_required')
  }
  const { personId } = signedIn.person
  requireExpectedPerson(raw, personId)
  auth.rateLimiter.consume('key', `person:${personId}`, startedMs)
  raw.personId = personId
  exchange.signedIn = signedIn
  if (endpoint.auth === 'session') return
  const named = requireNamedRole(raw)
  exchange.consoleSite = named === 'all' ? undefined : named
  const caller = findPersonCaller(signedIn, named, address)
  if (caller !== undefined) exchange.caller = caller
  else throw new Problem('role_insufficient', NO_ROLE)
}

/** The session as it is now. Throws unless it is valid and the person still has that role. */
export async function confirmPerson(exchange: Exchange, { deps, place }: AuthDeps): Promise<SignedIn> {
  const { raw, endpoint, caller, signedIn, consoleSite } = exchange
  const secret = findSessionSecret(raw, place) ?? ''
  const isFresh = needsStepUp(endpoint.id)
  const found = await deps.consoleSessions.find(secret, deps.clock.nowMs(), isUse(raw), isFresh)
  if (found === undefined || found.session.sessionId !== signedIn?.session.sessionId)
    throw new Problem('session_required')
  if (caller.kind === 'anonymous') return found
  const now = findPersonCaller(found, consoleSite ?? 'all', raw.address)
  const isSame = now !== undefined && JSON.stringify(now) === JSON.stringify(caller)
  if (!isSame) throw new Problem('role_insufficient')
  return found
}

/**
 * Links and passkeys that are wrong count apart from API keys and sessions: programs that go on
 * with a deleted key must not keep people behind the same address from signing in.
 */
export function toSignInCaller(address: string): string {
  return `sign-in ${address}`
}

/**
 * Whether a person has caused the request. Those that an open page makes by itself, such as for the
 * state of verifiers, would otherwise always keep its session in use.
 */
function isUse({ lines }: Exchange['raw']): boolean {
  return lines(headerNames.consoleBackground) === undefined
}

/** Writes a rejection to the audit. */
export function recordRejection(
  { endpoint, caller, raw, signedIn }: Exchange,
  { deps, keyRejections }: Pick<AuthDeps, 'deps' | 'keyRejections'>,
  code: ProblemCode,
): void {
  const personId = signedIn?.person.personId
  const { requestId } = raw
  keyRejections.record({
    code,
    endpoint: endpoint.id,
    caller,
    personId,
    requestId,
    nowMs: deps.clock.nowMs(),
  })
}

/** Whether only pages of the console may send this request. */
export function isForConsole({ isConsole, endpoint }: Pick<Exchange, 'isConsole' | 'endpoint'>): boolean {
  return isConsole || endpoint.auth === 'session' || endpoint.auth === 'console'
}

/**
 * Throws for a request to the console from another page, which counts for its address: its cookie
 * is not looked at. What that page cannot read is not worth an audit row, so only changes get one.
 */
export function checkPage(exchange: Exchange, auth: AuthDeps): void {
  const { address, startedMs } = exchange.raw
  try {
    requireConsolePage(exchange.raw, auth.place)
  } catch (error) {
    // Apart from those of the console: a hostile page must not lock its visitor out.
    auth.rateLimiter.consume('keyless', `other page ${address}`, startedMs)
    if (error instanceof Problem && !['GET', 'HEAD'].includes(exchange.raw.method))
      recordRejection(exchange, auth, error.code)
    throw error
  }
}

/** Pages of other origins cannot send this header without being asked for permission first. */
function requireNamedRole({ lines }: RawRequest): SiteId | 'all' {
  const [text, more] = lines(headerNames.console) ?? []
  const named = more !== undefined ? undefined : text === 'all' ? text : parseSiteId(text)
  if (named !== undefined) return named
  throw new Problem(
    'csrf_invalid',
    'The request does not name the role that it uses. Send Countersign-Console with a site, or with all for the role of an operator.',
  )
}

/**
 * A page may name the person that it was opened for. The cookie may be that of another person
 * meanwhile, who signed in in another tab: what the page sends must not happen in their name.
 */
function requireExpectedPerson({ lines }: RawRequest, personId: string): void {
  const expected = lines(headerNames.consolePerson)
  if (expected !== undefined && !(expected.length === 1 && expected[0] === personId))
    throw new Problem('session_required')
}

/** A person acts at the site that the header names, also where a body or query has the site. */
export function requireNamedSite({ consoleSite, query, body }: Exchange): void {
  if (consoleSite === undefined) return
  for (const part of [query, body]) {
    const siteId = typeof part === 'object' && part !== null && 'site_id' in part ? part.site_id : undefined
    if (siteId !== undefined && siteId !== consoleSite)
      throw new Problem(
        'role_insufficient',
        'The request is about another site than Countersign-Console names.',
      )
  }
}

function findPersonCaller(
  { person, session }: SignedIn,
  named: SiteId | 'all',
  address: string,
): Exclude<Caller, { kind: 'anonymous' }> | undefined {
  const { personId, roles } = person
  const by = { personId, sessionId: session.sessionId }
  if (roles.some(({ role }) => role === 'operator')) return { kind: 'operator', person: by, address }
  const own = roles.find(({ siteId }) => siteId !== null && siteId === named)
  if (own === undefined || named === 'all') return undefined
  return { kind: 'site', siteId: named, person: by, permissions: rolePermissions[own.role], address }
}
