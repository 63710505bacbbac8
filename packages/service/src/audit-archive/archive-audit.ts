import type { Logger } from 'pino'
import type { Meters } from '../meters.ts'
import { toAuditIdStart } from '../store/audit-ids.ts'
import { toArchiveLine } from '../store/audit-rows.ts'
import type { AuditArchive } from '../store/operations/audit-archive.ts'
import type { Store } from '../store/store.ts'
import {
  type ArchiveFile,
  readArchive,
  removeArchive,
  removeDrafts,
  toArchiveName,
  writeArchive,
} from './archive-file.ts'

export interface AuditArchiverParts {
  readonly store: Pick<
    Store,
    | 'lastAuditArchive'
    | 'claimAuditArchive'
    | 'releaseAuditArchive'
    | 'auditRowsBefore'
    | 'recordAuditArchive'
    | 'removeArchivedRows'
    | 'endAuditArchive'
  >
  readonly clock: { nowMs(): number }
  readonly log: Pick<Logger, 'error' | 'info'>
  readonly meters: Pick<Meters, 'rowsRemoved' | 'auditRowsArchived'>
  /** Where the archives are written. */
  readonly directory: string
  /** Rows that are older are moved to an archive. */
  readonly keptMs: number
  /** Distinguishes this process from others that use the same store. */
  readonly owner: string
  /** Ends the run after the current step. */
  readonly signal: AbortSignal
  readonly rowsMax?: number
}

/** Rows in one file, and files in one run. */
const FILE_ROWS_MAX = 10_000
const FILES_MAX = 100
/** Rows that are read or removed at a time, so that others do not wait long. */
const BATCH = 256
/** A process that has not renewed its claim for so long has ended. */
const LEASE_MS = 300_000
/** A file has at least the rows of a day, so that there are few files. */
const DAY_MS = 86_400_000

/**
 * Moves old audit rows to files, if the oldest one has been due for a day. A file is durable before
 * it is recorded in the store, and recorded before its rows are removed. So an interrupted run
 * loses nothing, and the next one continues it. Rejects when a file cannot be written; then no row
 * is removed.
 */
export async function archiveAudit(parts: AuditArchiverParts): Promise<void> {
  const { store, clock, owner, signal } = parts
  const [oldest] = await store.auditRowsBefore(clock.nowMs() - parts.keptMs - DAY_MS, '', 1)
  if (oldest === undefined && (await store.lastAuditArchive()).isRemoved) return
  let last = await store.claimAuditArchive(owner, clock.nowMs(), LEASE_MS)
  if (last === undefined) return
  try {
    for (let files = 0; files < FILES_MAX; files++) {
      if (!last.isRemoved) await removeArchived(parts, last)
      if (signal.aborted) return
      const next: ArchiveFile | undefined = await findOrWrite(parts, last)
      if (next === undefined) return
      await recordArchive(parts, last, next)
      last = { number: next.number, sha256: next.sha256, isRemoved: false }
    }
  } finally {
    await store.releaseAuditArchive(owner)
  }
}

/**
 * Removes the rows of the last archive from the store. If its file is missing or damaged, its rows
 * stay, and go into the next archive.
 */
async function removeArchived(
  { store, log, meters, directory, signal }: AuditArchiverParts,
  last: AuditArchive,
): Promise<void> {
  const file = await readArchive(directory, last.number)
  if (typeof file !== 'object' || file.sha256 !== last.sha256) {
    const fault = typeof file === 'object' ? 'wrong_hash' : (file ?? 'missing')
    log.error(
      { file: toArchiveName(last.number), fault },
      'an audit archive is missing or damaged; the rows that are still in the store are archived again',
    )
  } else {
    for (let i = 0; i < file.rows.length; i += BATCH) {
      if (signal.aborted) return
      meters.rowsRemoved('audit', await store.removeArchivedRows(file.rows.slice(i, i + BATCH)))
    }
  }
  await store.endAuditArchive(last)
}

/** The archive that an interrupted run has left, or a new one of the rows that are due. */
async function findOrWrite(parts: AuditArchiverParts, last: AuditArchive): Promise<ArchiveFile | undefined> {
  const { store, clock, directory, rowsMax = FILE_ROWS_MAX } = parts
  const number = last.number + 1
  const beforeMs = clock.nowMs() - parts.keptMs
  const [oldest] = await store.auditRowsBefore(beforeMs, '', 1)
  if (oldest === undefined) return undefined
  const left = await readArchive(directory, number)
  if (left === undefined) {
    const head = { number, previousSha256: last.sha256, writtenAtMs: clock.nowMs() }
    await writeArchive(directory, head, loadLines(store, beforeMs, rowsMax))
  } else {
    // A process that was killed between its link and the end of its draft leaves both.
    await removeDrafts(directory)
  }
  const next = left ?? (await readArchive(directory, number))
  const isNext = typeof next === 'object' && next.previousSha256 === last.sha256
  if (!isNext || !next.rows.every(({ id }) => id < toAuditIdStart(beforeMs)))
    throw new Error(
      `${toArchiveName(number)} in ${directory} is not the archive that follows number ${last.number}; move the file elsewhere`,
    )
  return next
}

async function* loadLines(
  store: Pick<Store, 'auditRowsBefore'>,
  beforeMs: number,
  rowsMax: number,
): AsyncGenerator<string> {
  for (let [after, left] = ['', rowsMax]; left > 0; ) {
    const rows = await store.auditRowsBefore(beforeMs, after, Math.min(BATCH, left))
    for (const row of rows) yield toArchiveLine(row)
    after = rows.at(-1)?.id ?? ''
    left -= rows.length
    if (rows.length === 0) return
  }
}

/** Rejects, and removes the file, when another node has recorded another archive of this number. */
async function recordArchive(
  parts: AuditArchiverParts,
  last: AuditArchive,
  next: ArchiveFile,
): Promise<void> {
  const { store, clock, log, meters, directory, owner } = parts
  if (await store.recordAuditArchive(owner, last, next.sha256, clock.nowMs())) {
    meters.auditRowsArchived(next.rows.length)
    log.info({ file: toArchiveName(next.number), rows: next.rows.length }, 'audit rows were archived')
    return
  }
  const recorded = await store.lastAuditArchive()
  if (recorded.number === next.number && recorded.sha256 !== next.sha256)
    await removeArchive(directory, next.number)
  throw new Error('another node archives audit rows at the same time')
}
