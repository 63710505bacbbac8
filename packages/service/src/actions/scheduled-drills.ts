import type { Logger } from 'pino'
import { loadAllRows } from '../all-rows.ts'
import type { Config } from '../config.ts'
import type { Deps } from '../deps.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { Site } from '../store/operations/sites.ts'
import { startDrill } from './drills.ts'

type DrillDeps = Pick<Deps, 'store' | 'views' | 'clock' | 'verifiers'> & {
  readonly config: Pick<Config, 'drillEveryMs'>
  readonly log: Pick<Logger, 'warn'>
}

/** Nodes ask for their turn more often than it comes, so that a node that has ended is replaced. */
const ASK_MS = 5 * 60_000
const JITTER = 0.5

/**
 * Starts a drill at every site with a connected verifier, as often as the settings say, on one of
 * the nodes. Does nothing when they say `off`.
 */
export function startScheduledDrills(deps: DrillDeps, ms: number = ASK_MS): PeriodicJob {
  return everyMs(
    ms,
    () => runScheduledDrills(deps),
    (err) => deps.log.warn({ err }, 'scheduled drills could not be started; trying again'),
    JITTER,
  )
}

async function runScheduledDrills(deps: DrillDeps): Promise<void> {
  const { store, views, clock, verifiers, config } = deps
  if (config.drillEveryMs === undefined || !views.readiness().ready) return
  const turn = await store.takeTurn('drills', Math.floor(clock.nowMs()), config.drillEveryMs)
  if (turn === undefined) return
  const sites = await loadAllRows<Site>((after, limit) => store.sites({ after: after?.siteId, limit }))
  for (const { siteId } of sites) {
    const { leases, streams } = await verifiers.connected(siteId)
    // Without a verifier there is nothing to find out.
    if (leases.length + streams.length === 0) continue
    const context = { actor: 'system', atMs: Math.floor(clock.nowMs()), requestId: undefined }
    await startDrill(deps, { siteId, reason: 'scheduled' }, context)
  }
}
