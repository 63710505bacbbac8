import { existsSync } from 'node:fs'
import { GENESIS_HASH, type LogHead } from '@countersign/core'
import { number, text } from '../columns.ts'
import type { LostChanges } from '../lost-changes.ts'
import type { Row } from '../transaction.ts'
import { findLostChanges } from './lost-changes.ts'
import { auditSession, openReading } from './offline.ts'
import type { SqliteSession } from './session.ts'

/** What a restore must know of the store that it replaces. */
export interface ReplacedStore {
  /**
   * What it revokes and the backup does not; a text says why it could not be read. Undefined when
   * there is no store.
   */
  readonly lost: LostChanges | string | undefined
  /** The head of each site up to which both logs agree: its verifiers continue from there. */
  readonly heads: ReadonlyMap<string, LogHead>
  /** Its links between epochs. */
  readonly links: readonly Row[]
}

/**
 * Reads the store at `path` and compares it with the copy. Of a damaged store, returns what can be
 * read.
 */
export async function readReplaced(
  path: string,
  masterKey: Uint8Array,
  copy: SqliteSession,
): Promise<ReplacedStore> {
  const nothing = { heads: new Map<string, LogHead>(), links: [] }
  if (!existsSync(path)) return { ...nothing, lost: undefined }
  let replaced: SqliteSession | undefined
  try {
    replaced = openReading(path, masterKey)
    const lost = findLostChanges(replaced, copy)
    // Verifiers may continue only from a log that this service wrote.
    const audit = await auditSession(replaced)
    if (!audit.ok) return { ...nothing, lost }
    return { lost, heads: findCommonHeads(replaced, copy), links: replaced.rows('SELECT * FROM epochs') }
  } catch (fault) {
    return { ...nothing, lost: fault instanceof Error ? fault.message : String(fault) }
  } finally {
    replaced?.db.close()
  }
}

function findCommonHeads(replaced: SqliteSession, copy: SqliteSession): ReadonlyMap<string, LogHead> {
  const heads = new Map<string, LogHead>()
  const [theirs, ours] = [loadEpoch(replaced), loadEpoch(copy)]
  for (const row of copy.rows('SELECT site_id FROM heads')) {
    const siteId = text(row, 'site_id')
    if (replaced.rows('SELECT 1 AS one FROM heads WHERE site_id = $1', siteId).length === 0) continue
    let head: LogHead = { epoch: theirs, seq: 0, hash: GENESIS_HASH }
    const [old, kept] = [readEntries(replaced, theirs, siteId), readEntries(copy, ours, siteId)]
    for (const entry of old) {
      const other = kept.next().value
      if (other === undefined || ['kind', 'body', 'at'].some((column) => entry[column] !== other[column]))
        break
      head = { epoch: theirs, seq: number(entry, 'seq'), hash: text(entry, 'hash') }
    }
    heads.set(siteId, head)
  }
  return heads
}

function loadEpoch(session: SqliteSession): string {
  const [log] = session.rows('SELECT epoch FROM log WHERE one = 1')
  return log === undefined ? '' : text(log, 'epoch')
}

const PAGE = 1000

function* readEntries(session: SqliteSession, epoch: string, siteId: string): Generator<Row, undefined> {
  for (let seq = 0; ; ) {
    const page = session.rows(
      'SELECT seq, kind, body, at, hash FROM entries WHERE epoch = $1 AND site_id = $2 AND seq > $3 ORDER BY seq LIMIT $4',
      epoch,
      siteId,
      seq,
      PAGE,
    )
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) return undefined
    seq = number(last, 'seq')
  }
}
