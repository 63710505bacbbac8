import type { Checkpoint } from '../checkpoint.ts'
import type { Store } from '../store.ts'
import type { AppliedLog } from './applied-log.ts'
import { newEntries } from './log-part.ts'
import { type CheckpointStore, restoreLog } from './restore-log.ts'
import { type CheckpointWriterStore, writeCheckpoint } from './write-checkpoint.ts'

/** What `writeCheckpointAtEnd` needs. */
export type OfflineStore = CheckpointStore & CheckpointWriterStore & Pick<Store, 'entriesAfter'>

const PAGE = 2000
/** Another node may write a checkpoint at the same time. */
const TRIES = 3

/**
 * Writes a checkpoint at the end of the log, for a store that no node uses. Returns the one that is
 * there if it ends there. Throws a `LogCorrupted` when the log is not intact.
 */
export async function writeCheckpointAtEnd(store: OfflineStore, atMs: number): Promise<Checkpoint> {
  for (let tries = TRIES; tries > 0; tries--) {
    const { log, from } = await restoreLog(store)
    await readToEnd(store, log)
    if (from?.checkpoint.position === log.position) return from.checkpoint
    const written = await writeCheckpoint({ store, capture: log.capture.bind(log), atMs, entriesMin: 0 })
    if (written !== undefined) return written
  }
  throw new Error('another node is writing checkpoints: stop all nodes, then try again')
}

/** Applies all entries, and compares them with the log row. */
export async function readToEnd(store: Pick<Store, 'entriesAfter'>, log: AppliedLog): Promise<void> {
  for (;;) {
    const { entries, end } = await store.entriesAfter(log.position, PAGE)
    const isEnd = entries.length < PAGE
    await log.apply({
      entries: newEntries(entries, [], log.position),
      isEnd,
      end,
    })
    if (isEnd) return
  }
}
