import { ANY_CREDENTIAL, type GuardDemand } from '../guard/demand.ts'
import type { Guard } from '../guard/guard.ts'
import type { GuardBody, GuardRequest } from '../guard/request.ts'
import type { GuardAllow, GuardVerdict } from '../guard/verdict.ts'
import { readBoundedBody } from '../shared/bounded-body.ts'
import { admit, getAccessSignal, verifyOnce } from './admission.ts'
import { BodyAccessEnded, checkBodyReads } from './body-reads.ts'
import { denialResponse } from './denial-response.ts'
import { endWithSignal } from './ended-response.ts'
import { joinTurn } from './join-turn.ts'
import {
  findMetadataAnswer,
  type ProtectedResourceOptions,
  type ResourceMetadata,
  toTarget,
  withMetadata,
} from './protected-resource.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  readRequirement,
  requireFramework,
} from './require-credential.ts'

export { getCredential } from './admission.ts'
export {
  denialResponse,
  getAccessSignal,
  type ProtectedResourceOptions,
  type RequireCredentialOptions,
  type ResourceMetadata,
}

/**
 * A handler of requests, with the other arguments of its framework: the context of a Next route,
 * `env` and `ctx` of a worker.
 */
export type GuardedHandler<Rest extends unknown[]> = (
  request: Request,
  credential: GuardAllow,
  ...rest: Rest
) => Response | Promise<Response>

/** A handler as a framework calls it, with the guard in front. */
export type ProtectedHandler<Rest extends unknown[]> = (request: Request, ...rest: Rest) => Promise<Response>

/**
 * A handler of web-standard requests behind a guard: it is called when the guard accepts the
 * credential or token for this scope, with the verdict as its second argument; all others are
 * answered with problem+json. The body of a request with a bound credential is compared with its
 * Content-Digest and can be read afterwards. A body that has arrived only after access has ended is
 * not given to the handler: `json`, `text` and the like reject, and the answer is the denial. When
 * the handler uses `getAccessSignal(request)`, its response ends when that fires.
 */
export function requireCredential<Rest extends unknown[]>(
  guard: Guard,
  demand: GuardDemand,
  handler: GuardedHandler<Rest>,
  options?: RequireCredentialOptions,
): ProtectedHandler<Rest>
/** Without a demand: accepts any valid credential of the site. */
export function requireCredential<Rest extends unknown[]>(
  guard: Guard,
  handler: GuardedHandler<Rest>,
  options?: RequireCredentialOptions,
): ProtectedHandler<Rest>
export function requireCredential<Rest extends unknown[]>(
  guard: Guard,
  ...args: readonly unknown[]
): ProtectedHandler<Rest> {
  const [demand, handler, options] = (typeof args[0] === 'function' ? [ANY_CREDENTIAL, ...args] : args) as [
    GuardDemand,
    GuardedHandler<Rest>,
    RequireCredentialOptions | undefined,
  ]
  const required = readRequirement(guard, [demand, options])
  if (typeof handler !== 'function')
    throw new TypeError('the handler must be a function: requireCredential(guard, demand, handler)')
  return async (request, ...rest) => {
    requireWebRequest(request)
    const metadata = findMetadataResponse(required.resource, request)
    if (metadata !== undefined) return metadata
    await joinTurn()
    const guarded = new WebGuardRequest(request, required.bodyBytesMax)
    const verdict = await verifyOnce(request, guard, guarded, required.demand)
    if (!verdict.ok) return denialResponse(verdict)
    let over: (() => void) | undefined
    admit(request, guard, verdict, (callback) => {
      over = callback
    })
    checkBodyReads(request, guard, verdict)
    try {
      const response = await handler(request, verdict, ...rest)
      // Only if the handler uses the signal. Otherwise the response is returned as it is.
      if (over === undefined) return response
      return endWithSignal(getAccessSignal(request), response, over, request.method)
    } catch (error) {
      over?.()
      if (error instanceof BodyAccessEnded) return error.getResponse()
      throw error
    }
  }
}

/**
 * Decides about a web-standard request; its body can still be read afterwards. For middleware with
 * its own responses.
 */
export function verifyRequest(
  guard: Guard,
  request: Request,
  ...rest: DemandAndOptions
): Promise<GuardVerdict> {
  const { demand, bodyBytesMax } = readRequirement(guard, rest)
  requireWebRequest(request)
  return Promise.resolve(verifyOnce(request, guard, new WebGuardRequest(request, bodyBytesMax), demand))
}

/** Returns the metadata for requests that ask for them, and undefined for all others. */
export type ProtectedResource = ResourceMetadata & ((request: Request) => Response | undefined)

/**
 * Describes this application to OAuth clients (RFC 9728), so that an unmodified client finds its
 * authorization server. Ask it first, `resource(request) ?? route(request)`, and pass it as an
 * option: `requireCredential(guard, demand, handler, { resource })`. Throws a TypeError for options
 * that clients would reject.
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResource {
  return withMetadata(options, (resource) => (request) => findMetadataResponse(resource, request))
}

/** Not by `instanceof`: a server may have a Request of its own. */
function requireWebRequest(request: Request): void {
  requireFramework(typeof request?.headers?.get === 'function', 'fetch', 'a web-standard Request')
}

export function findMetadataResponse(
  resource: ResourceMetadata | undefined,
  request: Request,
): Response | undefined {
  if (resource === undefined) return undefined
  const answer = findMetadataAnswer(resource, request.method, toTarget(request.url))
  return answer && new Response(answer.body || null, answer)
}

/**
 * A web-standard request for a guard. Repeated lines are joined by commas, which the guard
 * recognizes.
 */
export class WebGuardRequest implements GuardRequest {
  readonly #request: Request
  readonly #bodyBytesMax: number

  constructor(request: Request, bodyBytesMax: number) {
    this.#request = request
    this.#bodyBytesMax = bodyBytesMax
  }

  get method(): string {
    return this.#request.method
  }

  get url(): string {
    return this.#request.url.split('#', 1)[0] as string
  }

  header(name: string): readonly string[] {
    const value = this.#request.headers.get(name)
    return value === null ? [] : [value]
  }

  body(): Promise<GuardBody> {
    return readBody(this.#request, this.#bodyBytesMax)
  }
}

async function readBody(request: Request, bytesMax: number): Promise<GuardBody> {
  if (request.bodyUsed) return 'unseen'
  if (request.body === null) return undefined
  return (await readBoundedBody(request.clone().body, bytesMax)) ?? 'too_large'
}
