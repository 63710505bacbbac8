import type { IncomingMessage, ServerResponse } from 'node:http'
import { endpointList } from '@countersign/core/contract'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  InjectOptions,
  LightMyRequestResponse,
} from 'fastify'
import { guard } from './access/guard.ts'
import type { RouteAnswer } from './answer.ts'
import type { Deps } from './deps.ts'
import { openAcceptProbe } from './http/accept-probe.ts'
import { createAccessLog } from './http/access-log.ts'
import { hasLongBody } from './http/body.ts'
import { createClientAddress } from './http/client-address.ts'
import { createConnections } from './http/connections.ts'
import { fieldLines } from './http/field-lines.ts'
import { createKeyRejections } from './http/key-rejections.ts'
import { createLoadShedder, type LoadGauge, openLoopGauge } from './http/load-shedder.ts'
import { toOriginForm } from './http/origin-form.ts'
import { createPathTable, routerPath } from './http/path-table.ts'
import { createPipeline, type Mounted } from './http/pipeline.ts'
import { createRateLimiter, type RateLimiter } from './http/rate-limiter.ts'
import { newRequestId, RawRequest, rejectMalformed } from './http/raw-request.ts'
import { createResponder, type MountedEndpoint, type Reply } from './http/respond.ts'
import { sendStream } from './http/send-stream.ts'
import { createServer } from './http/server.ts'
import { createOnClientError } from './http/server-limits.ts'
import { assets } from './pages/assets.ts'
import { STYLE_PATH, style } from './pages/page.ts'
import { Problem } from './problem.ts'
import { acceptsPage } from './routes/accepts-page.ts'
import { routes as allRoutes, type Routes } from './routes/all.ts'
import { documentAt } from './routes/docs.ts'
import { frontPage } from './routes/front.ts'
import { problemsPage } from './routes/problems.ts'
import { SERVICE_VERSION } from './version.ts'

/** The HTTP side of the service. */
export interface App {
  /** Sends a request without a socket. */
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
  /** Shared by the listeners of a node, so that the limits of a caller hold for all of them. */
  readonly rateLimiter?: RateLimiter
  /** Decides about credentials and tokens. Default: the guard of the service. */
  readonly guard?: typeof guard
  /** The detail of the problem at unknown paths. */
  readonly notFound?: string
  /** How busy the process is; measured when absent. */
  readonly gauge?: LoadGauge
  /** Whether several processes listen on the same port. */
  readonly sharesPort?: boolean
  /** A monotonic clock, for rate limits and durations. */
  readonly monotonicMs?: () => number
  /**
   * How long running requests may take when the app closes; then their connections are destroyed.
   */
  readonly drainMsMax?: number
}

const DRAIN_MS_MAX = 5000

/**
 * The kernel distributes connections among the processes that share a port. In Node's own way the
 * primary accepts and distributes them, and a connection hangs when its worker dies on the way.
 */
const CAN_REUSE_PORT = process.platform === 'linux'

/** Mounts every endpoint of the contract that has a route; the others answer 404 `not_found`. */
export function createApp(
  deps: Deps,
  {
    routes = allRoutes,
    address = { host: deps.config.host, port: deps.config.port },
    rateLimiter = createRateLimiter(deps.config.rateLimits),
    guard: decideAccess = guard,
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
  const responder = createResponder({
    baseUrl: config.baseUrl,
    version: SERVICE_VERSION,
    onFault: accessLog.fault,
  })
  const keyRejections = createKeyRejections(deps.store, log)
  const { host, protocol } = new URL(config.baseUrl)
  const pipeline = createPipeline({
    deps,
    guard: decideAccess,
    keyRejections,
    rateLimiter,
    loadShedder: createLoadShedder(config.overload, measured),
    monotonicMs,
    origin: { authority: host, scheme: protocol === 'https:' ? 'https' : 'http' },
  })
  const clientAddress = createClientAddress(config.trustedProxies)
  const isBehindProxy = config.trustedProxies.length > 0
  const toRawRequest = (message: IncomingMessage) => {
    const forwardedFor = isBehindProxy ? fieldLines(message.rawHeaders, 'x-forwarded-for') : undefined
    return new RawRequest(message, clientAddress(message.socket.remoteAddress, forwardedFor), monotonicMs())
  }

  let isClosing = false
  const send = async (
    raw: RawRequest,
    endpoint: MountedEndpoint | undefined,
    response: ServerResponse,
    reply: Reply,
  ) => {
    // Closing waits for every connection that is kept alive.
    if (isClosing) response.setHeader('connection', 'close')
    accessLog.request(raw, endpoint, reply, monotonicMs() - raw.startedMs)
    try {
      if (reply.stream === undefined) writeReply(reply, response)
      else await sendStream(reply, reply.stream, raw.message, response)
    } catch (fault) {
      // A header that cannot be written, or a stream that failed. The client must not take what was
      // sent so far for a complete response.
      accessLog.fault(fault, endpoint, raw.requestId)
      response.destroy()
    }
  }
  /** Sends the answer, or the rejection of what `answer` throws. Never rejects. */
  const serve = async (
    raw: RawRequest,
    endpoint: MountedEndpoint | undefined,
    response: ServerResponse,
    answer: () => RouteAnswer | Promise<RouteAnswer>,
  ) => {
    let reply: Reply
    try {
      reply = responder.answer(await answer(), endpoint, raw.requestId)
    } catch (error) {
      if (hasLongBody(raw.message)) response.setHeader('connection', 'close')
      reply = responder.reject(error, endpoint, raw.requestId, pageWanted(raw, endpoint))
    }
    await send(raw, endpoint, response, reply)
  }
  const reject = (request: FastifyRequest, reply: FastifyReply, problem: (raw: RawRequest) => unknown) => {
    const raw = toRawRequest(request.raw)
    void serve(raw, undefined, reply.hijack().raw, () => {
      rejectMalformed(raw)
      throw problem(raw)
    })
  }

  const connections = createConnections()
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
        void serve(toRawRequest(request), undefined, response, () => {
          throw new Problem(
            'request_malformed',
            `The request target names another host. This service is ${host}.`,
          )
        })
        return true
      }
      const one = atOnce.get(request.url ?? '')?.find(({ endpoint }) => endpoint.method === request.method)
      if (one === undefined) return false
      const raw = toRawRequest(request)
      void serve(raw, one.endpoint, response, () => pipeline(raw, one, NO_PARAMS))
      return true
    },
    onBadUrl: (request, reply) => reject(request, reply, () => new Problem('not_found')),
    onClientError: createOnClientError(responder, newRequestId, accessLog.unread),
    connections,
  })
  for (const one of mounted) {
    fastify.route({
      method: one.endpoint.method,
      url: routerPath(one.endpoint.path),
      // Hijacked because Fastify would add a charset to the media types.
      handler: (request, reply) => {
        const raw = toRawRequest(request.raw)
        void serve(raw, one.endpoint, reply.hijack().raw, () => pipeline(raw, one, request.params))
      },
    })
  }
  const docs = mounted.find(({ endpoint }) => endpoint.id === 'docs')
  if (docs !== undefined) {
    // Documents use the rate limits and metrics of /docs.
    fastify.get('/docs/*', (request, reply) => {
      const raw = toRawRequest(request.raw)
      const { endpoint } = docs
      void serve(raw, endpoint, reply.hijack().raw, () =>
        pipeline(raw, { endpoint, route: async () => documentAt(raw.path) }, NO_PARAMS),
      )
    })
  }
  fastify.get('/', (request, reply) => {
    const raw = toRawRequest(request.raw)
    void serve(raw, undefined, reply.hijack().raw, () => frontPage(raw))
  })
  fastify.get('/problems', (request, reply) => {
    const raw = toRawRequest(request.raw)
    void serve(raw, undefined, reply.hijack().raw, () => problemsPage(raw))
  })
  fastify.get(
    STYLE_PATH,
    (request, reply) => void serve(toRawRequest(request.raw), undefined, reply.hijack().raw, () => style),
  )
  fastify.get('/assets/*', (request, reply) => {
    const raw = toRawRequest(request.raw)
    void serve(raw, undefined, reply.hijack().raw, () => {
      const asset = assets().answer(raw.path, raw.lines('accept-encoding')?.join(',') ?? '')
      if (asset === undefined) throw new Problem('not_found')
      return asset
    })
  })
  const findMethods = createPathTable(mounted.map(({ endpoint }) => endpoint))
  fastify.setNotFoundHandler((request, reply) =>
    reject(request, reply, (raw) => nothingThere(findMethods(raw.path), notFound)),
  )
  fastify.setErrorHandler((error, request, reply) => reject(request, reply, () => serverProblem(error)))

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
      // Feeds send their last event, and waiting receipts are answered, before connections are
      // closed.
      const ending = [deps.feeds.close(), deps.verifiers.close()]
      await Promise.all([...ending, fastify.close(), connections.drain(drainMsMax)])
      await keyRejections.flush()
    },
  }
}

function writeReply({ status, headers, body = '' }: Reply, response: ServerResponse): void {
  const bytes = Buffer.byteLength(body)
  if (status !== 204) headers.push('content-length', String(bytes))
  response.writeHead(status, headers)
  if (response.req.method === 'HEAD' || bytes === 0) response.end()
  // As many bytes as characters: all ASCII, which Node writes faster as latin1.
  else response.end(body, bytes === body.length ? 'latin1' : 'utf8')
}

const NO_PARAMS = Object.freeze({})

/** Whether a rejection is sent as a page: to browsers, except at endpoints for programs. */
function pageWanted(
  { path, lines, message }: RawRequest,
  endpoint: MountedEndpoint | undefined,
): { readonly isRepeatable: boolean } | undefined {
  const isWithPages =
    endpoint === undefined
      ? !/^\/(?:api|\.well-known)(?:\/|$)/.test(path)
      : endpoint.errorFormat === 'page' || endpoint.id === 'docs' || endpoint.id === 'problem_page'
  return isWithPages && acceptsPage(lines) ? { isRepeatable: message.method === 'GET' } : undefined
}

function mount(routes: Routes): readonly Mounted[] {
  return endpointList.flatMap((endpoint) => {
    const route = routes[endpoint.id] as Mounted['route'] | undefined
    return route === undefined ? [] : [{ endpoint, route }]
  })
}

/**
 * More specific than the default detail, so that a wrong base URL does not look like a wrong site.
 */
const NO_ENDPOINT = 'This service has no endpoint at this path. Check the base URL and the path.'

function nothingThere(methods: readonly string[], notFound: string | undefined): Problem {
  if (methods.length === 0) return new Problem('not_found', notFound ?? NO_ENDPOINT)
  const allow = methods.join(', ')
  return new Problem('method_not_allowed', `This path answers ${allow}.`, { headers: { allow } })
}

/** Problems for what the web server rejects by itself. */
function serverProblem(error: unknown): unknown {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' ? new Problem('unsupported_media_type') : error
}
