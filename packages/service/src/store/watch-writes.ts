import type { Logger } from 'pino'
import { StoreUnavailable } from './errors.ts'
import { isReadOperation, type RunOperation } from './operations/all.ts'

/** Knows whether a store can be written. */
export interface WriteWatch {
  /** Runs operations, and starts a probe when a write fails because of the store. */
  readonly run: RunOperation
  /** Why the store cannot be written; undefined while it can. */
  fault(): string | undefined
  close(): void
}

/** How often a store that cannot be written is probed again. */
const PROBE_MS = 2000

/**
 * Watches the operations that write. The store may have been slow for a moment, so a failure starts
 * a probe, which writes more than any operation. Only a failed probe marks the store as unwritable,
 * and only a successful one clears that.
 */
export function watchWrites(
  run: RunOperation,
  log: Pick<Logger, 'error' | 'info'>,
  probeMs = PROBE_MS,
): WriteWatch {
  let fault: string | undefined
  let isProbing = false
  let isClosed = false
  let timer: NodeJS.Timeout | undefined

  const probe = async () => {
    isProbing = true
    try {
      await run('probeWrite', [])
      if (fault !== undefined) log.info('the store can be written again')
      fault = undefined
      isProbing = false
    } catch (err) {
      if (isClosed) return
      if (fault === undefined)
        log.error(
          { err },
          'the store cannot be written: this node is not ready until it can; free space, or repair it',
        )
      fault = err instanceof Error ? err.message : String(err)
      timer = setTimeout(probe, probeMs)
      timer.unref()
    }
  }

  return {
    async run(name, args) {
      try {
        return await run(name, args)
      } catch (failure) {
        if (!isReadOperation(name) && failure instanceof StoreUnavailable && !isProbing && !isClosed)
          void probe()
        throw failure
      }
    },
    fault: () => fault,
    close() {
      isClosed = true
      clearTimeout(timer)
    },
  }
}
