import { parseSnapshotLine, type SiteView, type SnapshotLine, toStateLines } from '@countersign/core'
import { LogCorrupted } from '../log-corrupted.ts'

/** The state of a site in a checkpoint. */
export interface CheckpointState {
  /** Lines of a snapshot: everything but the revocations, and without secrets. */
  readonly lines: readonly SnapshotLine[]
  /** The seq of the last entry about each issuer, and under the empty name about the settings. */
  readonly lastSeqs: ReadonlyMap<string, number>
}

/** The text that `parseCheckpointState` reads. */
export function toStateText(view: SiteView, lastSeqs: ReadonlyMap<string, number>): string {
  const lines = toStateLines(view).map((line) => {
    if (line.type !== 'site') return line
    const { subject_key: _, ...site } = line
    return site
  })
  return JSON.stringify({ lines, last_seqs: Object.fromEntries(lastSeqs) })
}

/** Throws a `LogCorrupted` for a text that this release cannot read. */
export function parseCheckpointState(siteId: string, text: string): CheckpointState {
  const { lines, last_seqs } = JSON.parse(text) as {
    readonly lines: readonly unknown[]
    readonly last_seqs: Readonly<Record<string, number>>
  }
  return {
    lines: lines.map((each) => {
      const line = parseSnapshotLine(each)
      if (
        line === undefined ||
        line.type === 'head' ||
        line.type === 'epoch' ||
        line.type === 'page' ||
        line.type === 'end'
      )
        throw new LogCorrupted('unreadable', `the checkpoint has a line about ${siteId} that cannot be read`)
      return line
    }),
    lastSeqs: new Map(Object.entries(last_seqs)),
  }
}
