import type { Guard } from '../guard/guard.ts'
import type { GuardDenial } from '../guard/verdict.ts'
import { admit, verifyOnce } from './admission.ts'
import { joinTurn } from './join-turn.ts'
import {
  denialHeaders,
  endWithAccess,
  NodeGuardRequest,
  type NodeRequest,
  type NodeResponse,
  onResponseOver,
} from './node-request.ts'
import {
  findMetadataAnswer,
  type MetadataAnswer,
  type ProtectedResourceOptions,
  type ResourceMetadata,
  withMetadata,
} from './protected-resource.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  readRequirement,
} from './require-credential.ts'

export { getAccessSignal, getCredential } from './admission.ts'
export type { ProtectedResourceOptions, RequireCredentialOptions, ResourceMetadata }

interface FastifyRequestLike {
  readonly raw: NodeRequest
  readonly originalUrl: string
}

interface FastifyReplyLike {
  readonly raw: Pick<NodeResponse, 'once' | 'destroyed' | 'stream' | 'headersSent'>
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(payload: Uint8Array): unknown
}

/** A `preParsing` hook of Fastify 5. */
export type PreParsingHook = <Payload>(
  request: FastifyRequestLike,
  reply: FastifyReplyLike,
  payload: Payload,
) => Promise<Payload>

/**
 * Passes on requests whose credential or token the guard accepts for this scope, and answers all
 * others with problem+json. It is a `preParsing` hook, of a route (`{ preParsing:
 * requireCredential(guard, { scope }) }`) or of a whole plugin (`addHook('preParsing', …)`): there
 * the raw body has not been touched. Handlers find the verdict with `getCredential(request)`.
 *
 * The body of a request with a bound credential is compared with its Content-Digest and can be
 * parsed afterwards. Where a hook before this one has put another stream in its place, the request
 * fails with a TypeError that says so.
 */
export function requireCredential(guard: Guard, ...rest: DemandAndOptions): PreParsingHook {
  const { demand, bodyBytesMax, resource } = readRequirement(guard, rest)
  return async (request, reply, payload) => {
    // Other hooks get `done` in its place, or nothing.
    if (payload === undefined || typeof payload === 'function')
      throw new TypeError(
        'requireCredential of @countersign/sdk/fastify is a preParsing hook, which sees the raw body: use it as preParsing, not as another hook',
      )
    const { raw, originalUrl } = request
    const answer = findMetadataAnswer(resource, raw.method ?? 'GET', originalUrl)
    if (answer !== undefined) {
      sendMetadata(reply, answer)
      return neverGoOn()
    }
    const body = (payload as unknown) === raw ? undefined : 'unseen'
    await joinTurn()
    const guarded = new NodeGuardRequest(raw, originalUrl, bodyBytesMax, body)
    const verdict = await verifyOnce(request, guard, guarded, demand)
    if (!verdict.ok) {
      deny(request, reply, verdict)
      return neverGoOn()
    }
    admit(request, guard, verdict, (over) => onResponseOver(reply.raw, over))
    endWithAccess(raw, reply.raw, guard, verdict)
    return payload
  }
}

function deny({ raw }: FastifyRequestLike, reply: FastifyReplyLike, denial: GuardDenial): void {
  reply.code(denial.status)
  reply.headers(denialHeaders(raw, denial))
  // As bytes: to a text Fastify would add a charset, which problem+json does not have (RFC 9457
  // §6.1).
  reply.send(new TextEncoder().encode(JSON.stringify(denial.problem)))
}

/** An `onRequest` hook that serves the metadata of a resource, and passes on all other requests. */
export type ProtectedResource = ResourceMetadata &
  ((request: FastifyRequestLike, reply: FastifyReplyLike) => Promise<unknown>)

/**
 * Describes this application to OAuth clients (RFC 9728), so that an unmodified client finds its
 * authorization server. Add it with `app.addHook('onRequest', resource)` at the root, and pass it
 * as an option: `requireCredential(guard, demand, { resource })`. Throws a TypeError for options
 * that clients would reject.
 */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResource {
  return withMetadata(options, (resource) => async ({ raw, originalUrl }, reply) => {
    const answer = findMetadataAnswer(resource, raw.method ?? 'GET', originalUrl)
    if (answer === undefined) return undefined
    sendMetadata(reply, answer)
    return neverGoOn()
  })
}

function sendMetadata(reply: FastifyReplyLike, { status, headers, body }: MetadataAnswer): void {
  reply.code(status)
  reply.headers({ ...headers })
  reply.send(new TextEncoder().encode(body))
}

/**
 * A hook that has answered never ends, so that no handler runs after it. A reply that is returned
 * is not enough: Fastify waits for it, and goes on to the handler if the client leaves while the
 * answer is still in an `onSend` hook.
 */
function neverGoOn(): Promise<never> {
  return new Promise(() => {})
}
