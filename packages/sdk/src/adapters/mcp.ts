import type { AccessEnded } from '../guard/access-monitor.ts'
import { ANY_CREDENTIAL, type GuardDemand, readDemand } from '../guard/demand.ts'
import { type Guard, toDenialBy } from '../guard/guard.ts'
import type { GuardBody, GuardRequest } from '../guard/request.ts'
import type { GuardAllow, GuardDenial, GuardVerdict } from '../guard/verdict.ts'
import {
  admit,
  getAccessSignal as getSignal,
  getCredential as requireAdmitted,
  verifyOnce,
} from './admission.ts'
import { withCheckedBody } from './body-reads.ts'
import { denialResponse } from './denial-response.ts'
import { endWithSignal } from './ended-response.ts'
import { findMetadataResponse, WebGuardRequest } from './fetch.ts'
import { joinTurn } from './join-turn.ts'
import { type ToolDenial, toJsonRpcDenial, toToolDenial } from './mcp-denial.ts'
import {
  findToolDemand,
  isMcpBodyFault,
  type McpToolScopes,
  type ReadToolScopes,
  readToolScopes,
} from './mcp-tools.ts'
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
} from './protected-resource.ts'
import { findRawBody } from './raw-bodies.ts'
import {
  type DemandAndOptions,
  type RequireCredentialOptions,
  type Requirement,
  readRequirement,
  requireFramework,
} from './require-credential.ts'

export { type ProtectedResource, protectedResource } from './express.ts'
export { captureRawBody } from './raw-bodies.ts'
export type {
  McpToolScopes,
  ProtectedResourceOptions,
  RequireCredentialOptions,
  ResourceMetadata,
  ToolDenial,
}

/** Options of a guarded MCP server. */
export interface McpOptions extends RequireCredentialOptions {
  /**
   * The scopes of its tools. Calls are then decided by the tool that the body names, before the
   * server sees them; bodies have at most `bodyBytesMax` bytes.
   */
  readonly tools?: McpToolScopes
}

type DemandAndMcpOptions = readonly [demand?: GuardDemand, options?: McpOptions | undefined]

/**
 * What both MCP SDKs call the caller of a request. `token` is the id of the credential, never the
 * credential.
 */
export interface McpAuthInfo {
  readonly token: string
  readonly clientId: string
  scopes: string[]
  readonly expiresAt: number
  readonly extra: { readonly credential: GuardAllow; readonly [member: string]: unknown }
}

/**
 * `createMcpHandler(…)` of `@modelcontextprotocol/server`, or anything that serves web-standard
 * requests in the same way.
 */
export interface McpFetchHandler {
  fetch(request: Request, options: { authInfo: McpAuthInfo }): Promise<Response>
}

/**
 * A Streamable HTTP server on web-standard requests (MCP SDK 2.x) behind a guard: every request of
 * every session is verified, and an open stream ends when the credential behind it is revoked.
 * Denials are problem+json and a JSON-RPC error at once. Tools find the verdict with
 * `getCredential(ctx)`.
 */
export function guardMcp(
  guard: Guard,
  handler: McpFetchHandler,
  ...rest: DemandAndMcpOptions
): (request: Request) => Promise<Response> {
  const required = readMcpRequirement(guard, rest)
  if (typeof handler?.fetch !== 'function')
    throw new TypeError('the second argument of guardMcp must be a handler with a fetch method')
  return async (request) => {
    const metadata = findMetadataResponse(required.resource, request)
    if (metadata !== undefined) return metadata
    const guarded = new WebGuardRequest(request, required.bodyBytesMax)
    const verdict = await verifyCall(request, guard, guarded, required)
    if (!verdict.ok) return denialResponse(toJsonRpcDenial(verdict))
    let over = () => {}
    const authInfo = admitCall(request, guard, verdict, (callback) => {
      over = callback
    })
    const cut = cutAfter(getSignal(authInfo.extra))
    try {
      const answer = handler.fetch(withCheckedBody(request, guard, verdict), { authInfo })
      // Not by `instanceof`: a server may have replaced the global Response.
      const { response, denial } = await Promise.race([
        answer.then((response) => ({ response, denial: undefined })),
        cut.denied.then((denial) => ({ response: undefined, denial })),
      ])
      if (denial !== undefined) {
        answer.then(
          ({ body }) => body?.cancel(),
          () => undefined,
        )
        over()
        return denialResponse(toJsonRpcDenial(denial))
      }
      return endWithSignal(cut.signal, response, over, request.method)
    } catch (error) {
      over()
      throw error
    }
  }
}

/** Middleware of Express, and of other frameworks that call `(req, res, next)`. */
export type McpMiddleware = (
  request: NodeRequest & { readonly originalUrl?: string },
  response: NodeResponse & { readonly headersSent: boolean; destroy(): unknown },
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * The same for servers on Node's requests: the transports of MCP SDK 1.x and of
 * `@modelcontextprotocol/node`, behind Express or `node:http`. It sets `req.auth`, which both SDKs
 * read. Put it in front of body parsers, or give them `{ verify: captureRawBody }`.
 */
export function requireCredential(guard: Guard, ...rest: DemandAndMcpOptions): McpMiddleware {
  const required = readMcpRequirement(guard, rest)
  return async (request, response, next) => {
    requireFramework(typeof next === 'function', 'mcp', '(request, response, next)')
    try {
      const target = request.originalUrl ?? request.url ?? '/'
      const answer = findMetadataAnswer(required.resource, request.method ?? 'GET', target)
      if (answer !== undefined) return sendMetadata(response, answer)
      // Read before the guard reads the body and puts it back.
      const parsed = findParsedBody(request)
      const guarded = new NodeGuardRequest(request, target, required.bodyBytesMax, findRawBody(request))
      const verdict = await verifyCall(request, guard, guarded, required, parsed)
      if (!verdict.ok) return sendDenial(request, response, toJsonRpcDenial(verdict))
      const auth = admitCall(request, guard, verdict, (over) => onResponseOver(response, over))
      Object.assign(request, { auth })
      endWithAccess(request, response, guard, verdict)
      cutAfter(getSignal(auth.extra)).denied.then((denial) => {
        if (response.headersSent) response.destroy()
        else sendDenial(request, response, toJsonRpcDenial(denial))
      })
    } catch (error) {
      return next(error)
    }
    next()
  }
}

/**
 * A tool, prompt or resource that needs its own scope. Without that scope, or when access ends
 * while the tool runs, the tool returns an error that a model can act upon. `call` must run behind
 * `guardMcp` or `requireCredential`.
 */
export function requireScope<Args extends unknown[], Result>(
  scope: string | readonly string[],
  call: (...args: Args) => Result | Promise<Result>,
): (...args: Args) => Promise<Result | ToolDenial> {
  const wanted = readDemand({ scope }).scope
  if (typeof call !== 'function')
    throw new TypeError('the second argument of requireScope must be a function')
  return async (...args) => {
    const extra = requireAuthExtra(args.at(-1))
    const { subject } = requireAdmitted(extra)
    const missing = wanted.filter((one) => !subject.scope.includes(one))
    if (missing.length > 0) {
      const detail = `This tool needs the scope ${wanted.join(' ')}, and the credential lacks ${missing.join(' ')}. Request one that has it.`
      return toToolDenial({
        code: 'scope_insufficient',
        detail,
        needs: 'scope',
        retryable: false,
        requiredScope: wanted,
      })
    }
    const signal = getSignal(extra)
    const denial = findDenial(signal)
    if (denial !== undefined) return toToolDenial(denial)
    return Promise.race([call(...args), ended(signal).then(toToolDenial)])
  }
}

/**
 * The verdict that granted access to this call, from the last argument of a tool. Throws a
 * TypeError if no guard protects the server.
 */
export function getCredential(context: unknown): GuardAllow {
  return requireAdmitted(requireAuthExtra(context))
}

/**
 * Fires when this call would no longer be accepted: revoked, expired, distrusted, or the revocation
 * data is stale. For long-running tools.
 */
export function getAccessSignal(context: unknown): AbortSignal {
  return getSignal(requireAuthExtra(context))
}

interface McpRequirement extends Requirement {
  readonly tools: ReadToolScopes | undefined
}

function readMcpRequirement(guard: Guard, rest: DemandAndMcpOptions): McpRequirement {
  const [demand, options] = rest
  const { tools, ...others } = options ?? {}
  // The other adapters judge a wrong demand and wrong options in the same way.
  const common = options && typeof options === 'object' ? ([demand, others] as DemandAndOptions) : rest
  return { ...readRequirement(guard, common), tools: tools && readToolScopes(tools) }
}

/**
 * Decides about the request and then, once its caller is known, about the tools that it calls.
 * `owner` is the request of the framework, which another adapter may have admitted before.
 */
async function verifyCall(
  owner: object,
  guard: Guard,
  request: GuardRequest,
  { demand, tools }: McpRequirement,
  parsed?: { readonly parsed: unknown },
): Promise<GuardVerdict> {
  await joinTurn()
  if (tools === undefined || BODILESS.test(request.method)) return verifyOnce(owner, guard, request, demand)
  const guarded = keepBody(request)
  const verdict = await verifyOnce(owner, guard, guarded, demand)
  if (!verdict.ok) return verdict
  const found = findToolDemand(guarded, parsed ?? (await guarded.body?.()), tools)
  if (found !== undefined && isMcpBodyFault(found)) return toDenialBy(guard, found, guarded)
  // Access may have ended while the body arrived, also for calls that name no tool.
  return guard.recheck(verdict, found ?? ANY_CREDENTIAL)
}

const BODILESS = /^(?:GET|HEAD|DELETE|OPTIONS)$/

/** The same request, whose body is read once for the guard and for the tools. */
function keepBody(request: GuardRequest): GuardRequest {
  let body: Promise<GuardBody> | undefined
  const { method, url } = request
  return {
    method,
    url,
    header: (name) => request.header(name),
    body: () => (body ??= Promise.resolve(request.body?.())),
  }
}

/**
 * What a parser in front has made of the body. Only if it has read the stream to its end: otherwise
 * the server reads the stream, whatever `body` says. A guard in front has read it and put it back.
 */
function findParsedBody(request: NodeRequest & { readonly body?: unknown }): { parsed: unknown } | undefined {
  const { body, readableEnded } = request
  return readableEnded && typeof body === 'object' && !(body instanceof Uint8Array)
    ? { parsed: body }
    : undefined
}

/** The time in which a tool's denial can still be sent after access has ended. */
const DENIAL_MS = 50

/** Admits the request for other guards, and what the SDK passes to tools for their own use. */
function admitCall(
  request: object,
  guard: Guard,
  credential: GuardAllow,
  onDone: (over: () => void) => void,
): McpAuthInfo {
  const { subject } = credential
  const extra = { credential }
  admit(request, guard, credential, onDone)
  admit(extra, guard, credential, onDone)
  return {
    token: subject.credentialId,
    clientId: (credential.presented === 'jwt' && credential.token.clientId) || subject.ppid,
    scopes: [...subject.scope],
    expiresAt: Math.floor(subject.expiresAtMs / 1000),
    extra,
  }
}

/** SDK 2.x has it in `ctx.http.authInfo`, 1.x in `extra.authInfo`. */
function requireAuthExtra(context: unknown): object {
  const { http, authInfo } = (context ?? {}) as { http?: { authInfo?: McpAuthInfo }; authInfo?: McpAuthInfo }
  const extra = (http?.authInfo ?? authInfo)?.extra
  if (extra === undefined) throw new TypeError('no guard protects this MCP server')
  return extra
}

/** Why access has ended. Not by `instanceof`: the guard may come from another copy of the SDK. */
function findDenial({ reason }: AbortSignal): GuardDenial | undefined {
  return (reason as Partial<AccessEnded> | null | undefined)?.denial
}

function ended(signal: AbortSignal): Promise<GuardDenial> {
  return new Promise((resolve) => {
    const settle = () => {
      const denial = findDenial(signal)
      if (denial !== undefined) resolve(denial)
    }
    if (signal.aborted) settle()
    else signal.addEventListener('abort', settle, { once: true })
  })
}

/** Fires `DENIAL_MS` after the signal. */
function cutAfter(signal: AbortSignal): {
  readonly signal: AbortSignal
  readonly denied: Promise<GuardDenial>
} {
  const cut = new AbortController()
  const denied = ended(signal).then(async (denial) => {
    await new Promise((resolve) => setTimeout(resolve, DENIAL_MS))
    cut.abort(signal.reason)
    return denial
  })
  return { signal: cut.signal, denied }
}
