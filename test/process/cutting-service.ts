/**
 * The service, which cuts its log whenever it gets SIGUSR2, in small steps so that a cut takes some
 * time. Prints `cut` and what was removed.
 */
import { closeOnSignal } from '../../packages/service/src/close-on-signal.ts'
import { readConfig } from '../../packages/service/src/config.ts'
import { cutLog } from '../../packages/service/src/log/cut-log.ts'
import { createLogger } from '../../packages/service/src/logger.ts'
import { openService } from '../../packages/service/src/service.ts'
import { writeCheckpointAtEnd } from '../../packages/service/src/store/checkpoints/checkpoint-at-end.ts'

const config = readConfig('production', { env: process.env })
const log = createLogger(config.logLevel)
const service = await openService(config, { log, onFatal: () => process.exit(70) })
const { store, clock } = service.deps

async function cut(): Promise<void> {
  const nowMs = Math.floor(clock.nowMs())
  await writeCheckpointAtEnd(store, nowMs)
  const removed = await cutLog({
    store,
    beforeMs: nowMs - config.logKeptMs,
    context: { actor: 'system', atMs: nowMs },
    stepEntriesMax: 3,
    batchRows: 2,
  })
  console.log(`cut ${JSON.stringify(removed)}`)
}

process.on('SIGUSR2', () => {
  cut().catch((fault: unknown) => console.log(`the cut failed: ${String(fault)}`))
})
closeOnSignal(service, log)
await service.listen()
