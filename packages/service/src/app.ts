import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { type EndpointId, endpointList, isConsoleEndpoint } from '@countersign/core/contract'
import { guard } from './access/guard.ts'
import type { RouteAnswer } from './answer.ts'
import type { Deps } from './deps.ts'
import { openAcceptProbe } from './http/accept-probe.ts'
import { createAccessLog } from './http/access-log.ts'
import { createBatches } from './http/batches.ts'
import { createClientAddress } from './http/client-address.ts'
import { createConnections } from './http/connections.ts'
import { type ConsolePlace, findConsolePlace, toConsolePlace } from './http/console-place.ts'
import { findFieldLines } from './http/field-lines.ts'
import { createKeyRejections } from './http/key-rejections.ts'
import { createLoadShedder, type LoadGauge, openLoopGauge } from './http/load-shedder.ts'
import { toOriginForm } from './http/origin-form.ts'
import { type Answer, createPipeline, type Mounted } from './http/pipeline.ts'
import { createRateLimiter, type RateLimiter } from './http/rate-limiter.ts'
import { newRequestId, RawRequest, rejectMalformed } from './http/raw-request.ts'
import { createResponder, type MountedEndpoint } from './http/respond.ts'
import { createRouter, type Router, type RouterEntry } from './http/router.ts'
import { createServe } from './http/serve.ts'
import { closeServer, createServer, listen } from './http/server.ts'
import { createOnClientError } from './http/server-limits.ts'
import { Problem } from './problem.ts'
import { routes as allRoutes, isFileOfPages, type Page, pages, type Routes } from './routes/all.ts'
import { documentPage, documentsRequest } from './routes/docs.ts'
import { SERVICE_VERSION } from './version.ts'

/** The HTTP side of the service. */
export interface App {
  /** A port of 0 is a free one. Rejects when the port is taken. */
  listen(): Promise<{ readonly port: number }>
  /**
   * Stops accepting, destroys connections without a complete request, lets running requests finish
   * for a few seconds, and resolves when the last connection is closed.
   */
  close(): Promise<void>
  /** For tests and benchmarks that need the server itself. */
  readonly server: Server
}

export interface AppOptions {
  readonly routes?: Routes
  /** What people can call under `/console/api`. Default: `routes`. */
  readonly consoleRoutes?: Routes
  /** Where it listens. Default: `host` and `port` of the configuration. */
  readonly address?: { readonly host: string; readonly port: number; readonly exclusive?: boolean }
  /** Shared by the listeners of a node, so that the limits of a caller hold for all of them. */
  readonly rateLimiter?: RateLimiter
  /** Decides about credentials and tokens. Default: the guard of the service. */
  readonly guard?: typeof guard
  /** Where this listener serves the console. Default: at the base URL. */
  readonly place?: ConsolePlace
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

/**
 * More specific than the default detail, so that a wrong base URL does not look like a wrong site.
 */
const NO_ENDPOINT = 'This service has no endpoint at this path. Check the base URL and the path.'

/** Browsers get a page there. */
const VARY = { vary: 'accept' }

/** Mounts every endpoint of the contract that has a route; the others answer 404 `not_found`. */
export function createApp(
  deps: Deps,
  {
    routes = allRoutes,
    consoleRoutes = routes,
    address = { host: deps.config.host, port: deps.config.port },
    rateLimiter = createRateLimiter(deps.config.rateLimits),
    guard: decideAccess = guard,
    place = findConsolePlace(deps.config) ?? toConsolePlace(deps.config.baseUrl),
    notFound = NO_ENDPOINT,
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
  let isClosing = false
  const accessLog = createAccessLog(log, meters)
  const responder = createResponder({
    baseUrl: config.baseUrl,
    version: SERVICE_VERSION,
    onFault: accessLog.fault,
  })
  const keyRejections = createKeyRejections(deps.store, log)
  const { host, protocol } = new URL(config.baseUrl)
  const mount = createPipeline({
    deps,
    guard: decideAccess,
    keyRejections,
    rateLimiter,
    loadShedder: createLoadShedder(config.overload, measured, () => deps.views.waiting),
    monotonicMs,
    place,
    origin: { authority: host, scheme: protocol === 'https:' ? 'https' : 'http' },
  })
  const mountPage = (path: string, page: Page) => (raw: RawRequest) => {
    rejectMalformed(raw)
    if (!isFileOfPages(path)) rateLimiter.consume('keyless', raw.address, raw.startedMs)
    return page(raw, config)
  }
  const router = createRoutes(
    withoutDemo(routes, deps),
    config.console ? consoleRoutes : undefined,
    mount,
    mountPage,
  )
  const serve = createServe({ responder, accessLog, monotonicMs, isClosing: () => isClosing })
  const clientAddress = createClientAddress(config.trustedProxies)

  const onRequests = createBatches<Arrived>((batch) => {
    for (const arrived of batch) deps.clock.whileFrozen(() => receive(arrived))
  })
  const receive = ({ message, response, peer, startedMs }: Arrived) => {
    const isForThisHost = toOriginForm(message, host)
    const forwardedFor = findFieldLines(message.rawHeaders, 'x-forwarded-for')
    const sender = clientAddress(peer, forwardedFor)
    const raw = new RawRequest(message, sender, startedMs)
    const target = isForThisHost ? router.find(raw.method, message.url ?? '/') : undefined
    const found = target && isAtItsHost(target.target, raw, place) ? target : undefined
    void serve(raw, found?.target.endpoint, response, () => {
      if (found !== undefined) return found.target.answer(raw, found.params)
      if (!isForThisHost) {
        const detail = `The request target names another host. This service is ${host}.`
        throw new Problem('request_malformed', detail)
      }
      rejectMalformed(raw)
      // What is at another host does not exist here.
      const allow = target === undefined ? router.methods(raw.path).join(', ') : ''
      if (allow === '') throw new Problem('not_found', notFound, { headers: VARY })
      throw new Problem('method_not_allowed', `This path does not support the method. Use ${allow}.`, {
        headers: { allow, ...VARY },
      })
    })
  }
  const onRequest = (message: IncomingMessage, response: ServerResponse) =>
    onRequests({ message, response, peer: message.socket.remoteAddress, startedMs: monotonicMs() })
  const server = createServer(onRequest, createOnClientError(responder, newRequestId, accessLog.unread))
  const connections = createConnections()
  connections.track(server)

  return {
    server,
    async listen() {
      const port = await listen(server, { ...address, reusePort: sharesPort && CAN_REUSE_PORT })
      // A connection to a shared port may be accepted by another process.
      if (loop !== undefined && !sharesPort) accepting = openAcceptProbe(server)
      return { port }
    },
    async close() {
      isClosing = true
      accepting?.close()
      loop?.close()
      // Feeds send their last event, and waiting receipts are answered, before connections are
      // closed.
      const ending = [deps.feeds.close(), deps.verifiers.close()]
      await Promise.all([...ending, closeServer(server), connections.drain(drainMsMax)])
      await keyRejections.flush()
    },
  }
}

/** A request, and what is known of it only now: a connection that was closed has no address. */
interface Arrived {
  readonly message: IncomingMessage
  readonly response: ServerResponse
  readonly peer: string | undefined
  readonly startedMs: number
}

interface Target {
  /** Undefined for pages outside of the contract. */
  readonly endpoint: MountedEndpoint | undefined
  readonly path: string
  answer(raw: RawRequest, params: unknown): RouteAnswer | Promise<RouteAnswer>
}

/** Demo verifiers are started in development only. */
function withoutDemo({ start_demo_verifier, ...routes }: Routes, { demoVerifiers }: Deps): Routes {
  return demoVerifiers === undefined || start_demo_verifier === undefined
    ? routes
    : { ...routes, start_demo_verifier }
}

/**
 * Their GET starts, binds or ends a sign-in. Programs that check links send HEAD, which must do
 * nothing of that (RFC 9110 §9.2.1).
 */
const ACTS_ON_GET: ReadonlySet<EndpointId> = new Set([
  'start_sign_in_by_link',
  'sign_in_page',
  'sign_in_callback',
  'start_provider_sign_in',
  'finish_provider_sign_in',
] as const)

/** Without `consoleRoutes` there is no console. */
function createRoutes(
  routes: Routes,
  consoleRoutes: Routes | undefined,
  mount: (mounted: Mounted) => Answer,
  mountPage: (path: string, page: Page) => Target['answer'],
): Router<Target> {
  const entries: RouterEntry<Target>[] = []
  const add = (mounted: Mounted, path: string = mounted.endpoint.path) => {
    const { endpoint } = mounted
    const target = { endpoint, path, answer: mount(mounted) }
    entries.push({ method: endpoint.method, path, target, hasHead: !ACTS_ON_GET.has(endpoint.id) })
  }
  for (const endpoint of endpointList) {
    const forPeople = consoleRoutes?.[endpoint.id] as Mounted['route'] | undefined
    if (forPeople !== undefined && isConsoleEndpoint(endpoint.id)) {
      const path = `/console${endpoint.path}`
      add({ endpoint: { ...endpoint, path }, route: forPeople, isConsole: true })
    }
    const route = routes[endpoint.id] as Mounted['route'] | undefined
    if (route === undefined || (endpoint.tag === 'console' && consoleRoutes === undefined)) continue
    add({ endpoint, route })
    // Documents use the rate limits and metrics of /docs.
    if (endpoint.id === 'docs')
      add({ endpoint: { ...endpoint, request: documentsRequest }, route: documentPage }, '/docs/*')
  }
  for (const [path, page] of Object.entries(pages))
    if (consoleRoutes !== undefined || !isOfConsole(path)) {
      const target = { endpoint: undefined, path, answer: mountPage(path, page) }
      entries.push({ method: 'GET', path, target, hasHead: true })
    }
  return createRouter(entries)
}

function isOfConsole(path: string): boolean {
  return path === '/console' || path.startsWith('/console/')
}

/**
 * A console with an origin of its own is at no other host, and the pages for users are not at its
 * host: a fault in one of them must not reach the other. The identity provider may send its logouts
 * to any host, so that the console needs no public one.
 */
function isAtItsHost({ path, endpoint }: Target, { lines }: RawRequest, place: ConsolePlace): boolean {
  if (!place.isExclusive || endpoint?.id === 'receive_provider_logout') return true
  const isAtConsole = lines('host')?.[0] === new URL(place.origin).host
  return isOfConsole(path) ? isAtConsole : !(isAtConsole && /^\/(?:wallet|auth)(?:\/|$)/.test(path))
}
