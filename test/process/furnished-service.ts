/**
 * The service in an empty home: it makes a site, an issuer and keys as the development start does,
 * and then serves. So one process is started, and not one that furnishes and one that serves. It
 * writes receipts sooner, and messages of its parent move its clocks.
 */
import type { SiteId } from '@countersign/core'
import { closeOnSignal } from '../../packages/service/src/close-on-signal.ts'
import { readConfig } from '../../packages/service/src/config.ts'
import { prepareDemo } from '../../packages/service/src/development/demo.ts'
import { createLogger } from '../../packages/service/src/logger.ts'
import { openService } from '../../packages/service/src/service.ts'
import { systemClocks } from '../../packages/service/src/system-clocks.ts'
import { countSleep } from '../../packages/service/src/time/count-sleep.ts'

/** A fifth of the usual time. */
const RECEIPTS_MS = 200

const { TEST_MODE, ...env } = process.env
// A build server may be paused for a minute, and no test is about that.
const readClocks = countSleep(systemClocks)
let passedMs = 0
const config = readConfig(TEST_MODE === 'development' ? 'development' : 'production', { env })
const log = createLogger(config.logLevel)
const service = await openService(config, {
  log,
  onFatal: () => process.exit(70),
  receiptsMs: RECEIPTS_MS,
  clocks: () => {
    const { wallMs, monotonicMs } = readClocks()
    return { wallMs: wallMs + passedMs, monotonicMs: monotonicMs + passedMs }
  },
})
closeOnSignal(service, log)
await prepareDemo(service.deps, config.protectedSite as SiteId)
process.on('message', (ms: number) => {
  passedMs += ms
  process.send?.(passedMs)
})
// Without its parent nothing would end it.
process.once('disconnect', () => process.exit(0))
await service.listen()
