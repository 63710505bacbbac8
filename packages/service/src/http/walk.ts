import { problems } from '@countersign/core/contract'
import type { Caller, RouteAnswer } from '../answer.ts'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { RouteRequest } from '../route.ts'
import { whenKnown } from '../when-known.ts'
import {
  authenticate,
  authorize,
  confirmKey,
  type Gatekeeping,
  presenterOf,
  requirePace,
} from './authenticate.ts'
import { type BodyForm, bodyFormOf, readBody } from './body.ts'
import type { MountedEndpoint } from './exit.ts'
import { answerOnce } from './idempotency.ts'
import { type Incoming, refuseUnfit } from './incoming.ts'
import type { Admission } from './overload.ts'
import { requireOwnPage } from './own-page.ts'
import { requireReadableCredential, requireSameHolder } from './require-same-holder.ts'
import { fit, type Origin, WalkRequest } from './walk-request.ts'

export interface WalkGates extends Gatekeeping {
  readonly deps: Deps
  readonly admission: Admission
  /** The clock of `startedMs`. */
  readonly monotonicMs: () => number
}

/**
 * A key that was good when the request began is asked about once more after this long: a body may
 * take half a minute to arrive.
 */
const KEY_TRUSTED_MS = 250

/** One endpoint as the http layer sees it: its row of the contract and the route behind it. */
export interface Mounted {
  readonly endpoint: MountedEndpoint
  readonly route: (request: RouteRequest, deps: Deps) => RouteAnswer | Promise<RouteAnswer>
}

/**
 * Takes a request to its answer, or throws what is to be refused; at once where nothing has to be
 * waited for. Notes in `incoming` who calls, once that is known.
 */
export type Walk = (
  incoming: Incoming,
  mounted: Mounted,
  rawParams: unknown,
) => RouteAnswer | Promise<RouteAnswer>

/**
 * The walk of every request, in this order and no other:
 *
 *   fit at all → room for it → kind of body → pace and who → may they → presentation
 *   → body → shape → once → route
 *
 * Limits come before work, and who is asked before what: an unknown caller learns nothing about
 * what a good request looks like. Each step answers or throws; what is thrown leaves through the
 * one exit.
 */
export function createWalk(gates: WalkGates): Walk {
  const { deps, admission, refusals, paces, monotonicMs } = gates
  const { host, protocol } = new URL(deps.config.baseUrl)
  const origin: Origin = { authority: host, scheme: protocol === 'https:' ? 'https' : 'http' }

  const withCaller = (
    incoming: Incoming,
    { endpoint, route }: Mounted,
    rawParams: unknown,
    form: BodyForm,
    caller: Caller,
  ) => {
    const knownAtMs = performance.now()
    incoming.caller = caller
    const params = fit(endpoint.request.params, rawParams, 'params')
    authorize(caller, endpoint, siteOf(params), (code) =>
      refusals.note({
        code,
        endpoint: endpoint.id,
        caller,
        requestId: incoming.requestId,
        nowMs: deps.clock.nowMs(),
      }),
    )
    if (endpoint.auth === 'page') requireOwnPage(incoming, deps.config.baseUrl, form)
    const request = new WalkRequest(incoming, endpoint, caller, params, form, origin)
    if (endpoint.auth === 'credential' || endpoint.auth === 'api_key_and_credential') request.presentation()
    fit(endpoint.request.headers, incoming.raw.headers, 'headers')
    return whenKnown(
      form === 'none' ? undefined : admission.aside(endpoint, readBody(incoming, endpoint)),
      (bytes) => {
        if (bytes !== undefined) {
          request.arrived(bytes)
          // Any number of bodies may have been held back until all of them had passed the check at
          // the start.
          requirePace(incoming, endpoint, paces, monotonicMs())
        }
        // Where the guard asks who it is, what was sent is looked at when the guard has accepted
        // them.
        if (endpoint.auth !== 'credential') request.parts()
        const answering = () => {
          const isLate = performance.now() - knownAtMs > KEY_TRUSTED_MS
          return isLate
            ? confirmKey(caller, incoming, gates).then(() => route(request, deps))
            : route(request, deps)
        }
        const requireReadable = () => requireReadableCredential(request)
        const requireSameCaller = () => requireSameHolder(request, deps)
        const answer = endpoint.idempotency
          ? answerOnce(
              { incoming, endpoint, caller, body: bytes, requireReadable, requireSameCaller },
              deps,
              async () => answering(),
            )
          : answering()
        return whenKnown(answer, (made) => {
          request.parts()
          return made
        })
      },
    )
  }
  const walked = (incoming: Incoming, mounted: Mounted, rawParams: unknown) => {
    const form = bodyFormOf(incoming.raw, mounted.endpoint)
    const caller = authenticate(incoming, mounted.endpoint, gates)
    return whenKnown(caller, (known) => withCaller(incoming, mounted, rawParams, form, known))
  }
  const refused = (thrown: unknown, incoming: Incoming, { endpoint }: Mounted): never => {
    admission.leave()
    if (isCallersFault(thrown)) {
      const { address, caller } = incoming
      // Counted now: the window in which a slow request started may be over.
      const nowMs = monotonicMs()
      const presenter = presenterOf(incoming, endpoint)
      const cost = costOf(incoming)
      if (presenter !== undefined) paces.count('failed_presentation', presenter, nowMs, cost)
      // One of them is counted already.
      if (cost > 1 && caller?.kind === 'anonymous' && endpoint.rateLimit === 'caller')
        paces.count('keyless', address, nowMs, cost - 1)
    }
    throw thrown
  }

  return (incoming, mounted, rawParams) => {
    refuseUnfit(incoming)
    admission.enter(mounted.endpoint)
    let answer: RouteAnswer | Promise<RouteAnswer>
    try {
      answer = walked(incoming, mounted, rawParams)
    } catch (thrown) {
      return refused(thrown, incoming, mounted)
    }
    if (answer instanceof Promise) {
      return answer.then(
        (made) => {
          admission.leave()
          return made
        },
        (thrown) => refused(thrown, incoming, mounted),
      )
    }
    admission.leave()
    return answer
  }
}

const COST_BYTES = 4096
/**
 * Node takes about 3 µs for each piece of a body, however small, and a rejected request about 0.4
 * ms.
 */
const COST_PIECES = 128

/**
 * What a rejected request has cost, in requests of ordinary size: to read and check a large one
 * takes several times as long.
 */
function costOf({ bodyBytes, bodyPieces, lines }: Incoming): number {
  const credentialChars = lines('x-service-credential')?.[0]?.length ?? 0
  return 1 + Math.floor((bodyBytes + credentialChars) / COST_BYTES) + Math.floor(bodyPieces / COST_PIECES)
}

function siteOf(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'site_id' in params ? params.site_id : undefined
}

function isCallersFault(thrown: unknown): boolean {
  return thrown instanceof Problem && problems[thrown.code].status < 500 && thrown.code !== 'rate_limited'
}
