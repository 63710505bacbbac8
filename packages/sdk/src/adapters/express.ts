import type { Guard } from '../guard/guard.ts'
import type { GuardVerdict } from '../guard/verdict.ts'
import { admit } from './admission.ts'
import { NodeGuardRequest, type NodeRequest, type NodeResponse, sendDenial } from './node-request.ts'
import { keptBodyOf } from './raw-bodies.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  readRequirement,
} from './require-credential.ts'

export { credentialOf, signalOf } from './admission.ts'
export { keepRawBody } from './raw-bodies.ts'
export type { RequireCredentialOptions }

/** Middleware of Express 4 and 5, and of whatever else calls `(req, res, next)`. */
export type Middleware = (
  request: NodeRequest & { readonly originalUrl?: string },
  response: NodeResponse,
  next: (error?: unknown) => void,
) => void | Promise<void>

/**
 * Passes on requests whose credential or token the guard accepts for this scope, and answers all
 * others with problem+json. Handlers find the verdict with `credentialOf(req)`.
 *
 * The body of a request with a bound credential is compared with its Content-Digest. So put this in
 * front of body parsers, which can still read the body afterwards, or give them `{ verify:
 * keepRawBody }`. Where the bytes are gone, `next` gets a TypeError that says so. Throws a
 * TypeError for a scope that is none.
 */
export function requireCredential(guard: Guard, ...rest: DemandAndOptions): Middleware {
  const { asked, bodyBytesMax } = readRequirement(guard, rest)
  return (request, response, next) => {
    const pass = (verdict: GuardVerdict) => {
      try {
        if (!verdict.ok) return sendDenial(request, response, verdict)
        admit(request, guard, verdict, (over) => response.once('close', over))
      } catch (error) {
        return next(error)
      }
      // Outside of the try: what handlers throw is theirs.
      next()
    }
    let verdict: GuardVerdict | Promise<GuardVerdict>
    try {
      const target = request.originalUrl ?? request.url ?? '/'
      verdict = guard.decide(new NodeGuardRequest(request, target, bodyBytesMax, keptBodyOf(request)), asked)
    } catch (error) {
      return next(error)
    }
    // Most verdicts are there at once, and waiting for those would cost more than they do.
    return verdict instanceof Promise ? verdict.then(pass, next) : pass(verdict)
  }
}
