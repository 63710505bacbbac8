import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { limits } from '@countersign/core/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Connections } from './connections.ts'
import { disableNodeDefaults, type OnClientError, serverOptions } from './server-limits.ts'

export interface ServerHandlers {
  /** Sees every request first, and says whether it has taken it. */
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => boolean
  /** Gets what the router cannot read. */
  readonly onBadUrl: (request: FastifyRequest, reply: FastifyReply) => unknown
  /** Gets what the parser cannot read. */
  readonly onClientError: OnClientError
  readonly connections: Connections
}

/**
 * A web server that routes and does nothing else by itself: no parsing of bodies or queries, no
 * logging, no words of its own. Its router is for paths with parameters; what has a plain path can
 * be taken before it, which saves a tenth of the time of a short request.
 */
export function createServer({
  onRequest,
  onBadUrl,
  onClientError,
  connections,
}: ServerHandlers): FastifyInstance {
  const fastify = Fastify({
    logger: false,
    // Called twice for a host name with two addresses.
    serverFactory: (route) => {
      const server = createHttpServer(serverOptions, (request, response) => {
        if (!onRequest(request, response)) route(request, response)
      })
      server.requestTimeout = limits.request_arrive_seconds_max * 1000
      server.keepAliveTimeout = KEEP_ALIVE_MS
      disableNodeDefaults(server)
      connections.track(server)
      return server
    },
    clientErrorHandler: (error, socket) => onClientError(error, socket as Socket),
    requestIdHeader: false,
    genReqId: () => '',
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    bodyLimit: limits.request_body_bytes_max,
    frameworkErrors: (_error, request, reply) => void onBadUrl(request, reply),
    routerOptions: {
      // A DID in a path is longer than what the router would allow; the URL has its own limit.
      maxParamLength: limits.url_bytes_max,
      querystringParser: () => NO_QUERY,
    },
  })
  // The walk reads the body itself, when it knows that it wants it.
  fastify.removeAllContentTypeParsers()
  // The rest would include the two that are sent, but only what has a name is found without taking
  // its header apart at every request.
  const named = ['application/json', 'application/x-www-form-urlencoded']
  fastify.addContentTypeParser([...named, '*'], (_request, _payload, done) => done(null))
  return fastify
}

/** An idle connection is kept this long. Proxies in front should let theirs go sooner. */
const KEEP_ALIVE_MS = 30_000
const NO_QUERY = Object.freeze({})
