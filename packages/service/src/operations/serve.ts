import cluster from 'node:cluster'
import { createServer } from 'node:net'
import { findEd25519Library } from '@countersign/core'
import type { Logger } from 'pino'
import { closeOnSignal, exitOnSignal } from '../close-on-signal.ts'
import type { Config } from '../config.ts'
import { toWorkerHeadFile } from '../log/head-file.ts'
import { createLogger } from '../logger.ts'
import { openService } from '../service.ts'
import { describeListenFault } from './describe-listen-fault.ts'

/**
 * Runs the service until SIGTERM or SIGINT, in one process or as `workers` processes. Returns when
 * it serves; a start that fails ends the process with 1.
 */
export async function serve(config: Config): Promise<void> {
  if (config.workers > 1 && cluster.isPrimary) await runWorkers(config)
  else await serveHere(config)
}

async function serveHere(config: Config): Promise<void> {
  const log = createLogger(config.logLevel)
  const onFatal = (fault: Error) => {
    log.fatal({ err: fault }, 'unrecoverable store failure; exiting')
    process.exit(70)
  }
  const opened = exitOnSignal()
  try {
    const service = await openService(toWorkerConfig(config), {
      log,
      onFatal,
      sharesPort: cluster.isWorker,
      storeMustExist: true,
    })
    opened()
    closeOnSignal(service, log, { isWorker: cluster.isWorker })
    const { port, adminPort } = await service.listen()
    const { baseUrl, host, adminHost } = config
    const admin = adminPort === undefined ? {} : { admin_host: adminHost, admin_port: adminPort }
    log.info(
      {
        pid: process.pid,
        base_url: baseUrl,
        host,
        port,
        ...admin,
        store: config.store.kind,
        ed25519: findEd25519Library(),
      },
      'serving',
    )
    process.send?.(SERVING)
  } catch (err) {
    failToStart(log, err, config)
  }
}

function failToStart(log: Logger, err: unknown, config: Config): never {
  const message = describeListenFault(err, config) ?? (err instanceof Error ? err.message : String(err))
  log.fatal({ err }, `could not start: ${message}`)
  process.exit(1)
}

/** The message of a worker to its primary when it accepts requests. */
const SERVING = 'serving'

/** The number of a worker, from 0. A replacement has the number of the worker that it replaces. */
const WORKER_INDEX = 'WORKER_INDEX'

/**
 * Workers share the main port. Each has an admin port of its own, one after the other, and a head
 * file of its own.
 */
function toWorkerConfig(config: Config): Config {
  const index = cluster.isWorker ? Number(process.env[WORKER_INDEX] ?? 0) : 0
  const { adminPort, headFile } = config
  return {
    ...config,
    adminPort: adminPort ? adminPort + index : adminPort,
    headFile: headFile === undefined ? undefined : toWorkerHeadFile(headFile, index),
  }
}

const RESTART_DELAY_MS = 1000

/**
 * Rejects when another process has the port. Workers share their port, so without this check they
 * would also share it with a second service that was started by mistake.
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
 * Runs one process per worker. A worker that dies is replaced after a second; a signal stops all.
 * Ends with 1 when a worker fails to start before any has served, as a single process would, and
 * when a worker could not stop cleanly.
 */
async function runWorkers(config: Config): Promise<void> {
  const { workers, logLevel } = config
  const log = createLogger(logLevel)
  try {
    await requireFreePort(config)
  } catch (err) {
    failToStart(log, err, config)
  }
  const indexes = new Map<number, number>()
  let hasServed = false
  let isStopping = false
  let code = 0
  const start = (index: number) => {
    if (!isStopping) indexes.set(cluster.fork({ [WORKER_INDEX]: index }).id, index)
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
      setTimeout(() => start(indexes.get(worker.id) ?? 0), RESTART_DELAY_MS)
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
  for (let index = 0; index < workers; index++) start(index)
}
