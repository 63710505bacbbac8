import type { ServerResponse } from 'node:http'
import { endpointList } from '@countersign/core/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions, LightMyRequestResponse } from 'fastify'
import type { Deps } from './deps.ts'
import { createAccessLog } from './http/access-log.ts'
import { hasLongBody } from './http/body.ts'
import { createClientAddress } from './http/client-address.ts'
import { createExit, type MountedEndpoint, type Outgoing } from './http/exit.ts'
import { fieldLines } from './http/field-lines.ts'
import { Incoming, newRequestId, refuseUnfit } from './http/incoming.ts'
import { createKeyRefusals } from './http/key-refusals.ts'
import { createAdmission, type LoadGauge, openLoadGauge } from './http/overload.ts'
import { createPathTable, routerPath } from './http/path-table.ts'
import { createPaces } from './http/rate-limit.ts'
import { createServer } from './http/server.ts'
import { createOnClientError } from './http/server-limits.ts'
import { createWalk, type Mounted } from './http/walk.ts'
import { STYLE_PATH, style } from './pages/page.ts'
import { Problem } from './problem.ts'
import { routes as allRoutes, type Routes } from './routes/all.ts'
import type { RouteAnswer } from './routes/route.ts'
import { SERVICE_VERSION } from './version.ts'

/** The service as something that answers requests. */
export interface App {
  /** A request without a socket. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>
  /** Listens where the configuration says; a port of 0 is a free one. Rejects when that cannot be done. */
  listen(): Promise<{ readonly port: number }>
  /** Stops accepting, lets what runs finish, and resolves when the last connection is closed. */
  close(): Promise<void>
  /** For tests and benchmarks that need the server itself. */
  readonly fastify: FastifyInstance
}

export interface AppOptions {
  readonly routes?: Routes
  /** How busy the process is; measured when absent. */
  readonly gauge?: LoadGauge
  /** A clock that never runs back, for paces and durations. */
  readonly monotonicMs?: () => number
}

/** Mounts every endpoint of the contract that has a route. What has none is not there: 404 `not_found`. */
export function createApp(deps: Deps, { routes = allRoutes, gauge, monotonicMs = () => performance.now() }: AppOptions = {}): App {
  const { config, log, meters } = deps
  const measured = gauge ?? openLoadGauge()
  const accessLog = createAccessLog(log, meters)
  const exit = createExit({ baseUrl: config.baseUrl, version: SERVICE_VERSION, onFault: accessLog.fault })
  const refusals = createKeyRefusals(deps.store, log)
  const admission = createAdmission(config.overload, measured)
  const walk = createWalk({ deps, refusals, paces: createPaces(config.rateLimits), admission })
  const clientAddress = createClientAddress(config.trustedProxies)
  const isBehindProxy = config.trustedProxies.length > 0
  const incomingOf = ({ raw }: FastifyRequest) => {
    const forwardedFor = isBehindProxy ? fieldLines(raw.rawHeaders, 'x-forwarded-for') : undefined
    return new Incoming(raw, clientAddress(raw.socket.remoteAddress, forwardedFor), monotonicMs())
  }

  let isClosing = false
  /** From a request to what is sent, for better or worse. */
  const serve = async (
    incoming: Incoming,
    endpoint: MountedEndpoint | undefined,
    response: ServerResponse,
    answering: Promise<RouteAnswer>,
  ) => {
    let outgoing: Outgoing
    try {
      outgoing = exit.answer(await answering, endpoint, incoming.requestId)
    } catch (thrown) {
      outgoing = exit.refusal(thrown, endpoint, incoming.requestId)
      if (hasLongBody(incoming.raw)) response.setHeader('connection', 'close')
    }
    // A connection that was kept alive now would be waited for.
    if (isClosing) response.setHeader('connection', 'close')
    accessLog.request({ incoming, endpoint, outgoing, ms: monotonicMs() - incoming.startedMs })
    try {
      send(outgoing, response)
    } catch (fault) {
      // A header that cannot be written. Nobody may mistake what comes instead for an answer.
      accessLog.fault(fault, endpoint, incoming.requestId)
      response.destroy()
    }
  }
  const refuse = (request: FastifyRequest, reply: FastifyReply, problemOf: (incoming: Incoming) => unknown) => {
    const incoming = incomingOf(request)
    const refusing = async (): Promise<never> => {
      refuseUnfit(incoming)
      throw problemOf(incoming)
    }
    void serve(incoming, undefined, reply.hijack().raw, refusing())
  }

  const fastify = createServer(
    (request, reply) => refuse(request, reply, () => new Problem('not_found')),
    createOnClientError(exit, newRequestId, accessLog.unread),
  )
  const mounted = mount(routes)
  for (const one of mounted) {
    fastify.route({
      method: one.endpoint.method,
      url: routerPath(one.endpoint.path),
      // The answer is written by us, not by the web server, which would add to the media types.
      handler: (request, reply) => {
        const incoming = incomingOf(request)
        void serve(incoming, one.endpoint, reply.hijack().raw, walk(incoming, one, request.params))
      },
    })
  }
  fastify.get(STYLE_PATH, (request, reply) => void serve(incomingOf(request), undefined, reply.hijack().raw, Promise.resolve(style)))
  const methodsOf = createPathTable(mounted.map(({ endpoint }) => endpoint))
  fastify.setNotFoundHandler((request, reply) => refuse(request, reply, (incoming) => nothingThere(methodsOf(incoming.path))))
  fastify.setErrorHandler((error, request, reply) => refuse(request, reply, () => serverProblem(error)))

  return {
    fastify,
    inject: (request) => fastify.inject(request),
    async listen() {
      await fastify.listen({ host: config.host, port: config.port })
      const address = fastify.server.address()
      return { port: typeof address === 'object' && address !== null ? address.port : config.port }
    },
    async close() {
      isClosing = true
      await fastify.close()
      await refusals.settled()
      if (measured !== gauge) (measured as ReturnType<typeof openLoadGauge>).close()
    },
  }
}

function send({ status, headers, body }: Outgoing, response: ServerResponse): void {
  if (status !== 204) headers.push('content-length', String(body === undefined ? 0 : Buffer.byteLength(body)))
  response.writeHead(status, headers)
  response.end(response.req.method === 'HEAD' ? undefined : body)
}

function mount(routes: Routes): readonly Mounted[] {
  return endpointList.flatMap((endpoint) => {
    const route = routes[endpoint.id] as Mounted['route'] | undefined
    return route === undefined ? [] : [{ endpoint, route }]
  })
}

function nothingThere(methods: readonly string[]): Problem {
  if (methods.length === 0) return new Problem('not_found')
  const allow = methods.join(', ')
  return new Problem('method_not_allowed', `This path is there for ${allow}.`, { headers: { allow } })
}

/** The few things that the web server refuses by itself, in our words. */
function serverProblem(error: unknown): unknown {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? new Problem('unsupported_media_type') : error
}
