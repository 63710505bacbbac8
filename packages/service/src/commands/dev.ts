import { createServer } from 'node:net'
import { relative } from 'node:path'
import type { SiteId } from '@countersign/core'
import { type Config, readConfig } from '../config.ts'
import { type DevFile, prepareDemo } from '../development/demo.ts'
import { summaryOf } from '../development/summary.ts'
import { createLogger } from '../logger.ts'
import { openService } from '../service.ts'
import type { SettingSources } from '../settings.ts'
import { closeOnSignal } from '../until-signal.ts'
import { type Command, type Facts, orMisuse } from './command.ts'

const SITE = 'demo.localhost' as SiteId

export const dev: Command = {
  summary: 'run the service for development, on this machine only, with a demo site',
  words: [],
  examples: [
    ['countersign dev', 'at http://127.0.0.1:8787, with its data in ./data'],
    ['countersign dev --port 0 --data-dir /tmp/countersign', 'on a free port, elsewhere'],
  ],
  about: [
    'Makes what a first request needs: a site, an issuer that it trusts, keys and two credentials, written down in data/dev.json for tools. A second start finds the same. It prints commands to paste. SIGTERM and Ctrl-C stop it.',
  ],
  async run({ sources, say }) {
    const config = await readDevelopment(sources)
    const log = createLogger(config.logLevel)
    const onFatal = (fault: Error) => {
      log.fatal({ err: fault }, 'nothing more can be promised')
      process.exit(70)
    }
    const service = await openService(config, { log, onFatal })
    closeOnSignal(service, log)
    const demo = await prepareDemo(service.deps, SITE)
    try {
      await service.listen()
    } catch (fault) {
      await service.close()
      if ((fault as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw fault
      throw new Error(`port ${config.port} is taken; choose another: --port 0 takes a free one`, {
        cause: fault,
      })
    }
    say(summaryOf(demo, shownPath(config.dataDir)), factsOf(demo.dev, config.dataDir))
    return 0
  },
}

/** Without the secrets, which are in the file. */
function factsOf({ base_url, admin_url, site_id, issuer, ppid }: DevFile, dataDir: string): Facts {
  return {
    base_url,
    ...(admin_url === undefined ? {} : { admin_url }),
    site_id,
    issuer,
    ppid,
    data_dir: dataDir,
  }
}

/** The settings of any start, with the defaults of this one. */
async function readDevelopment(sources: SettingSources): Promise<Config> {
  const argv = sources.argv.map((flag) => flag.replace(/^--data(?==|$)/, '--data-dir'))
  const { PORT, ...env } = sources.env
  const ofDemo = {
    COUNTERSIGN_PROTECTED_SITE: SITE,
    COUNTERSIGN_PROTECTED_SCOPE: 'orders:read',
    ...(PORT ? { COUNTERSIGN_PORT: PORT } : {}),
  }
  const given = orMisuse(() => readConfig('development', { ...sources, argv, env: { ...ofDemo, ...env } }))
  // The addresses are part of names, signatures and dev.json, so they must be known before anything
  // is made.
  const adminPort =
    given.adminPort === undefined ? undefined : await freePort(given.adminHost, given.adminPort)
  if (given.port !== 0) return { ...given, adminPort }
  const port = await freePort(given.host)
  return { ...given, port, adminPort, baseUrl: given.baseUrl.replace(/:0$/, `:${port}`) }
}

/** As short as it can be said from here. */
function shownPath(directory: string): string {
  const path = relative(process.cwd(), directory)
  return path.startsWith('..') || path === '' ? directory : path
}

/** The port that is wished for, or another one if it is taken. */
async function freePort(host: string, wished = 0): Promise<number> {
  if (wished !== 0) return listenOnce(host, wished).catch(() => freePort(host))
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
