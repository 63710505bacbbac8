import { needsStepUp, type ProblemCode, problems } from '@countersign/core/contract'
import type { guard } from '../access/guard.ts'
import type { RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import type { AuthDeps } from './auth-deps.ts'
import {
  authenticate,
  authorize,
  checkFailedPresentations,
  confirmKey,
  findRateLimitKey,
  findSiteId,
} from './authenticate.ts'
import {
  checkPage,
  isForConsole,
  recordRejection,
  requireNamedSite,
  toSignInCaller,
} from './authenticate-person.ts'
import { parseFormBody, readBody, requireBodyForm } from './body.ts'
import {
  createExchange,
  type Exchange,
  type Origin,
  requirePresentation,
  toHolderRequest,
  toRouteRequest,
  validateBody,
  validatePart,
  validateQuery,
} from './exchange.ts'
import { hasKeyHeader, requireOneMethod, withoutClient } from './given-key.ts'
import { answerOnce } from './idempotency.ts'
import type { LoadShedder } from './load-shedder.ts'
import { type RawRequest, rejectMalformed } from './raw-request.ts'
import { requireReadableCredential, requireSameHolder } from './require-same-holder.ts'
import type { MountedEndpoint } from './respond.ts'
import { requireSameOrigin } from './same-origin.ts'

export interface PipelineDeps extends AuthDeps {
  readonly deps: Deps
  readonly guard: typeof guard
  readonly loadShedder: LoadShedder
  /** The clock of `RawRequest.startedMs`. */
  readonly monotonicMs: () => number
  readonly origin: Origin
}

/** One endpoint: its row of the contract and its route. */
export interface Mounted {
  readonly endpoint: MountedEndpoint
  readonly route: (request: RouteRequest, deps: Deps) => Promise<RouteAnswer>
  /** Whether this is its copy for people, under `/console/api`. */
  readonly isConsole?: boolean
}

/** Takes a request to its answer; rejects with the reason when the request is rejected. */
export type Answer = (raw: RawRequest, rawParams: unknown) => Promise<RouteAnswer>

/**
 * Checks a request, or fills in a part of it. Rejects the request by throwing a Problem. Returns a
 * promise only when it has to wait: each one costs a request about half a microsecond.
 */
type Step = (exchange: Exchange, deps: PipelineDeps) => void | Promise<void>

/** Whether an endpoint has a step at all. It is asked once, when the endpoint is mounted. */
type IsFor = (endpoint: MountedEndpoint, isConsole: boolean) => boolean

/**
 * Every request passes the steps of its endpoint in this order; then its route runs.
 *
 * Limits are checked before any work, and the caller before the content, so unauthenticated callers
 * learn nothing about valid requests.
 */
const steps: readonly (readonly [name: string, step: Step, isFor?: IsFor])[] = [
  ['malformed', ({ raw }) => rejectMalformed(raw)],
  ['overload', reserveSlot],
  ['console page', checkPage, (endpoint, isConsole) => isForConsole({ endpoint, isConsole })],
  ['media type', checkMediaType],
  ['client form', loadClientForm, ({ auth }) => auth === 'oauth_client'],
  ['caller', authenticate], // rate limits included
  ['path', parseParams, ({ request }) => request.params !== undefined],
  ['permission', authorize],
  ['origin', checkOrigin, ({ auth }) => auth === 'page'],
  [
    'presentation',
    checkPresentation,
    ({ auth }) => auth === 'credential' || auth === 'api_key_and_credential',
  ],
  ['headers', validateHeaders, ({ request }) => request.headers !== undefined],
  ['body', loadBody, ({ bodyTypes }) => bodyTypes.length > 0],
  ['access', checkAccess, ({ auth }) => auth === 'credential'],
  ['schema', validate],
]

export function createPipeline(deps: PipelineDeps): (mounted: Mounted) => Answer {
  return ({ endpoint, route, isConsole = false }) => {
    const own = steps.filter(([, , isFor]) => isFor === undefined || isFor(endpoint, isConsole))
    const runs = own.map(([, step]) => step)
    return async (raw, rawParams) => {
      const exchange = createExchange(raw, endpoint, rawParams, isConsole)
      try {
        // Not `for … of`: in an async function its iterator allocates 0.7 KB for each request.
        for (let i = 0; i < runs.length; i++) {
          const waiting = (runs[i] as Step)(exchange, deps)
          if (waiting !== undefined) await waiting
        }
        return await runRoute(route, exchange, deps)
      } catch (error) {
        if (exchange.hasSlot && isCallersFault(error)) recordFailure(exchange, deps, error)
        if (error instanceof Problem && isForAudit(error, exchange))
          recordRejection(exchange, deps, error.code)
        throw error
      } finally {
        if (exchange.hasSlot) deps.loadShedder.leave()
      }
    }
  }
}

function reserveSlot(exchange: Exchange, { loadShedder }: PipelineDeps): void {
  loadShedder.enter(exchange.endpoint)
  exchange.hasSlot = true
}

function checkMediaType(exchange: Exchange): void {
  exchange.bodyForm = requireBodyForm(exchange.raw, exchange.endpoint)
}

/**
 * An OAuth client may send its secret in the form. Only then is a body read before the caller is
 * known, and only while the sender has some of the allowance for requests without a key: a rejected
 * one counts by its size.
 */
function loadClientForm(exchange: Exchange, deps: PipelineDeps): void | Promise<void> {
  const { raw, bodyForm } = exchange
  if (bodyForm !== 'form' || hasKeyHeader(raw)) return
  return readClientForm(exchange, deps)
}

async function readClientForm(exchange: Exchange, deps: PipelineDeps): Promise<void> {
  const { raw } = exchange
  deps.rateLimiter.check('keyless', raw.address, raw.startedMs)
  exchange.isReadForKey = true
  await loadBody(exchange, deps)
  // Any number of forms may have been held back until all had passed the check above.
  deps.rateLimiter.check('keyless', raw.address, deps.monotonicMs())
  exchange.form = parseFormBody(exchange.bytes ?? new Uint8Array())
}

function parseParams(exchange: Exchange): void {
  exchange.params = validatePart(exchange.endpoint.request.params, exchange.rawParams, 'params')
}

function checkOrigin({ raw, bodyForm }: Exchange, { deps }: PipelineDeps): void {
  requireSameOrigin(raw, deps.config.baseUrl, bodyForm)
}

function checkPresentation(exchange: Exchange): void {
  requirePresentation(exchange)
}

function validateHeaders(exchange: Exchange): void {
  const { raw, endpoint } = exchange
  exchange.headers = validatePart(endpoint.request.headers, raw.message.headers, 'headers')
}

function loadBody(exchange: Exchange, deps: PipelineDeps): void | Promise<void> {
  const { raw, endpoint, bodyForm } = exchange
  if (bodyForm === 'none' || exchange.bytes !== undefined) return
  return deps.loadShedder.releaseWhile(endpoint, readBody(raw, endpoint)).then((bytes) => {
    exchange.bytes = bytes
    // A client may have held back any number of bodies until all had passed the check at the start.
    checkFailedPresentations(exchange, deps, deps.monotonicMs())
  })
}

/**
 * At endpoints behind the guard, the guard decides before the content is validated. Site and scope
 * come from the configuration, never from the request.
 */
function checkAccess(exchange: Exchange, { deps, guard, origin }: PipelineDeps): void | Promise<void> {
  const { protectedSite: siteId, protectedScope: scope } = deps.config
  if (siteId === undefined)
    throw new Problem(
      'not_found',
      'This service has no protected route. The operator can set protected_site.',
    )
  const allow = guard(deps, {
    presentation: requirePresentation(exchange),
    siteId,
    scope,
    request: toHolderRequest(exchange, origin),
  })
  if (allow instanceof Promise)
    return allow.then((later) => {
      exchange.access = later
    })
  exchange.access = allow
}

function validate(exchange: Exchange): void {
  const { endpoint } = exchange
  exchange.query = validateQuery(exchange.raw, exchange.endpoint)
  if (exchange.bodyForm === 'form') {
    const form = exchange.form ?? parseFormBody(exchange.bytes ?? new Uint8Array())
    requireOneMethod(exchange.given, form)
    exchange.form = endpoint.auth === 'oauth_client' ? withoutClient(form) : form
  }
  const { body, credentialBody } = validateBody(exchange)
  exchange.body = body
  exchange.credentialBody = credentialBody
  requireNamedSite(exchange)
}

/**
 * A body may take half a minute to arrive. After this time the API key is checked again; always
 * before what grants access, because another node may have deleted the key a moment ago.
 */
const KEY_TRUSTED_MS = 250

function runRoute(route: Mounted['route'], exchange: Exchange, services: PipelineDeps): Promise<RouteAnswer> {
  const { raw, endpoint, params, caller, bytes } = exchange
  const { deps, loadShedder } = services
  const confirmCaller = () => confirmKey(exchange, services)
  const waitOutside: RouteRequest['waitOutside'] = (wait) => loadShedder.waitOutside(caller, wait)
  const releaseWhile: RouteRequest['releaseWhile'] = (waiting) => loadShedder.releaseWhile(endpoint, waiting)
  const own = { confirmCaller, waitOutside, releaseWhile }
  const request = toRouteRequest(exchange, services.origin, services.place, own)
  const run = (isRepeated: boolean) => {
    const now = isRepeated ? { ...request, isRepeated } : request
    const isRecent = performance.now() - exchange.callerKnownAtMs <= KEY_TRUSTED_MS
    return isRecent && !needsStepUp(endpoint.id)
      ? route(now, deps)
      : confirmCaller().then(() => route(now, deps))
  }
  if (!endpoint.idempotency) return run(false)
  const requireReadable = () => {
    requireReadableCredential(request)
    if (endpoint.id === 'revoke_targets') deps.bulkRevocations.check(String(findSiteId(exchange.params)))
    if (endpoint.id === 'erase_user') deps.erasures.check(String(findSiteId(exchange.params)))
  }
  const requireSameCaller = () => requireSameHolder(request, deps)
  // A DELETE has no body; its reason is what may differ.
  const body = bytes ?? Buffer.from(request.reason ?? '')
  const checks = { requireReadable, requireSameCaller, waitOutside }
  return answerOnce({ raw, endpoint, params, caller, body, ...checks }, deps, run)
}

/** Counts a rejected request against its sender, by what it has cost. */
function recordFailure(exchange: Exchange, { rateLimiter, monotonicMs }: PipelineDeps, error: unknown): void {
  const { raw, endpoint } = exchange
  // Not `startedMs`: the window in which a slow request started may be over.
  const nowMs = monotonicMs()
  const key = findRateLimitKey(exchange)
  const cost = toCost(raw)
  // A wrong link is like a wrong key. Pages of other origins do not get so far.
  if (error instanceof Problem && isWrongSecret(error))
    rateLimiter.record('wrong_key', toSignInCaller(raw.address), nowMs)
  if (key !== undefined) rateLimiter.record('failed_presentation', key, nowMs, cost)
  if (exchange.isReadForKey && raw.caller === undefined)
    rateLimiter.record('keyless', raw.address, nowMs, cost)
  // `authenticate` has counted one already.
  else if (cost > 1 && raw.caller?.kind === 'anonymous' && endpoint.rateLimit === 'caller')
    rateLimiter.record('keyless', raw.address, nowMs, cost - 1)
}

/** A link or a passkey that is not valid. */
function isWrongSecret({ code }: Problem): boolean {
  return code === 'link_invalid' || code === 'passkey_invalid'
}

const BEYOND_ROLE: ReadonlySet<ProblemCode> = new Set(['role_insufficient', 'step_up_required', 'own_access'])

/** Includes what a route has rejected: for the audit it does not matter which part decided. */
function isForAudit(problem: Problem, { signedIn }: Exchange): boolean {
  return isWrongSecret(problem) || (signedIn !== undefined && BEYOND_ROLE.has(problem.code))
}

const COST_BYTES = 4096
/** Node takes about 3 µs for each piece of a body, and a rejected request about 0.4 ms. */
const COST_PIECES = 128

/** What a rejected request has cost, in requests of ordinary size. */
function toCost({ bodyBytes, bodyPieces, lines }: RawRequest): number {
  const credentialChars = lines('x-service-credential')?.[0]?.length ?? 0
  return 1 + Math.floor((bodyBytes + credentialChars) / COST_BYTES) + Math.floor(bodyPieces / COST_PIECES)
}

/** Any caller can name an unknown key of a sender, so a signal without its key is counted too. */
function isCallersFault(error: unknown): boolean {
  if (!(error instanceof Problem) || error.code === 'rate_limited') return false
  return problems[error.code].status < 500 || error.code === 'signal_keys_unavailable'
}
