import { createServer } from 'node:net'
import { relative } from 'node:path'
import type { SiteId } from '@countersign/core'
import { closeOnSignal, exitOnSignal } from '../close-on-signal.ts'
import type { SettingSources } from '../config/settings.ts'
import { type Config, readConfig } from '../config.ts'
import { buildConsole } from '../development/build-console.ts'
import { type DevFile, prepareDemo } from '../development/demo.ts'
import { type DemoVerifier, DemoVerifiers } from '../development/demo-verifiers.ts'
import { createDeveloperLink } from '../development/developer-link.ts'
import { formatCommandLine, formatSummary, type StartCommands } from '../development/summary.ts'
import { createLogger } from '../logger.ts'
import { OtherMasterKey } from '../sealing/sealer.ts'
import { openService } from '../service.ts'
import { systemClocks } from '../system-clocks.ts'
import { countSleep } from '../time/count-sleep.ts'
import { describeListenFault } from './describe-listen-fault.ts'
import { orInvalidInput } from './invalid-input.ts'

const SITE = 'demo.localhost' as SiteId

/** A development service that is running. */
export interface Development {
  readonly dev: DevFile
  readonly dataDir: string
  /** For developers: its addresses, its demo data, and commands to paste. */
  readonly summary: string
}

export interface DevelopmentOptions {
  /** Opens an application that follows the demo site. */
  readonly openDemoVerifier: (dev: DevFile, verifierId: string) => Promise<DemoVerifier>
  /** How many of them to start at once. Others are started in the console. */
  readonly demoVerifiers: number
  /** For the summary and the console. */
  readonly commands: StartCommands
}

/**
 * Starts the service for development, with a demo site, and returns when it serves. It ends with
 * the process, on SIGTERM or SIGINT. Throws `InvalidInput` for invalid settings.
 */
export async function startDevelopment(
  sources: SettingSources,
  options: DevelopmentOptions,
  triesLeft = 3,
): Promise<Development> {
  const { openDemoVerifier, demoVerifiers: count, commands } = options
  const { config, isPortGiven } = await readDevelopmentConfig(sources)
  const log = createLogger(config.logLevel)
  const onFatal = (fault: Error) => {
    log.fatal({ err: fault }, 'unrecoverable store failure; exiting')
    process.exit(70)
  }
  const opened = exitOnSignal()
  const building = config.console ? buildConsole() : Promise.resolve(false)
  const demoVerifiers = new DemoVerifiers((verifierId) => openDemoVerifier(demo.dev, verifierId))
  // A developer's machine sleeps now and then.
  const clocks = countSleep(systemClocks)
  const dataDir = toShortPath(config.dataDir)
  const commandLine = formatCommandLine(commands, dataDir)
  const opening = openService(config, { log, onFatal, demoVerifiers, clocks, commandLine })
  const service = await opening.catch((fault: unknown) => {
    throw explainOpenFault(fault, config)
  })
  const demo = await prepareDemo(service.deps, SITE)
  try {
    await service.listen()
  } catch (fault) {
    opened()
    await service.close()
    const { code, port = config.port } = fault as NodeJS.ErrnoException & { readonly port?: number }
    if (code !== 'EADDRINUSE') {
      const message = describeListenFault(fault, config)
      throw message === undefined ? fault : new Error(message, { cause: fault })
    }
    // A port that was found free is taken since: then another one is found.
    const isFound = !isPortGiven || port !== config.port
    if (isFound && triesLeft > 0) return startDevelopment(sources, options, triesLeft - 1)
    throw new Error(`port ${port} is taken; choose another: --port 0 takes a free one`, {
      cause: fault,
    })
  }
  opened()
  closeOnSignal({ close: () => demoVerifiers.close().then(() => service.close()) }, log)
  const started = await Promise.all(Array.from({ length: count }, () => demoVerifiers.start()))
  // Last, because the link is valid for a minute.
  const isBuilt = await building
  if (config.console && !isBuilt)
    log.warn('the console could not be built; npx vite build packages/console shows why')
  const summary = formatSummary({
    demo,
    dataDir,
    consoleLink: isBuilt ? await createDeveloperLink(service.deps) : undefined,
    demoVerifiers: started,
    commands,
  })
  return { dev: demo.dev, dataDir: config.dataDir, summary }
}

/** Adds how to begin again to faults of the embedded store that no other start repairs. */
function explainOpenFault(fault: unknown, { store, dataDir }: Config): unknown {
  if (store.kind !== 'sqlite' || !(fault instanceof Error)) return fault
  const isLost =
    fault instanceof OtherMasterKey || /is not a store of Countersign|is damaged/.test(fault.message)
  if (!isLost) return fault
  const reason = fault instanceof OtherMasterKey ? `${store.file}: ${fault.message}.` : fault.message
  return new Error(`${reason} To begin again without its data, delete ${toShortPath(dataDir)}.`, {
    cause: fault,
  })
}

interface DevelopmentConfig {
  readonly config: Config
  /** False if its port was found here. */
  readonly isPortGiven: boolean
}

/** The settings of any start, with the defaults of development. */
async function readDevelopmentConfig({
  flags = [],
  env,
  ...sources
}: SettingSources): Promise<DevelopmentConfig> {
  const { PORT, ...others } = env
  const given = orInvalidInput(() =>
    readConfig('development', {
      ...sources,
      flags: [...flags].map(([name, value]) => [name === 'data' ? 'data-dir' : name, value]),
      env: {
        COUNTERSIGN_PROTECTED_SITE: SITE,
        COUNTERSIGN_PROTECTED_SCOPE: 'orders:read',
        ...(PORT ? { COUNTERSIGN_PORT: PORT } : {}),
        ...others,
      },
    }),
  )
  // Names, signatures and dev.json contain the addresses, so they must be known before anything is
  // created.
  const adminPort =
    given.adminPort === undefined ? undefined : await findFreePort(given.adminHost, given.adminPort)
  if (given.port !== 0) return { config: { ...given, adminPort }, isPortGiven: true }
  const port = await findFreePort(given.host)
  const baseUrl = given.baseUrl.replace(/:0$/, `:${port}`)
  return { config: { ...given, port, adminPort, baseUrl }, isPortGiven: false }
}

/** Relative to the working directory when it is inside it. */
function toShortPath(directory: string): string {
  const path = relative(process.cwd(), directory)
  return path.startsWith('..') || path === '' ? directory : path
}

/** The preferred port, or another one if it is taken. */
async function findFreePort(host: string, preferred = 0): Promise<number> {
  if (preferred !== 0) return listenOnce(host, preferred).catch(() => findFreePort(host))
  return listenOnce(host, 0)
}

function listenOnce(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
