import { problems } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { Problem } from '../problem.ts'
import type { RouteAnswer, RouteRequest } from '../routes/route.ts'
import { authenticate, authorize, type Gatekeeping } from './authenticate.ts'
import { bodyFormOf, readBody } from './body.ts'
import type { MountedEndpoint } from './exit.ts'
import { answerOnce } from './idempotency.ts'
import { type Incoming, refuseUnfit } from './incoming.ts'
import type { Admission } from './overload.ts'
import { fit, type Origin, WalkRequest } from './walk-request.ts'

export interface WalkGates extends Gatekeeping {
  readonly deps: Deps
  readonly admission: Admission
}

/** One endpoint as the http layer sees it: its row of the contract and the route behind it. */
export interface Mounted {
  readonly endpoint: MountedEndpoint
  readonly route: (request: RouteRequest, deps: Deps) => Promise<RouteAnswer>
}

/** Takes a request to its answer, or throws what is to be refused. Notes in `incoming` who calls, once that is known. */
export type Walk = (incoming: Incoming, mounted: Mounted, rawParams: unknown) => Promise<RouteAnswer>

/**
 * The walk of every request, in this order and no other:
 *
 *   fit at all → room for it → kind of body → pace and who → may they → presentation → body → shape → once → route
 *
 * Limits come before work, and who is asked before what: a stranger learns nothing about what a good request looks like. Each step answers
 * or throws; what is thrown leaves through the one exit.
 */
export function createWalk(gates: WalkGates): Walk {
  const { deps, admission, refusals, paces } = gates
  const { host, protocol } = new URL(deps.config.baseUrl)
  const origin: Origin = { authority: host, scheme: protocol === 'https:' ? 'https' : 'http' }

  return async (incoming, { endpoint, route }, rawParams) => {
    refuseUnfit(incoming)
    admission.enter(endpoint)
    try {
      const form = bodyFormOf(incoming.raw, endpoint)
      const found = authenticate(incoming, endpoint, gates)
      const caller = found instanceof Promise ? await found : found
      incoming.caller = caller
      const params = fit(endpoint.request.params, rawParams, 'params')
      authorize(caller, endpoint, siteOf(params), (code) =>
        refusals.note({ code, endpoint: endpoint.id, caller, requestId: incoming.requestId, nowMs: deps.clock.nowMs() }),
      )
      const request = new WalkRequest(incoming, endpoint, caller, params, form, origin)
      if (endpoint.auth === 'credential' || endpoint.auth === 'api_key_and_credential') request.presentation()
      fit(endpoint.request.headers, incoming.raw.headers, 'headers')
      const bytes = form === 'none' ? undefined : await readBody(incoming.raw)
      if (bytes !== undefined) request.arrived(bytes)
      // Where the guard asks who it is, what was sent is looked at when the guard has let them in.
      if (endpoint.auth !== 'credential') request.parts()
      const answer = endpoint.idempotency
        ? await answerOnce({ incoming, endpoint, caller, body: bytes }, deps, () => route(request, deps))
        : await route(request, deps)
      request.parts()
      return answer
    } catch (thrown) {
      const isFailure = endpoint.rateLimit === 'failed_presentation' && isCallersFault(thrown)
      if (isFailure) paces.count('failed_presentation', incoming.address, incoming.startedMs)
      throw thrown
    } finally {
      admission.leave()
    }
  }
}

function siteOf(params: unknown): unknown {
  return typeof params === 'object' && params !== null && 'site_id' in params ? params.site_id : undefined
}

function isCallersFault(thrown: unknown): boolean {
  return thrown instanceof Problem && problems[thrown.code].status < 500 && thrown.code !== 'rate_limited'
}
