import type { Guard } from '../guard/guard.ts'
import { admit, verifyOnce } from './admission.ts'
import { joinTurn } from './join-turn.ts'
import {
  endWithAccess,
  NodeGuardRequest,
  type NodeRequest,
  type NodeResponse,
  onResponseOver,
  sendDenial,
  sendMetadata,
} from './node-request.ts'
import {
  findMetadataAnswer,
  type ProtectedResourceOptions,
  type ResourceMetadata,
  withMetadata,
} from './protected-resource.ts'
import { findRawBody } from './raw-bodies.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  readRequirement,
  requireFramework,
} from './require-credential.ts'

export { getAccessSignal, getCredential } from './admission.ts'
export { captureRawBody } from './raw-bodies.ts'
export type { ProtectedResourceOptions, RequireCredentialOptions, ResourceMetadata }

/** Middleware of Express 4 and 5, and of other frameworks that call `(req, res, next)`. */
export type Middleware = (
  request: NodeRequest & { readonly originalUrl?: string },
  response: NodeResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * Passes on requests whose credential or token the guard accepts for this scope, and answers all
 * others with problem+json. Handlers find the verdict with `getCredential(req)`.
 *
 * The body of a request with a bound credential is compared with its Content-Digest. So put this in
 * front of body parsers, which can still read the body afterwards, or give them `{ verify:
 * captureRawBody }`. If another parser has consumed the bytes, `next` gets a TypeError that says
 * so. Throws a TypeError for an invalid scope.
 */
export function requireCredential(guard: Guard, ...rest: DemandAndOptions): Middleware {
  const { demand, bodyBytesMax, resource } = readRequirement(guard, rest)
  return async (request, response, next) => {
    requireFramework(typeof next === 'function', 'express', '(request, response, next)')
    try {
      const target = request.originalUrl ?? request.url ?? '/'
      const answer = findMetadataAnswer(resource, request.method ?? 'GET', target)
      if (answer !== undefined) return sendMetadata(response, answer)
      const guarded = new NodeGuardRequest(request, target, bodyBytesMax, findRawBody(request))
      await joinTurn()
      const verdict = await verifyOnce(request, guard, guarded, demand)
      if (!verdict.ok) return sendDenial(request, response, verdict)
      admit(request, guard, verdict, (over) => onResponseOver(response, over))
      endWithAccess(request, response, guard, verdict)
    } catch (error) {
      return next(error)
    }
    // Outside of the try: errors of handlers are not ours.
    next()
  }
}

/** Middleware that serves the metadata of a resource, and passes on all other requests. */
export type ProtectedResource = ResourceMetadata &
  ((
    request: Pick<NodeRequest, 'method' | 'url'> & { readonly originalUrl?: string },
    response: NodeResponse,
    next: () => void,
  ) => void)

/**
 * Describes this application to OAuth clients (RFC 9728), so that an unmodified client finds its
 * authorization server. Mount it with `app.use(resource)` in front of everything that needs a
 * credential, and pass it as an option: `requireCredential(guard, demand, { resource })`. Throws a
 * TypeError for options that clients would reject.
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResource {
  return withMetadata(options, (resource) => (request, response, next) => {
    const target = request.originalUrl ?? request.url ?? '/'
    const answer = findMetadataAnswer(resource, request.method ?? 'GET', target)
    if (answer === undefined) next()
    else sendMetadata(response, answer)
  })
}
