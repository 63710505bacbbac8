import type { IncomingMessage, ServerResponse } from 'node:http'
import { endpointList } from '@countersign/core/contract'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  InjectOptions,
  LightMyRequestResponse,
} from 'fastify'
import type { RouteAnswer } from './answer.ts'
import type { Deps } from './deps.ts'
import { openAcceptProbe } from './http/accept-probe.ts'
import { createAccessLog } from './http/access-log.ts'
import { hasLongBody } from './http/body.ts'
import { createClientAddress } from './http/client-address.ts'
import { createConnections } from './http/connections.ts'
import { createExit, type MountedEndpoint, type Outgoing } from './http/exit.ts'
import { fieldLines } from './http/field-lines.ts'
import { Incoming, newRequestId, refuseUnfit } from './http/incoming.ts'
import { createKeyRefusals } from './http/key-refusals.ts'
import { toOriginForm } from './http/origin-form.ts'
import { createAdmission, type LoadGauge, openLoopGauge } from './http/overload.ts'
import { createPathTable, routerPath } from './http/path-table.ts'
import { createPaces, type Paces } from './http/rate-limit.ts'
import { sendStream } from './http/send-stream.ts'
import { createServer } from './http/server.ts'
import { createOnClientError } from './http/server-limits.ts'
import { createWalk, type Mounted } from './http/walk.ts'
import { assets } from './pages/assets.ts'
import { STYLE_PATH, style } from './pages/page.ts'
import { Problem } from './problem.ts'
import { acceptsPage } from './routes/accepts-page.ts'
import { routes as allRoutes, type Routes } from './routes/all.ts'
import { documentAt } from './routes/docs.ts'
import { frontPage } from './routes/front.ts'
import { problemsPage } from './routes/problems.ts'
import { SERVICE_VERSION } from './version.ts'

/** The service as something that answers requests. */
export interface App {
  /** A request without a socket. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>
  /** A port of 0 is a free one. Rejects when the port is taken. */
  listen(): Promise<{ readonly port: number }>
  /**
   * Stops accepting, destroys connections without a complete request, lets running requests finish
   * for a few seconds, and resolves when the last connection is closed.
   */
  close(): Promise<void>
  /** For tests and benchmarks that need the server itself. */
  readonly fastify: FastifyInstance
}

export interface AppOptions {
  readonly routes?: Routes
  /** Where it listens. Default: `host` and `port` of the configuration. */
  readonly address?: { readonly host: string; readonly port: number; readonly exclusive?: boolean }
  /** Shared by the listeners of a node, so that a caller has one allowance for all. */
  readonly paces?: Paces
  /** What is said of a path that is not there. */
  readonly notFound?: string
  /** How busy the process is; measured when absent. */
  readonly gauge?: LoadGauge
  /** Several processes listen on the one port, and each connection is given to one of them. */
  readonly sharesPort?: boolean
  /** A clock that never runs back, for paces and durations. */
  readonly monotonicMs?: () => number
  /**
   * How long running requests may take when the app closes; then their connections are destroyed.
   */
  readonly drainMsMax?: number
}

const DRAIN_MS_MAX = 5000

/**
 * The system gives connections to the processes that share a port. Node's own way, in which the
 * primary accepts and distributes, leaves a connection hanging that was on its way to a worker when
 * that died.
 */
const CAN_REUSE_PORT = process.platform === 'linux'

/**
 * Mounts every endpoint of the contract that has a route. What has none is not there: 404
 * `not_found`.
 */
export function createApp(
  deps: Deps,
  {
    routes = allRoutes,
    address = { host: deps.config.host, port: deps.config.port },
    paces = createPaces(deps.config.rateLimits),
    notFound,
    gauge,
    sharesPort = false,
    monotonicMs = () => performance.now(),
    drainMsMax = DRAIN_MS_MAX,
  }: AppOptions = {},
): App {
  const { config, log, meters } = deps
  const loop = gauge === undefined ? openLoopGauge() : undefined
  let accepting: ReturnType<typeof openAcceptProbe> | undefined
  const measured = gauge ?? {
    eventLoopDelayMs: () => loop?.eventLoopDelayMs() ?? 0,
    acceptDelayMs: () => accepting?.delayMs() ?? 0,
  }
  const accessLog = createAccessLog(log, meters)
  const exit = createExit({ baseUrl: config.baseUrl, version: SERVICE_VERSION, onFault: accessLog.fault })
  const refusals = createKeyRefusals(deps.store, log)
  const admission = createAdmission(config.overload, measured)
  const walk = createWalk({ deps, refusals, paces, admission, monotonicMs })
  const clientAddress = createClientAddress(config.trustedProxies)
  const isBehindProxy = config.trustedProxies.length > 0
  const incomingOf = (raw: IncomingMessage) => {
    const forwardedFor = isBehindProxy ? fieldLines(raw.rawHeaders, 'x-forwarded-for') : undefined
    return new Incoming(raw, clientAddress(raw.socket.remoteAddress, forwardedFor), monotonicMs())
  }

  let isClosing = false
  const finish = (
    incoming: Incoming,
    endpoint: MountedEndpoint | undefined,
    response: ServerResponse,
    outgoing: Outgoing,
  ) => {
    // A connection that was kept alive now would be waited for.
    if (isClosing) response.setHeader('connection', 'close')
    accessLog.request(incoming, endpoint, outgoing, monotonicMs() - incoming.startedMs)
    // A header that cannot be written, or a stream that failed. What is sent instead must not look
    // like an answer.
    const failed = (fault: unknown) => {
      accessLog.fault(fault, endpoint, incoming.requestId)
      response.destroy()
    }
    try {
      if (outgoing.stream === undefined) send(outgoing, response)
      else sendStream(outgoing, outgoing.stream, incoming.raw, response).catch(failed)
    } catch (fault) {
      failed(fault)
    }
  }
  /** From a request to what is sent, for better or worse. */
  const serve = (
    incoming: Incoming,
    endpoint: MountedEndpoint | undefined,
    response: ServerResponse,
    answering: () => RouteAnswer | Promise<RouteAnswer>,
  ) => {
    const answered = (answer: RouteAnswer) =>
      finish(incoming, endpoint, response, exit.answer(answer, endpoint, incoming.requestId))
    const refused = (thrown: unknown) => {
      if (hasLongBody(incoming.raw)) response.setHeader('connection', 'close')
      finish(
        incoming,
        endpoint,
        response,
        exit.refusal(thrown, endpoint, incoming.requestId, pageWanted(incoming, endpoint)),
      )
    }
    try {
      const answer = answering()
      if (answer instanceof Promise) answer.then(answered).catch(refused)
      else answered(answer)
    } catch (thrown) {
      refused(thrown)
    }
  }
  const refuse = (
    request: FastifyRequest,
    reply: FastifyReply,
    problemOf: (incoming: Incoming) => unknown,
  ) => {
    const incoming = incomingOf(request.raw)
    serve(incoming, undefined, reply.hijack().raw, () => {
      refuseUnfit(incoming)
      throw problemOf(incoming)
    })
  }

  const connections = createConnections()
  const { host } = new URL(config.baseUrl)
  const mounted = mount(routes)
  const plain = mounted.filter(({ endpoint }) => !endpoint.path.includes('{'))
  const atOnce = new Map(
    plain.map(({ endpoint }) => [
      endpoint.path as string,
      plain.filter((one) => one.endpoint.path === endpoint.path),
    ]),
  )
  const fastify = createServer({
    onRequest(request, response) {
      if (!toOriginForm(request, host)) {
        serve(incomingOf(request), undefined, response, () => {
          throw new Problem(
            'request_malformed',
            `The request target names another host. This service is ${host}.`,
          )
        })
        return true
      }
      const one = atOnce.get(request.url ?? '')?.find(({ endpoint }) => endpoint.method === request.method)
      if (one === undefined) return false
      const incoming = incomingOf(request)
      serve(incoming, one.endpoint, response, () => walk(incoming, one, NO_PARAMS))
      return true
    },
    onBadUrl: (request, reply) => refuse(request, reply, () => new Problem('not_found')),
    onClientError: createOnClientError(exit, newRequestId, accessLog.unread),
    connections,
  })
  for (const one of mounted) {
    fastify.route({
      method: one.endpoint.method,
      url: routerPath(one.endpoint.path),
      // The answer is written by us, not by the web server, which would add to the media types.
      handler: (request, reply) => {
        const incoming = incomingOf(request.raw)
        serve(incoming, one.endpoint, reply.hijack().raw, () => walk(incoming, one, request.params))
      },
    })
  }
  const docs = mounted.find(({ endpoint }) => endpoint.id === 'docs')
  if (docs !== undefined) {
    // Not endpoints of their own, but paced and counted as the page that leads to them.
    fastify.get('/docs/*', (request, reply) => {
      const incoming = incomingOf(request.raw)
      const { endpoint } = docs
      serve(incoming, endpoint, reply.hijack().raw, () =>
        walk(incoming, { endpoint, route: () => documentAt(incoming.path) }, NO_PARAMS),
      )
    })
  }
  fastify.get('/', (request, reply) => {
    const incoming = incomingOf(request.raw)
    serve(incoming, undefined, reply.hijack().raw, () => frontPage(incoming))
  })
  fastify.get('/problems', (request, reply) => {
    const incoming = incomingOf(request.raw)
    serve(incoming, undefined, reply.hijack().raw, () => problemsPage(incoming))
  })
  fastify.get(STYLE_PATH, (request, reply) =>
    serve(incomingOf(request.raw), undefined, reply.hijack().raw, () => style),
  )
  fastify.get('/assets/*', (request, reply) => {
    const incoming = incomingOf(request.raw)
    serve(incoming, undefined, reply.hijack().raw, () => {
      const asset = assets().answer(incoming.path, incoming.lines('accept-encoding')?.join(',') ?? '')
      if (asset === undefined) throw new Problem('not_found')
      return asset
    })
  })
  const methodsOf = createPathTable(mounted.map(({ endpoint }) => endpoint))
  fastify.setNotFoundHandler((request, reply) =>
    refuse(request, reply, (incoming) => nothingThere(methodsOf(incoming.path), notFound)),
  )
  fastify.setErrorHandler((error, request, reply) => refuse(request, reply, () => serverProblem(error)))

  return {
    fastify,
    inject: (request) => fastify.inject(request),
    async listen() {
      const place = { ...address, reusePort: sharesPort && CAN_REUSE_PORT }
      await fastify.listen(place)
      // A connection to a shared port may be accepted by another process.
      if (loop !== undefined && !sharesPort) accepting = openAcceptProbe(fastify.server)
      const bound = fastify.server.address()
      return { port: typeof bound === 'object' && bound !== null ? bound.port : address.port }
    },
    async close() {
      isClosing = true
      accepting?.close()
      loop?.close()
      // Feeds send their last words before the connections are sorted out, and waiting receipts are
      // answered.
      const ending = [deps.feeds.close(), deps.verifiers.close()]
      await Promise.all([...ending, fastify.close(), connections.drain(drainMsMax)])
      await refusals.settled()
    },
  }
}

function send({ status, headers, body = '' }: Outgoing, response: ServerResponse): void {
  const bytes = Buffer.byteLength(body)
  if (status !== 204) headers.push('content-length', String(bytes))
  response.writeHead(status, headers)
  if (response.req.method === 'HEAD' || bytes === 0) response.end()
  // As many bytes as characters: it is all ASCII, which goes out faster when Node is told so.
  else response.end(body, bytes === body.length ? 'latin1' : 'utf8')
}

const NO_PARAMS = Object.freeze({})

/** Whether a refusal is for a person: a browser, outside of what only programs call. */
function pageWanted(
  { path, lines, raw }: Incoming,
  endpoint: MountedEndpoint | undefined,
): { readonly isRepeatable: boolean } | undefined {
  const isWithPages =
    endpoint === undefined
      ? !/^\/(?:api|\.well-known)(?:\/|$)/.test(path)
      : endpoint.refusals === 'page' || endpoint.id === 'docs' || endpoint.id === 'problem_page'
  return isWithPages && acceptsPage(lines) ? { isRepeatable: raw.method === 'GET' } : undefined
}

function mount(routes: Routes): readonly Mounted[] {
  return endpointList.flatMap((endpoint) => {
    const route = routes[endpoint.id] as Mounted['route'] | undefined
    return route === undefined ? [] : [{ endpoint, route }]
  })
}

/**
 * Says more than the `not_found` of a site or another resource, so that a wrong base URL can be
 * told from a wrong site.
 */
const NO_ENDPOINT = 'This service has no endpoint at this path. Check the base URL and the path.'

function nothingThere(methods: readonly string[], notFound: string | undefined): Problem {
  if (methods.length === 0) return new Problem('not_found', notFound ?? NO_ENDPOINT)
  const allow = methods.join(', ')
  return new Problem('method_not_allowed', `This path is there for ${allow}.`, { headers: { allow } })
}

/** The few things that the web server refuses by itself, in our words. */
function serverProblem(error: unknown): unknown {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? new Problem('unsupported_media_type') : error
}
