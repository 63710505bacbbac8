import type { Logger } from 'pino'
import { createRowMacs } from '../../sealing/row-macs.ts'
import type { CommittedPart } from '../committed-part.ts'
import { resolveEpoch } from '../epoch.ts'
import { StoreUnavailable } from '../errors.ts'
import { bindOperations, createTransaction, isReadOperation, type RunOperation } from '../operations/all.ts'
import type { RowIntegrity } from '../row-integrity.ts'
import type { AppendListener, Store } from '../store.ts'
import { watchWrites } from '../watch-writes.ts'
import { asUnavailable, isFatal, openForReading } from './connection.ts'
import { prepareStoreFile, requireStoreFile } from './file.ts'
import { lockOwner } from './owner-lock.ts'
import { SqliteSession } from './session.ts'
import { type FileGone, watchFile } from './watch-file.ts'
import { openWriter } from './writer-client.ts'

export interface SqliteStoreOptions {
  readonly file: string
  readonly masterKey: Uint8Array
  readonly onForged: RowIntegrity['onForged']
  /** Called once, after an unrecoverable store failure. The process must end and start again. */
  readonly onFatal: (fault: Error) => void
  readonly log: Pick<Logger, 'info' | 'error'>
  /** Reject where there is no store, instead of creating one. */
  readonly mustExist?: boolean
}

/** The lineage of a file in use; that of a backup is `COPY`. */
export const LIVE = 'live'

/** How long moving the write-ahead log into the file may delay the end of the process. */
const RESCUE_MS_MAX = 3000

/**
 * Opens the embedded store: one file, one process. Rejects when another process owns the file,
 * other users can read it, or a newer release has written it. While it is open, a missing or
 * replaced file is a fatal fault.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { file, masterKey, onForged, onFatal, log, mustExist = false } = options
  if (mustExist) requireStoreFile(file)
  const path = prepareStoreFile(file)
  const lock = lockOwner(path)
  const listeners = new Set<AppendListener>()
  const wake = (part: CommittedPart | undefined) => {
    for (const listener of listeners) listener(part?.end.position, part)
  }
  let fatal: Error | undefined
  const end = (fault: Error) => {
    if (fatal !== undefined) return
    fatal = fault
    onFatal(fault)
  }
  const writer = await openWriter({
    file: path,
    masterKey,
    mustExist,
    onAppended: wake,
    onForged,
    onFatal: end,
  }).catch((fault: unknown) => {
    lock.release()
    throw fault
  })
  let reader: SqliteSession | undefined

  const runOnce: RunOperation = async (name, args) => {
    if (fatal !== undefined) throw new StoreUnavailable('the store has failed', { cause: fatal })
    if (!isReadOperation(name)) return writer.run(name, args)
    if (reader === undefined) throw new StoreUnavailable('the store is closed')
    try {
      return reader.run(createTransaction(name, args))
    } catch (fault) {
      if (isFatal(fault)) end(fault as Error)
      throw asUnavailable(fault)
    }
  }

  const writes = watchWrites(runOnce, log)
  const { run } = writes
  let unwatch: (() => void) | undefined

  /**
   * If only the write-ahead log is gone, a clean close of the writer still moves its content into
   * the file.
   */
  const endWithoutFile = async (fault: FileGone) => {
    const rescued = fault.isLogOnly ? writer.close() : undefined
    fatal = fault
    await Promise.race([rescued, new Promise((resolve) => setTimeout(resolve, RESCUE_MS_MAX))])
    onFatal(fault)
  }

  const close = async () => {
    unwatch?.()
    writes.close()
    listeners.clear()
    reader?.db.close()
    reader = undefined
    await writer.close()
    lock.release()
  }

  try {
    reader = new SqliteSession(openForReading(path), { macs: createRowMacs(writer.macKey), onForged })
    const { logState } = bindOperations(run, () => '')
    requireLive((await logState())?.lineage, path)
    const epoch = await resolveEpoch(run, async () => LIVE, Date.now())
    unwatch = watchFile(path, (fault) => {
      if (fatal === undefined) void endWithoutFile(fault)
    })
    let closing: Promise<void> | undefined
    return {
      ...bindOperations(run, () => epoch),
      kind: 'sqlite',
      isShared: false,
      epoch,
      // It belongs to this process, and others cannot begin one.
      async followEpoch() {},
      onAppend(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      writeFault: writes.fault,
      async ping() {
        await logState()
      },
      close: () => (closing ??= close()),
    }
  } catch (fault) {
    await close()
    throw fault
  }
}

/**
 * A backup is never opened as the store by itself: later changes are missing, and an operator must
 * know that.
 */
export function requireLive(lineage: string | undefined, path: string): void {
  if (lineage === undefined || lineage === LIVE) return
  throw new Error(
    `${path} is a copy that was made with countersign backup. Put it in place with countersign restore <file>, or, if it was copied there by hand, run countersign new-epoch.`,
  )
}
