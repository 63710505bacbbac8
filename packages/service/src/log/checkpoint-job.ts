import type { Logger } from 'pino'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import { type CheckpointWriterStore, writeCheckpoint } from '../store/checkpoints/write-checkpoint.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import type { Clock } from '../time/clock.ts'
import type { LiveViews } from './live-views.ts'

export interface CheckpointParts {
  readonly store: CheckpointWriterStore
  readonly views: Pick<LiveViews, 'capture' | 'position' | 'reportDamage'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly log: Pick<Logger, 'info' | 'warn'>
}

export interface CheckpointJobOptions {
  /** A checkpoint is written after so many entries. */
  readonly entriesMin?: number
  /** How often the number of entries is compared. */
  readonly everyMs?: number
}

const CHECKPOINT_ENTRIES = 10_000
const EVERY_MS = 10_000
/** Nodes of one store must not begin at the same time. */
const JITTER = 0.5
const PAUSE_MS = 2

/** Writes checkpoints while the service runs, so that the next start reads few entries. */
export function startCheckpoints(
  { store, views, clock, log }: CheckpointParts,
  { entriesMin = CHECKPOINT_ENTRIES, everyMs: ms = EVERY_MS }: CheckpointJobOptions = {},
): PeriodicJob {
  /** The position of the last checkpoint that this node has seen; unknown at first. */
  let position = Number.NEGATIVE_INFINITY
  let epoch = ''
  const write = async () => {
    epoch = store.epoch
    if (views.position - position < entriesMin) return
    position = (await store.checkpoint())?.position ?? 0
    if (views.position - position < entriesMin) return
    const sinceMs = performance.now()
    const capture = views.capture.bind(views)
    const atMs = Math.floor(clock.nowMs())
    const written = await writeCheckpoint({ store, capture, atMs, entriesMin, pauseMs: PAUSE_MS })
    if (written === undefined) return
    log.info(
      {
        position: written.position,
        entries: written.position - position,
        ms: Math.round(performance.now() - sinceMs),
      },
      'a checkpoint of the log was written',
    )
    position = written.position
  }
  return everyMs(
    ms,
    write,
    (err) => {
      if (err instanceof LogCorrupted) views.reportDamage(err, epoch)
      else log.warn({ err }, 'no checkpoint could be written; trying again')
    },
    JITTER,
  )
}
