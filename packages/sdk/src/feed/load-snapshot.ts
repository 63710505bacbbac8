import {
  checkEpochStatement,
  checkSnapshot,
  type EpochStatement,
  type LoadEvidence,
  type LogHead,
  type SiteView,
} from '@countersign/core'
import type { FeedKeys } from './feed-keys.ts'
import { hasEntry } from './has-entry.ts'
import { LogCorrupted } from './log-corrupted.ts'
import { readSnapshot } from './snapshot-reader.ts'
import { ServiceError, type VerifierApi } from './verifier-api.ts'

/** Where a snapshot comes from, and the keys that may sign it. */
export interface SnapshotSource {
  readonly api: VerifierApi
  readonly keys: Pick<FeedKeys, 'find'>
}

export type LoadedSnapshot = Awaited<ReturnType<typeof loadSnapshot>>

/**
 * Loads a snapshot and checks its signature. The view does not change before `load.commit`. Throws
 * a `LogCorrupted` for a snapshot that no trusted key has signed.
 */
export async function loadSnapshot({ api, keys }: SnapshotSource, view: SiteView, signal: AbortSignal) {
  const chunks = await api.snapshot(signal)
  const { head, epochs, end, received, load } = await readSnapshot(chunks, (first) => view.beginLoad(first))
  const key = await keys.find(end.kid, signal)
  const proof = key && (await checkSnapshot(head, end, received, key))
  if (proof === undefined) throw new LogCorrupted('snapshot_unsigned')
  return { head, epochs, load, proof }
}

/** Loads what a view needs as evidence before it replaces its proven head by that of a snapshot. */
export async function loadEvidence(
  { api, keys }: SnapshotSource,
  proven: LogHead | undefined,
  { head, epochs }: Pick<LoadedSnapshot, 'head' | 'epochs'>,
  signal: AbortSignal,
): Promise<LoadEvidence> {
  if (proven === undefined) return {}
  if (head.epoch === proven.epoch) {
    // The service no longer has an earlier entry. The base itself is signed with its hash.
    if (proven.seq <= head.base.seq) return {}
    const hasProvenEntry = head.seq !== proven.seq && (await hasEntry(api, proven, signal))
    if (hasProvenEntry && head.seq < proven.seq)
      throw new ServiceError(
        'node_behind',
        'This node of the service lags behind another one. The guard tries again.',
      )
    return { hasProvenEntry }
  }
  const signed: EpochStatement[] = []
  for (const statement of epochs) {
    const key = await keys.find(statement.kid, signal)
    if (key !== undefined && (await checkEpochStatement(statement, key))) signed.push(statement)
  }
  return { epochs: signed }
}
