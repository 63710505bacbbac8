import type { CredentialId, DrillOutcome, DrillReport, SiteId } from '@countersign/core'
import { number, optionalJson, optionalNumber, optionalText, text, toSiteId } from '../columns.ts'
import type { Logged } from '../logged.ts'
import type { Page } from '../page.ts'
import { countChanged, exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { writeCredentialRevocation } from './shared/credential-revocation.ts'
import { recordAudit } from './shared/record-audit.ts'

/** A drill: an id that no credential has was revoked, to see which verifiers apply the entry. */
export interface DrillRow {
  readonly siteId: SiteId
  readonly drillId: string
  readonly credentialId: CredentialId
  readonly epoch: string
  readonly seq: number
  readonly startedAtMs: number
  /** These three are undefined while it runs. */
  readonly endedAtMs: number | undefined
  readonly outcome: DrillOutcome | undefined
  readonly report: DrillReport | undefined
}

export interface NewDrill {
  readonly siteId: SiteId
  readonly drillId: string
  readonly credentialId: CredentialId
  readonly reason: string | undefined
}

/**
 * Starts a drill: appends its entry and writes its row. While another drill of the site runs,
 * changes nothing and returns that one. `position` is 0 then.
 */
export function* startDrill(
  { siteId, drillId, credentialId, reason }: NewDrill,
  context: AuditContext,
): Transaction<Logged<DrillRow>> {
  yield* lock(`drill ${siteId}`)
  const running = yield* row(
    'SELECT * FROM drills WHERE site_id = $1 AND ended_at IS NULL ORDER BY started_at DESC LIMIT 1',
    siteId,
  )
  if (running !== undefined) return { ...toDrill(running), position: 0 }
  const revoked = { siteId, credentialId, type: 'credential', reason, tokensRevoked: 0 } as const
  const { epoch, seq, position } = yield* writeCredentialRevocation(revoked, context.atMs)
  yield* exec(
    `INSERT INTO drills (site_id, drill_id, credential_id, epoch, seq, started_at, ended_at, outcome, report)
     VALUES ($1, $2, $3, $4, $5, $6, NULL, NULL, NULL)`,
    siteId,
    drillId,
    credentialId,
    epoch,
    seq,
    context.atMs,
  )
  const detail = { credential_id: credentialId }
  yield* recordAudit({ siteId, action: 'drill.start', target: drillId, reason, seq, detail, context })
  return {
    siteId,
    drillId,
    credentialId,
    epoch,
    seq,
    startedAtMs: context.atMs,
    endedAtMs: undefined,
    outcome: undefined,
    report: undefined,
    position,
  }
}

/** Writes the report of a drill that runs. Does nothing when another node has written it. */
export function* endDrill(report: DrillReport, endedAtMs: number): Transaction<void> {
  yield* exec(
    `UPDATE drills SET ended_at = $3, outcome = $4, report = $5 WHERE site_id = $1 AND drill_id = $2 AND ended_at IS NULL`,
    report.site_id,
    report.drill_id,
    endedAtMs,
    report.outcome,
    JSON.stringify(report),
  )
}

/** Drills of all sites that run. */
export const runningDrills = read(function* (limit: number): Transaction<readonly DrillRow[]> {
  const found = yield* rows(
    'SELECT * FROM drills WHERE ended_at IS NULL ORDER BY site_id, started_at LIMIT $1',
    limit,
  )
  return found.map(toDrill)
})

/** The newest first; named by their id, which sorts by time. */
export const drills = read(function* (
  siteId: SiteId,
  { after, limit }: Page,
): Transaction<readonly DrillRow[]> {
  const found = yield* rows(
    `SELECT * FROM drills WHERE site_id = $1 AND ${after === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'drill_id < $2'}
     ORDER BY drill_id DESC LIMIT $3`,
    siteId,
    after ?? null,
    limit,
  )
  return found.map(toDrill)
})

export const drill = read(function* (siteId: SiteId, drillId: string): Transaction<DrillRow | undefined> {
  const found = yield* row('SELECT * FROM drills WHERE site_id = $1 AND drill_id = $2', siteId, drillId)
  return found && toDrill(found)
})

/** Removes the oldest drills, up to `beforeMs`. Returns how many. */
export function* purgeDrills(beforeMs: number, limit: number): Transaction<number> {
  return yield* countChanged(
    `DELETE FROM drills WHERE (site_id, drill_id) IN
       (SELECT site_id, drill_id FROM drills WHERE started_at <= $1 ORDER BY started_at LIMIT $2)`,
    beforeMs,
    limit,
  )
}

function toDrill(found: Row): DrillRow {
  return {
    siteId: toSiteId(found),
    drillId: text(found, 'drill_id'),
    credentialId: text(found, 'credential_id') as CredentialId,
    epoch: text(found, 'epoch'),
    seq: number(found, 'seq'),
    startedAtMs: number(found, 'started_at'),
    endedAtMs: optionalNumber(found, 'ended_at'),
    outcome: optionalText(found, 'outcome') as DrillOutcome | undefined,
    report: optionalJson(found, 'report'),
  }
}
