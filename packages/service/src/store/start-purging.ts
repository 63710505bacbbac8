import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import type { Meters } from '../meters.ts'
import { takeRemovalTurn } from './removal-turn.ts'
import type { Store } from './store.ts'

const EVERY_MS = 60_000
/** Rows that one transaction removes, so that others do not wait for it long. */
const CREDENTIALS = 100
const AUDIT_ROWS = 500
const RECEIPTS = 100
/** At least this long after each transaction, and as long as it took. */
const PAUSE_MS_MIN = 5

interface PurgeDeps {
  readonly store: Pick<
    Store,
    'purgeExpired' | 'purgeCredentials' | 'purgeReceipts' | 'purgeDrills' | 'removeAuditRows' | 'takeTurn'
  >
  readonly clock: { nowMs(): number }
  readonly config: Pick<Config, 'retention'>
  readonly meters: Pick<Meters, 'rowsRemoved'>
  readonly log: Pick<Logger, 'warn'>
}

/** Removes a batch. False: nothing is left. */
type Removal = () => Promise<boolean>

/**
 * Removes expired rows about once a minute. Once a day, one of the nodes removes credentials,
 * receipts, drills and audit rows that the settings do not keep any longer: see `takeRemovalTurn`.
 * Only the size of the store depends on it, so a failure is logged and retried.
 */
export function startPurging(deps: PurgeDeps, ms: number = EVERY_MS): PeriodicJob {
  let isClosed = false
  let isTurn = false
  /** False after a failure. */
  const removeAll = async (remove: Removal) => {
    try {
      while (!isClosed) {
        const beganMs = performance.now()
        if (!(await remove())) return true
        await setTimeout(Math.max(PAUSE_MS_MIN, performance.now() - beganMs))
      }
      return true
    } catch (err) {
      deps.log.warn({ err }, 'could not remove old rows; trying again')
      return false
    }
  }
  const takeTurn = async () => {
    isTurn ||= await takeRemovalTurn(deps.store, 'remove-old-rows', deps.clock.nowMs())
    return false
  }
  const job = everyMs(
    ms,
    async () => {
      await removeAll(() => removeExpired(deps))
      await removeAll(takeTurn)
      if (!isTurn) return
      let isDone = true
      for (const remove of listDailyRemovals(deps)) isDone = (await removeAll(remove)) && isDone
      // Until everything is removed, this node goes on in its next run.
      isTurn = !isDone
    },
    () => undefined,
  )
  return {
    run: job.run,
    close() {
      isClosed = true
      return job.close()
    },
  }
}

async function removeExpired({ store, clock, meters }: PurgeDeps): Promise<boolean> {
  const { removed, hasMore } = await store.purgeExpired(clock.nowMs())
  for (const [table, count] of Object.entries(removed)) meters.rowsRemoved(table, count)
  return hasMore
}

/** Rows that are kept for long, and are lost once they are removed. */
function listDailyRemovals({ store, clock, config, meters }: PurgeDeps): readonly Removal[] {
  const { credentialsKeptMs, auditKeptMs, auditArchiveDir, receiptsKeptMs } = config.retention
  const credentials = async () => {
    const count = await store.purgeCredentials(clock.nowMs() - credentialsKeptMs, CREDENTIALS)
    meters.rowsRemoved('credentials', count)
    return count === CREDENTIALS
  }
  const receipts = async () => {
    const count = await store.purgeReceipts(clock.nowMs() - receiptsKeptMs, RECEIPTS)
    meters.rowsRemoved('receipts', count)
    return count === RECEIPTS
  }
  const drills = async () => {
    const count = await store.purgeDrills(clock.nowMs() - receiptsKeptMs, RECEIPTS)
    meters.rowsRemoved('drills', count)
    return count === RECEIPTS
  }
  const always = [credentials, receipts, drills]
  // With a directory, rows are archived before they are removed.
  if (auditKeptMs === undefined || auditArchiveDir !== undefined) return always
  const audit = async () => {
    const count = await store.removeAuditRows(clock.nowMs() - auditKeptMs, AUDIT_ROWS)
    meters.rowsRemoved('audit', count)
    return count === AUDIT_ROWS
  }
  return [...always, audit]
}
