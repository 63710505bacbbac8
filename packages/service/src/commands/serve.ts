import cluster from 'node:cluster'
import { createServer } from 'node:net'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { createLogger } from '../logger.ts'
import { openService } from '../service.ts'
import { closeOnSignal } from '../until-signal.ts'
import type { Command } from './command.ts'

export const serve: Command = {
  summary: 'run the service',
  words: [],
  examples: [
    [
      'countersign serve --base-url https://id.example',
      'on the embedded store in ./data, for a proxy in front on this machine',
    ],
    [
      'COUNTERSIGN_DATABASE_URL=postgres://… countersign serve --config /etc/countersign.json --workers 4',
      'four processes on PostgreSQL',
    ],
  ],
  about: [
    'Needs the address under which clients reach it and a master key (COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE). Refuses insecure settings, with all mistakes at once. Logs one line of JSON each. SIGTERM and SIGINT stop it within seconds: running requests may finish, idle and half-finished connections are destroyed.',
    'Does not create an embedded store, because an empty store in the place of a lost one would accept what was revoked: run `init` or `migrate` first. Ends with code 70 when the files of the store are removed or replaced while it runs.',
  ],
  async run({ config: read }) {
    const config = read()
    if (config.workers > 1 && cluster.isPrimary) await runWorkers(config)
    else await serveHere(config)
    return 0
  },
}

async function serveHere(config: Config): Promise<void> {
  const log = createLogger(config.logLevel)
  const onFatal = (fault: Error) => {
    log.fatal({ err: fault }, 'nothing more can be promised')
    process.exit(70)
  }
  try {
    const service = await openService(ownPlace(config), {
      log,
      onFatal,
      sharesPort: cluster.isWorker,
      storeMustExist: true,
    })
    closeOnSignal(service, log, { isWorker: cluster.isWorker })
    const { port, adminPort } = await service.listen()
    const { baseUrl, host, adminHost } = config
    const admin = adminPort === undefined ? {} : { admin_host: adminHost, admin_port: adminPort }
    log.info(
      { pid: process.pid, base_url: baseUrl, host, port, ...admin, store: config.store.kind },
      'serving',
    )
    process.send?.(SERVING)
  } catch (err) {
    failToStart(log, err)
  }
}

function failToStart(log: Logger, err: unknown): never {
  const { code, port, message: text } = err as NodeJS.ErrnoException & { port?: number }
  const message =
    code === 'EADDRINUSE'
      ? `port ${port} is taken; choose another (--port, --admin-port), or stop the process that has it`
      : text
  log.fatal({ err }, `could not start: ${message}`)
  process.exit(1)
}

/** What a worker tells its primary when it accepts requests. */
const SERVING = 'serving'

/** Of a worker, from 0; one that replaces another has the place of that one. */
const PLACE = 'WORKER_PLACE'

/**
 * Workers share the main port. Each has an admin port of its own, one after the other, and a head
 * file of its own.
 */
function ownPlace(config: Config): Config {
  const place = cluster.isWorker ? Number(process.env[PLACE] ?? 0) : 0
  const { adminPort, headFile } = config
  return {
    ...config,
    adminPort: adminPort ? adminPort + place : adminPort,
    headFile: headFile !== undefined && place > 0 ? `${headFile}.${place}` : headFile,
  }
}

const AGAIN_MS = 1000

/**
 * Workers would share the port with any other process that shares it, a second service by mistake
 * too. Rejects when another process has it.
 */
async function requireFreePort({ host, port }: Config): Promise<void> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject)
    probe.listen({ host, port, exclusive: true }, resolve)
  })
  await new Promise((resolve) => probe.close(resolve))
}

/**
 * One process for each worker. One that dies is replaced, after a moment; when told to stop, all
 * stop. Ends with 1 when a worker cannot start before any has served, as a single process would,
 * and when one could not stop cleanly.
 */
async function runWorkers(config: Config): Promise<void> {
  const { workers, logLevel } = config
  const log = createLogger(logLevel)
  try {
    await requireFreePort(config)
  } catch (err) {
    failToStart(log, err)
  }
  const places = new Map<number, number>()
  let hasServed = false
  let isStopping = false
  let code = 0
  const start = (place: number) => {
    if (!isStopping) places.set(cluster.fork({ [PLACE]: place }).id, place)
  }
  const stop = (signal: NodeJS.Signals) => {
    isStopping = true
    const left = Object.values(cluster.workers ?? {})
    for (const worker of left) worker?.process.kill(signal)
    if (left.length === 0 || signal === 'SIGKILL') process.exit(code)
  }
  cluster.on('message', (_worker, message: unknown) => {
    if (message === SERVING) hasServed = true
  })
  cluster.on('exit', (worker, ended, signal) => {
    if (isStopping) {
      if (ended !== 0) code = 1
      if (Object.keys(cluster.workers ?? {}).length === 0) process.exit(code)
    } else if (hasServed) {
      log.error({ pid: worker.process.pid, code: ended, signal }, 'a worker has ended; starting another')
      setTimeout(() => start(places.get(worker.id) ?? 0), AGAIN_MS)
    } else {
      log.fatal({ pid: worker.process.pid, code: ended, signal }, 'a worker could not start')
      code = 1
      stop('SIGTERM')
    }
  })
  for (const each of ['SIGTERM', 'SIGINT'] as const) {
    process.on(each, () => {
      if (isStopping) code = 1
      stop(isStopping ? 'SIGKILL' : 'SIGTERM')
    })
  }
  for (let place = 0; place < workers; place++) start(place)
}
