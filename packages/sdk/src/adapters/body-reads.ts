import { AccessEnded } from '../guard/access-monitor.ts'
import { ANY_CREDENTIAL } from '../guard/demand.ts'
import type { Guard } from '../guard/guard.ts'
import type { GuardAllow } from '../guard/verdict.ts'
import { denialResponse } from './denial-response.ts'

const READS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text'] as const
const BODILESS = /^(?:GET|HEAD)$/

type BodyReads = { [Name in (typeof READS)[number]]?: () => Promise<unknown> }

/** Access has ended before the body had arrived. */
export class BodyAccessEnded extends AccessEnded {
  /** Hono answers with it, unless the application has an error handler of its own. */
  getResponse(): Response {
    return denialResponse(this.denial)
  }
}

/**
 * Lets every method that reads the body of an accepted request check the access again once the body
 * has arrived, and reject with a `BodyAccessEnded` if it has ended. Otherwise a caller could hold
 * back the last byte, and the handler would go on after the revocation. The methods are replaced on
 * the request itself, because frameworks attach more to it than a copy would have.
 */
export function checkBodyReads(request: Request, guard: Guard, accepted: GuardAllow): void {
  if (BODILESS.test(request.method)) return
  for (const name of READS) {
    const read = (request as BodyReads)[name]
    // Older runtimes lack `bytes`.
    if (read === undefined) continue
    replace(request, name, async () => {
      const body = await read.call(request)
      requireAccess(guard, accepted)
      return body
    })
  }
  const { clone } = request
  replace(request, 'clone', () => {
    const copy = clone.call(request)
    checkBodyReads(copy, guard, accepted)
    return copy
  })
}

/** A copy of the request whose body fails at its end if access has ended by then. */
export function withCheckedBody(request: Request, guard: Guard, accepted: GuardAllow): Request {
  const { url, method, headers, body, signal } = request
  if (body === null) return request
  const checked = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({ flush: () => requireAccess(guard, accepted) }),
  )
  // Not `new Request(request)`: what a server passes may only look like a Request.
  const init: RequestInit & { duplex: 'half' } = { method, headers, body: checked, signal, duplex: 'half' }
  return new Request(url, init)
}

/** Expiry does not count here: an upload may take longer than the rest of a credential's time. */
function requireAccess(guard: Guard, accepted: GuardAllow): void {
  const verdict = guard.recheck(accepted, ANY_CREDENTIAL)
  if (!verdict.ok && accepted.subject.expiresAtMs > Date.now()) throw new BodyAccessEnded(verdict)
}

/** Not assigned: the methods of some requests are not writable. */
function replace(request: Request, name: string, value: () => unknown): void {
  Object.defineProperty(request, name, { value, configurable: true, writable: true })
}
