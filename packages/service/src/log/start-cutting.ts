import type { Logger } from 'pino'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import { takeRemovalTurn } from '../store/removal-turn.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type CutStore, cutLog } from './cut-log.ts'
import type { LiveViews } from './live-views.ts'

export interface CuttingParts {
  readonly store: CutStore & Pick<Store, 'takeTurn'>
  readonly views: Pick<LiveViews, 'readiness' | 'reportDamage'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly config: { readonly logKeptMs: number }
}

/** Nodes ask for their turn more often than it comes, so that a node that has ended is replaced. */
const ASK_MS = 15 * 60_000
const JITTER = 0.5

/** Cuts the log once a day, on one of the nodes: see `cutLog`. */
export function startCutting(
  { store, views, clock, log, config }: CuttingParts,
  ms: number = ASK_MS,
): PeriodicJob {
  const stop = new AbortController()
  let epoch = ''
  const cut = async () => {
    epoch = store.epoch
    // A node that does not trust its log removes nothing from it.
    if (!views.readiness().ready) return
    const nowMs = Math.floor(clock.nowMs())
    if (!(await takeRemovalTurn(store, 'cut-log', nowMs))) return
    const { basePosition, ...removed } = await cutLog({
      store,
      beforeMs: nowMs - config.logKeptMs,
      context: { actor: 'system', atMs: nowMs },
      signal: stop.signal,
    })
    const isNothing = Object.values(removed).every((count) => count === 0)
    if (!isNothing) log.info({ base_position: basePosition, ...removed }, 'the log was cut at its front')
  }
  const job = everyMs(
    ms,
    cut,
    (err) => {
      if (err instanceof LogCorrupted) views.reportDamage(err, epoch)
      else log.warn({ err }, 'the log could not be cut; trying again tomorrow')
    },
    JITTER,
  )
  return {
    run: job.run,
    async close() {
      stop.abort()
      await job.close()
    },
  }
}
