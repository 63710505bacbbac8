import type { Socket } from 'node:net'
import { limits } from '@countersign/core/contract'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { type OnClientError, quieten, serverOptions } from './server-limits.ts'

/**
 * A web server that routes and does nothing else by itself: no parsing of bodies or queries, no logging, no words of its own. `onBadUrl` gets
 * what its router cannot read, `onClientError` what its parser cannot.
 */
export function createServer(
  onBadUrl: (request: FastifyRequest, reply: FastifyReply) => unknown,
  onClientError: OnClientError,
): FastifyInstance {
  const fastify = Fastify({
    logger: false,
    http: serverOptions,
    requestTimeout: limits.request_arrive_seconds_max * 1000,
    keepAliveTimeout: KEEP_ALIVE_MS,
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
  // The rest would include the two that are sent, but only what has a name is found without taking its header apart at every request.
  const named = ['application/json', 'application/x-www-form-urlencoded']
  fastify.addContentTypeParser([...named, '*'], (_request, _payload, done) => done(null))
  quieten(fastify.server)
  return fastify
}

/** An idle connection is kept this long. Proxies in front should let theirs go sooner. */
const KEEP_ALIVE_MS = 30_000
const NO_QUERY = Object.freeze({})
