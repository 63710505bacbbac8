import { destination } from 'pino'
import type { Config } from '../config.ts'
import { createLogger } from '../logger.ts'
import { openStore } from '../store/open.ts'
import type { Act, Store } from '../store/store.ts'

/** What a command works with while it has the store. */
interface AtWork {
  readonly store: Store
  /**
   * The time to act by: not before any that the nodes have acted by. It is not told to the store,
   * since a command may run anywhere.
   */
  readonly nowMs: () => number
  /** An act of the operator at the command line, now. */
  readonly act: () => Act
}

/** The log of a command goes to where its notes go, so that the result can be piped. */
function commandLogger() {
  return createLogger('warn', destination({ fd: 2, sync: true }))
}

/**
 * Opens the store with its schema up to date, and closes it whatever comes of the work. An embedded
 * store must not be in use.
 */
export async function withStore<T>(
  config: Config['store'],
  masterKey: Uint8Array,
  work: (at: AtWork) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, { masterKey, log: commandLogger(), onFatal })
  try {
    const { atMs } = await store.confirmedTime()
    const nowMs = () => Math.max(Date.now(), atMs)
    return await work({
      store,
      nowMs,
      act: () => ({ actor: 'operator', atMs: nowMs(), requestId: undefined }),
    })
  } finally {
    await store.close()
  }
}

/** Whether what was written is on disk is unknown then. */
function onFatal(fault: Error): never {
  commandLogger().fatal({ err: fault }, 'nothing more can be promised')
  process.exit(1)
}
