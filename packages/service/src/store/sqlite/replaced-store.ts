import { existsSync } from 'node:fs'
import { GENESIS_HASH, type LogHead } from '@countersign/core'
import { number, text } from '../columns.ts'
import type { LostChanges } from '../lost-changes.ts'
import { formerEpochs } from '../operations/shared/former-epochs.ts'
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

/**
 * The last entry of each site that both logs have. The hash of an entry covers everything before
 * it, in every epoch that continues it.
 */
function findCommonHeads(replaced: SqliteSession, copy: SqliteSession): ReadonlyMap<string, LogHead> {
  const heads = new Map<string, LogHead>()
  const epoch = loadEpoch(replaced)
  const [theirs, ours] = [new KnownHashes(replaced), new KnownHashes(copy)]
  for (const row of copy.rows('SELECT site_id, seq FROM heads')) {
    const siteId = text(row, 'site_id')
    const [head] = replaced.rows('SELECT seq FROM heads WHERE site_id = $1', siteId)
    if (head === undefined) continue
    let common: LogHead = { epoch, seq: 0, hash: GENESIS_HASH }
    for (let seq = Math.min(number(row, 'seq'), number(head, 'seq')); seq > 0; seq--) {
      const hash = ours.find(siteId, seq)
      // What the copy no longer has cannot be compared.
      if (hash === undefined) break
      if (theirs.find(siteId, seq) !== hash) continue
      common = { epoch, seq, hash }
      break
    }
    heads.set(siteId, common)
  }
  return heads
}

function loadEpoch(session: SqliteSession): string {
  const [log] = session.rows('SELECT epoch FROM log WHERE one = 1')
  return log === undefined ? '' : text(log, 'epoch')
}

/** The hashes of entries that a store knows: of entries that it has, and of heads and bases. */
class KnownHashes {
  readonly #session: SqliteSession
  readonly #epochs: readonly string[]

  constructor(session: SqliteSession) {
    this.#session = session
    this.#epochs = [loadEpoch(session), ...session.run(formerEpochs())]
  }

  find(siteId: string, seq: number): string | undefined {
    const queries = [
      'SELECT hash FROM heads WHERE site_id = $1 AND seq = $2',
      'SELECT base_hash AS hash FROM checkpoint_sites WHERE site_id = $1 AND base_seq = $2',
      'SELECT previous_hash AS hash FROM epochs WHERE site_id = $1 AND previous_seq = $2',
    ]
    for (const query of queries) {
      const [found] = this.#session.rows(query, siteId, seq)
      if (found !== undefined) return text(found, 'hash')
    }
    for (const epoch of this.#epochs) {
      const [found] = this.#session.rows(
        'SELECT hash FROM entries WHERE epoch = $1 AND site_id = $2 AND seq = $3',
        epoch,
        siteId,
        seq,
      )
      if (found !== undefined) return text(found, 'hash')
    }
    return undefined
  }
}
