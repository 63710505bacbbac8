import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import { everyMs, type PeriodicJob } from '../every-ms.ts'
import { takeRemovalTurn } from '../store/removal-turn.ts'
import type { Store } from '../store/store.ts'
import { type AuditArchiverParts, archiveAudit } from './archive-audit.ts'

const EVERY_MS = 60_000
const JITTER = 0.2

interface ArchivingDeps extends Pick<AuditArchiverParts, 'clock' | 'meters'> {
  readonly store: AuditArchiverParts['store'] & Pick<Store, 'takeTurn'>
  readonly config: Pick<Config, 'retention'>
  readonly log: AuditArchiverParts['log'] & { warn(detail: object, message: string): void }
}

/** A job that archives audit rows. */
export interface AuditArchiving extends PeriodicJob {
  /** Whether the last run has failed. */
  readonly isFailing: boolean
}

/**
 * Archives old audit rows once a day on one of the nodes, if the settings say so: see
 * `takeRemovalTurn`. A failure is logged and retried about once a minute; no row is removed
 * meanwhile.
 */
export function startAuditArchiving(deps: ArchivingDeps, ms: number = EVERY_MS): AuditArchiving {
  const { auditKeptMs, auditArchiveDir } = deps.config.retention
  const ending = new AbortController()
  let isFailing = false
  let isTurn = false
  const archive = async () => {
    if (auditKeptMs === undefined || auditArchiveDir === undefined) return
    isTurn ||= await takeRemovalTurn(deps.store, 'archive-audit', deps.clock.nowMs())
    if (!isTurn) return
    await archiveAudit({
      ...deps,
      directory: auditArchiveDir,
      keptMs: auditKeptMs,
      owner,
      signal: ending.signal,
    })
    isTurn = false
    isFailing = false
  }
  const owner = randomUUID()
  const job = everyMs(
    ms,
    archive,
    (err) => {
      isFailing = true
      deps.log.warn({ err }, 'could not archive audit rows; none was removed; trying again')
    },
    JITTER,
  )
  return {
    run: job.run,
    get isFailing() {
      return isFailing
    },
    close() {
      ending.abort()
      return job.close()
    },
  }
}
