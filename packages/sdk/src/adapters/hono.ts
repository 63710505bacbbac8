import type { MiddlewareHandler } from 'hono'
import type { Guard } from '../guard/guard.ts'
import type { GuardAllow, GuardVerdict } from '../guard/verdict.ts'
import { admit, signalOf } from './admission.ts'
import { endedBy } from './ended-response.ts'
import { denialResponse, WebGuardRequest } from './fetch.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  readRequirement,
} from './require-credential.ts'

export { credentialOf } from './admission.ts'
export { type RequireCredentialOptions, signalOf }

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
 * `credentialOf(c)`.
 *
 * The body of a request with a bound credential is compared with its Content-Digest and can be read
 * afterwards. Put this in front of whatever reads the body; where it was read before, the request
 * fails with a TypeError that says so. When a handler has asked for `signalOf(c)`, its answer ends
 * when that fires.
 */
export function requireCredential(guard: Guard, ...rest: DemandAndOptions): HonoMiddleware {
  const { asked, bodyBytesMax } = readRequirement(guard, rest)
  const middleware = (...[c, next]: Parameters<HonoMiddleware>): Response | Promise<Response | undefined> => {
    const pass = (verdict: GuardVerdict): Response | Promise<undefined> => {
      if (!verdict.ok) return denialResponse(verdict)
      let over: (() => void) | undefined
      admit(c, guard, verdict, (callback) => {
        over = callback
      })
      c.set('credential', verdict)
      return next().then(() => {
        if (over !== undefined) c.res = endedBy(signalOf(c), c.res, over)
        return undefined
      })
    }
    const verdict = guard.decide(new WebGuardRequest(c.req.raw, bodyBytesMax), asked)
    return verdict instanceof Promise ? verdict.then(pass) : pass(verdict)
  }
  // Hono takes an answer at once too, which its type does not say.
  return middleware as HonoMiddleware
}
