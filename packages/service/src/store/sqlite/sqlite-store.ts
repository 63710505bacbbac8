import { settleEpoch } from '../epoch.ts'
import type { Program } from '../program.ts'
import { type Store, StoreUnavailable } from '../store.ts'
import { createStoreVerbs, type RunVerb, readingVerbs, type VerbName } from '../verbs/all.ts'
import { asUnavailable, isFatal, openForReading } from './connection.ts'
import { prepareStoreFile } from './file.ts'
import { lockOwner } from './owner-lock.ts'
import { SqliteSession } from './session.ts'
import { openWriter } from './writer-client.ts'

export interface SqliteStoreOptions {
  readonly file: string
  /** Called once when nothing more can be promised: the process must end, and start anew. */
  readonly onFatal: (fault: Error) => void
}

/** The lineage of a file in use. A copy that was made as a backup says otherwise of itself. */
export const LIVE = 'live'

/** Opens the embedded store: one file, one process. Rejects when the file is owned by another, readable by others or too new. */
export async function openSqliteStore({ file, onFatal }: SqliteStoreOptions): Promise<Store> {
  const path = prepareStoreFile(file)
  const lock = lockOwner(path)
  const listeners = new Set<() => void>()
  const wake = () => {
    for (const listener of listeners) listener()
  }
  let fatal: Error | undefined
  const end = (fault: Error) => {
    if (fatal !== undefined) return
    fatal = fault
    onFatal(fault)
  }
  const writer = await openWriter({ file: path, onAppended: wake, onFatal: end }).catch((fault: unknown) => {
    lock.release()
    throw fault
  })
  let reader: SqliteSession | undefined

  const run: RunVerb = async (name, ...args) => {
    if (fatal !== undefined) throw new StoreUnavailable('the store has failed', { cause: fatal })
    if (!isReading(name)) return writer.run(name, args) as never
    if (reader === undefined) throw new StoreUnavailable('the store is closed')
    try {
      return reader.run((readingVerbs[name] as (...args: readonly unknown[]) => Program<unknown>)(...args)) as never
    } catch (fault) {
      if (isFatal(fault)) end(fault as Error)
      throw asUnavailable(fault)
    }
  }

  const close = async () => {
    listeners.clear()
    reader?.db.close()
    reader = undefined
    await writer.close()
    lock.release()
  }

  try {
    reader = new SqliteSession(openForReading(path))
    const epoch = await settleEpoch(run, async () => LIVE, Date.now())
    let closing: Promise<void> | undefined
    return {
      ...createStoreVerbs(run, () => epoch),
      kind: 'sqlite',
      isShared: false,
      epoch,
      onAppend(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      async ping() {
        await run('logState')
      },
      close: () => (closing ??= close()),
    }
  } catch (fault) {
    await close()
    throw fault
  }
}

function isReading(name: VerbName): name is keyof typeof readingVerbs {
  return Object.hasOwn(readingVerbs, name)
}
