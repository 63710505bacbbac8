/**
 * One server of the comparison, alone in its process: `serve.ts <name> <options as JSON>`. Says
 * when it is ready, and what it has used.
 */
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Ready, Running, ServerName, ServerOptions, Usage } from './servers/server.ts'

const servers: {
  readonly [Name in ServerName]: (options: ServerOptions[Name]) => Promise<Running<Ready<Name>>>
} = {
  http: async (options) => (await import('./servers/bare.ts')).serveHttp(options),
  fastify: async (options) => (await import('./servers/bare.ts')).serveFastify(options),
  verify: async (options) => (await import('./servers/bare.ts')).serveVerifying(options),
  sockets: async () => (await import('./servers/plain-sockets.ts')).servePlainSockets(),
  jose: async (options) => (await import('./servers/fastify-jose.ts')).serveJose(options),
  framework: async (options) => (await import('./servers/frameworks.ts')).serveFramework(options),
  oidc: async (options) => (await import('./servers/oidc-provider.ts')).serveOidc(options),
  ours: async (options) => (await import('./servers/ours.ts')).serveOurs(options),
  guard: async (options) => (await import('./servers/guard.ts')).serveGuard(options),
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  const { heapUsed, external } = process.memoryUsage()
  return {
    cpuUs: user + system,
    rssBytes: process.memoryUsage.rss(),
    rssBytesMax: process.resourceUsage().maxRSS * 1024,
    youngBytes:
      getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.physical_space_size ?? 0,
    // Buffers are part of what is external.
    heldBytes: heapUsed + external,
  }
}

const [name, options] = process.argv.slice(2)
const serve = servers[name as ServerName] as (options: unknown) => Promise<Running>
const { ready, close } = await serve(JSON.parse(options ?? ''))
process.on('message', (message) => {
  // Before memory is compared: what only waits to be collected would say more about when it was
  // asked.
  if (message === 'usage, collected') for (const _ of [1, 2]) collectGarbage()
  process.send?.(usage())
})
process.once('disconnect', () => {
  close().then(
    () => process.exit(0),
    () => process.exit(1),
  )
})
process.send?.({ ready })
