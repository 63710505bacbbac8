import type { MiddlewareHandler } from 'hono'
import type { Guard } from '../guard/guard.ts'
import type { GuardAllow } from '../guard/verdict.ts'
import { admit, getAccessSignal, shareAdmission, verifyOnce } from './admission.ts'
import { checkBodyReads } from './body-reads.ts'
import { denialResponse } from './denial-response.ts'
import { endWithSignal } from './ended-response.ts'
import { findMetadataResponse, WebGuardRequest } from './fetch.ts'
import { joinTurn } from './join-turn.ts'
import { type ProtectedResourceOptions, type ResourceMetadata, withMetadata } from './protected-resource.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  readRequirement,
  requireFramework,
} from './require-credential.ts'

export { getCredential } from './admission.ts'
export {
  getAccessSignal,
  type ProtectedResourceOptions,
  type RequireCredentialOptions,
  type ResourceMetadata,
}

/**
 * What the middleware sets. Hono finds the type by itself in the handlers that follow it; elsewhere
 * use `new Hono<{ Variables: CredentialVariables }>()`.
 */
export interface CredentialVariables {
  credential: GuardAllow
}

/**
 * Middleware of Hono that sets `credential`. Only the type comes from Hono: nothing of it is
 * loaded.
 */
export type HonoMiddleware = MiddlewareHandler<{ Variables: CredentialVariables }>

/**
 * Passes on requests whose credential or token the guard accepts for this scope, and answers all
 * others with problem+json. Handlers find the verdict with `c.get('credential')` or
 * `getCredential(c)`.
 *
 * The body of a request with a bound credential is compared with its Content-Digest and can be read
 * afterwards. Put this in front of code that reads the body; if it was read before, the request
 * fails with a TypeError that says so. A body that has arrived only after access has ended is not
 * given to the handler: `c.req.json` and the like reject with an error that Hono answers with the
 * denial. When a handler uses `getAccessSignal(c)`, its response ends when that fires.
 */
export function requireCredential(guard: Guard, ...rest: DemandAndOptions): HonoMiddleware {
  const { demand, bodyBytesMax, resource } = readRequirement(guard, rest)
  return async (c, next) => {
    requireFramework(c?.req?.raw !== undefined, 'hono', 'the context of Hono')
    const metadata = findMetadataResponse(resource, c.req.raw)
    if (metadata !== undefined) return metadata
    await joinTurn()
    const guarded = new WebGuardRequest(c.req.raw, bodyBytesMax)
    const verdict = await verifyOnce(c, guard, guarded, demand)
    if (!verdict.ok) return denialResponse(verdict)
    let onDone: (() => void) | undefined
    admit(c, guard, verdict, (done) => {
      onDone = done
    })
    // A handler may pass it to an adapter for web-standard requests.
    shareAdmission(c, c.req.raw)
    checkBodyReads(c.req.raw, guard, verdict)
    c.set('credential', verdict)
    try {
      await next()
    } catch (error) {
      onDone?.()
      throw error
    }
    if (onDone !== undefined) c.res = endWithSignal(getAccessSignal(c), c.res, onDone, c.req.method)
    return undefined
  }
}

/** Middleware that serves the metadata of a resource, and passes on all other requests. */
export type ProtectedResource = ResourceMetadata & MiddlewareHandler

/**
 * Describes this application to OAuth clients (RFC 9728), so that an unmodified client finds its
 * authorization server. Mount it with `app.use(resource)` in front of everything that needs a
 * credential, and pass it as an option: `requireCredential(guard, demand, { resource })`. Throws a
 * TypeError for options that clients would reject.
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResource {
  return withMetadata(
    options,
    (resource): MiddlewareHandler =>
      async (c, next) => {
        const metadata = findMetadataResponse(resource, c.req.raw)
        if (metadata === undefined) await next()
        return metadata
      },
  )
}
