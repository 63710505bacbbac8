import { isSameMac } from '../sealing/row-macs.ts'
import { type EntryContent, hashEntry } from './entry-hash.ts'
import { RowForged } from './errors.ts'
import { nextDigest } from './log-digest.ts'
import type { RowIntegrity } from './row-integrity.ts'
import type { SqlValue } from './transaction.ts'

/** The log row and the head of the site, as stored before an entry is added. */
export interface LogBefore {
  readonly position: number
  readonly digest: string
  readonly keysDeleted: number
  readonly logMac: SqlValue | undefined
  readonly seq: number
  readonly hash: string
  readonly headMac: SqlValue | undefined
}

export interface LogAfter {
  readonly position: number
  readonly digest: string
  readonly logMac: string
  readonly seq: number
  readonly hash: string
  readonly headMac: string
}

/**
 * The log row and the head after one more entry, with their MACs. Throws a `RowForged` unless both
 * had valid MACs before: otherwise a genuine entry would give a valid MAC to forged rows.
 */
export function extendLog(
  { macs, onForged }: RowIntegrity,
  entry: Omit<EntryContent, 'seq' | 'prevHash'>,
  before: LogBefore,
): LogAfter {
  const { epoch, siteId } = entry
  const toLogMac = (position: number, digest: string) =>
    macs.create('log', [1, epoch, position, digest, before.keysDeleted])
  const toHeadMac = (seq: number, hash: string) => macs.create('heads', [siteId, epoch, seq, hash])
  const toForged = (table: string, key: string) => {
    onForged({ table, key })
    return new RowForged(table, key)
  }
  if (!isSameMac(before.logMac, toLogMac(before.position, before.digest))) throw toForged('log', '1')
  if (!isSameMac(before.headMac, toHeadMac(before.seq, before.hash))) throw toForged('heads', siteId)
  const position = before.position + 1
  const seq = before.seq + 1
  const hash = hashEntry({ ...entry, seq, prevHash: before.hash })
  const digest = nextDigest(before.digest, hash)
  return { position, digest, logMac: toLogMac(position, digest), seq, hash, headMac: toHeadMac(seq, hash) }
}
