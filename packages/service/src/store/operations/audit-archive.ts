import { toAuditIdStart } from '../audit-ids.ts'
import { toArchiveLine, toAuditRow } from '../audit-rows.ts'
import { number, text } from '../columns.ts'
import { countChanged, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditRow } from './audit.ts'
import { padList } from './shared/pad-list.ts'

/** The last archive of audit rows. Number 0: there is none. */
export interface AuditArchive {
  readonly number: number
  /** The SHA-256 that the file states in its last line. */
  readonly sha256: string
  /** Whether its rows have been removed from the store. */
  readonly isRemoved: boolean
}

/** A row that is in an archive: its id and its line. */
export interface ArchivedRow {
  readonly id: string
  readonly line: string
}

/** The last archive that was recorded. */
export const lastAuditArchive = read(function* (): Transaction<AuditArchive> {
  const found = yield* row('SELECT * FROM audit_archive WHERE one = 1')
  if (found === undefined) throw new Error('the store has no row in audit_archive')
  return toArchive(found)
})

/**
 * Allows the owner to archive, and returns the last archive. Undefined while another owner has
 * begun within `leaseMs` and has not ended. The clocks of the nodes differ a little.
 */
export function* claimAuditArchive(
  owner: string,
  nowMs: number,
  leaseMs: number,
): Transaction<AuditArchive | undefined> {
  const found = yield* row(
    `UPDATE audit_archive SET claimed_by = $1, claimed_at = CAST($2 AS BIGINT) WHERE one = 1
       AND (claimed_by = '' OR claimed_by = $1 OR claimed_at <= CAST($2 AS BIGINT) - CAST($3 AS BIGINT)
         OR claimed_at >= CAST($2 AS BIGINT) + CAST($3 AS BIGINT)) RETURNING *`,
    owner,
    Math.floor(nowMs),
    leaseMs,
  )
  return found && toArchive(found)
}

export function* releaseAuditArchive(owner: string): Transaction<void> {
  yield* rows(`UPDATE audit_archive SET claimed_by = '' WHERE one = 1 AND claimed_by = $1`, owner)
}

/** The oldest rows from before that time, by id, after the row `after`. */
export const auditRowsBefore = read(function* (
  beforeMs: number,
  after: string,
  limit: number,
): Transaction<readonly AuditRow[]> {
  const found = yield* rows(
    'SELECT * FROM audit WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3',
    after,
    toAuditIdStart(beforeMs),
    limit,
  )
  return found.map(toAuditRow)
})

/**
 * Records that the next archive is durable, and renews the claim. False when the owner no longer
 * has the claim, or `before` is no longer the last archive.
 */
export function* recordAuditArchive(
  owner: string,
  before: AuditArchive,
  sha256: string,
  nowMs: number,
): Transaction<boolean> {
  const moved = yield* row(
    `UPDATE audit_archive SET number = number + 1, sha256 = $2, removed = 0, claimed_at = $3
     WHERE one = 1 AND claimed_by = $1 AND number = $4 AND sha256 = $5 AND removed = 1 RETURNING number`,
    owner,
    sha256,
    Math.floor(nowMs),
    before.number,
    before.sha256,
  )
  return moved !== undefined
}

/**
 * Removes those of these rows that are the same in the store, and returns how many. A row that was
 * changed since it was archived stays, and goes into a later archive.
 */
export function* removeArchivedRows(archived: readonly ArchivedRow[]): Transaction<number> {
  if (archived.length === 0) return 0
  const lines = new Map(archived.map(({ id, line }) => [id, line]))
  const found = yield* rows(`SELECT * FROM audit WHERE id IN ${toList(archived)}`, ...toIds(archived))
  const same = found.map(toAuditRow).filter((each) => lines.get(each.id) === toArchiveLine(each))
  if (same.length === 0) return 0
  return yield* countChanged(`DELETE FROM audit WHERE id IN ${toList(same)}`, ...toIds(same))
}

/** Records that nothing of this archive is left to remove. */
export function* endAuditArchive({ number, sha256 }: AuditArchive): Transaction<void> {
  yield* rows(
    'UPDATE audit_archive SET removed = 1 WHERE one = 1 AND number = $1 AND sha256 = $2',
    number,
    sha256,
  )
}

/** Removes the oldest rows from before that time without an archive, and returns how many. */
export function* removeAuditRows(beforeMs: number, limit: number): Transaction<number> {
  return yield* countChanged(
    'DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < $1 ORDER BY id LIMIT $2)',
    toAuditIdStart(beforeMs),
    limit,
  )
}

const toIds = (named: readonly { readonly id: string }[]) => padList(named.map(({ id }) => id))
const toList = (named: readonly { readonly id: string }[]) =>
  `(${toIds(named)
    .map((_, i) => `$${i + 1}`)
    .join(', ')})`

function toArchive(found: Row): AuditArchive {
  return {
    number: number(found, 'number'),
    sha256: text(found, 'sha256'),
    isRemoved: number(found, 'removed') === 1,
  }
}
