import cluster from 'node:cluster'
import type { Config } from '../config.ts'
import { createLogger } from '../logger.ts'
import { openService } from '../service.ts'
import { closeOnSignal } from '../until-signal.ts'
import type { Command } from './command.ts'

export const serve: Command = {
  summary: 'run the service',
  words: [],
  examples: [
    ['countersign serve --base-url https://id.example', 'on the embedded store in ./data, for a proxy in front on this machine'],
    ['COUNTERSIGN_DATABASE_URL=postgres://… countersign serve --config /etc/countersign.json --workers 4', 'four processes on PostgreSQL'],
  ],
  about: [
    'Needs the address under which clients reach it and a master key (COUNTERSIGN_MASTER_KEY or COUNTERSIGN_MASTER_KEY_FILE). Refuses insecure settings, with all mistakes at once. Logs one line of JSON each. SIGTERM and SIGINT stop it after the running requests have ended.',
  ],
  async run({ config: read }) {
    const config = read()
    if (config.workers > 1 && cluster.isPrimary) runWorkers(config)
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
    const service = await openService(ownPorts(config), { log, onFatal })
    closeOnSignal(service, log)
    const { port } = await service.listen()
    log.info({ base_url: config.baseUrl, host: config.host, port, store: config.store.kind }, 'serving')
  } catch (err) {
    log.fatal({ err }, 'could not start')
    process.exit(1)
  }
}

/** Of a worker, from 0; one that replaces another has the place of that one. */
const PLACE = 'WORKER_PLACE'

/** Workers share the port of the service; for metrics each has its own, one after the other. */
function ownPorts(config: Config): Config {
  const place = cluster.isWorker ? Number(process.env[PLACE] ?? 0) : 0
  return config.metricsPort === undefined ? config : { ...config, metricsPort: config.metricsPort + place }
}

/** One process for each worker. One that dies is replaced, after a moment; when told to stop, all stop. */
function runWorkers({ workers, logLevel }: Config): void {
  const log = createLogger(logLevel)
  const places = new Map<number, number>()
  let isStopping = false
  const start = (place: number) => {
    if (!isStopping) places.set(cluster.fork({ [PLACE]: place }).id, place)
  }
  for (let place = 0; place < workers; place++) start(place)
  cluster.on('exit', (worker, code) => {
    if (!isStopping) {
      log.error({ worker: worker.id, code }, 'a worker has ended; starting another')
      setTimeout(() => start(places.get(worker.id) ?? 0), 1000)
    } else if (Object.keys(cluster.workers ?? {}).length === 0) process.exit(0)
  })
  const stop = (signal: NodeJS.Signals) => {
    const isSecond = isStopping
    isStopping = true
    for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill(isSecond ? 'SIGKILL' : signal)
    if (isSecond || Object.keys(cluster.workers ?? {}).length === 0) process.exit(isSecond ? 1 : 0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}
