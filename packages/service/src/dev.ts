import { createServer } from 'node:net'
import { relative } from 'node:path'
import type { SiteId } from '@countersign/core'
import { type Config, readConfig } from './config.ts'
import { prepareDemo } from './development/demo.ts'
import { summaryOf } from './development/summary.ts'
import { createLogger } from './logger.ts'
import { openService } from './service.ts'
import { closeOnSignal } from './until-signal.ts'

/** `npm start`: the service for a developer, on this machine only, with everything made that a first request needs. */
const SITE = 'demo.localhost' as SiteId

const config = await readOrRefuse()
const log = createLogger(config.logLevel)
const service = await openService(config, {
  log,
  onFatal: (fault) => {
    log.fatal({ err: fault }, 'nothing more can be promised')
    process.exit(70)
  },
}).catch((error: unknown) => refuse(`The service could not start. ${error instanceof Error ? error.message : error}`))
closeOnSignal(service, log)
const demo = await prepareDemo(service.deps, SITE)
await service.listen().catch((error: NodeJS.ErrnoException) => {
  const words = error.code === 'EADDRINUSE' ? `Port ${config.port} is taken. Choose another: npm start -- --port 0` : error.message
  return service.close().then(() => refuse(words))
})
console.log(summaryOf(demo, shownPath(config.dataDir)))

/** The settings of any start, with the defaults of this one. */
async function readOrRefuse(): Promise<Config> {
  const argv = process.argv.slice(2).map((flag) => flag.replace(/^--data(?==|$)/, '--data-dir'))
  const { PORT, ...env } = process.env
  const ofDemo = {
    COUNTERSIGN_PROTECTED_SITE: SITE,
    COUNTERSIGN_PROTECTED_SCOPE: 'orders:read',
    ...(PORT ? { COUNTERSIGN_PORT: PORT } : {}),
  }
  const read = (more = {}) => readConfig('development', { argv, env: { ...ofDemo, ...more, ...env } })
  try {
    const given = read()
    if (given.port !== 0) return given
    // The address is part of names and signatures, so it must be known before anything is made.
    const port = await freePort(given.host)
    return { ...given, port, baseUrl: given.baseUrl.replace(/:0$/, `:${port}`) }
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error))
  }
}

function refuse(words: string): never {
  console.error(words)
  process.exit(2)
}

/** As short as it can be said from here. */
function shownPath(directory: string): string {
  const path = relative(process.cwd(), directory)
  return path.startsWith('..') || path === '' ? directory : path
}

function freePort(host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
