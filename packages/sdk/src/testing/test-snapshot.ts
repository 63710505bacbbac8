import {
  createSha256,
  EPOCH_STATEMENTS_MAX,
  type EpochLine,
  type EpochStatement,
  formatTime,
  GENESIS_HASH,
  type SiteId,
  type SnapshotHead,
  signEpochStatement,
  signSnapshot,
} from '@countersign/core'
import type { FeedKey } from './test-feed-keys.ts'
import type { TestLog } from './test-log.ts'

/** A new epoch of the log, before it is signed. */
export type AnnouncedEpoch = Pick<EpochStatement, 'epoch' | 'previous' | 'at'>

export interface TestSnapshotParts {
  readonly siteId: SiteId
  readonly log: TestLog
  readonly nowMs: number
  readonly maxAgeSeconds: number
  /** Entries up to this one are no longer kept. */
  readonly keptFromSeq: number
  readonly epochs: readonly AnnouncedEpoch[]
  readonly feedKey: FeedKey
}

const LINES_IN_A_PIECE = 500

/** The signed snapshot of a test log, in pieces as a network would deliver it. */
export async function signTestSnapshot({
  siteId,
  log,
  nowMs,
  maxAgeSeconds,
  keptFromSeq,
  epochs,
  feedKey,
}: TestSnapshotParts): Promise<Uint8Array[]> {
  const { epoch, seq, hash } = log.head
  const head: SnapshotHead = {
    type: 'head',
    site_id: siteId,
    epoch,
    seq,
    hash,
    as_of: formatTime(nowMs),
    max_age_seconds: maxAgeSeconds,
    base: { seq: keptFromSeq, hash: log.entries[keptFromSeq - 1]?.hash ?? GENESIS_HASH },
  }
  const lines = [head, ...(await signEpochs(siteId, epochs, feedKey)), ...log.lines()]
  const pieces = encodeLines(lines)
  const sha256 = createSha256()
  for (const piece of pieces) sha256.update(piece)
  const body = { lines: lines.length, sha256: await sha256.hex() }
  return [...pieces, ...encodeLines([await signSnapshot(head, body, feedKey.kid, feedKey.key)])]
}

function signEpochs(
  siteId: SiteId,
  epochs: readonly AnnouncedEpoch[],
  { kid, key }: FeedKey,
): Promise<EpochLine[]> {
  return Promise.all(
    epochs.slice(-EPOCH_STATEMENTS_MAX).map(async (epoch): Promise<EpochLine> => {
      return { type: 'epoch', ...(await signEpochStatement({ site_id: siteId, ...epoch, kid }, key)) }
    }),
  )
}

function encodeLines(lines: readonly object[]): Uint8Array[] {
  const texts = lines.map((line) => `${JSON.stringify(line)}\n`)
  const pieces: Uint8Array[] = []
  for (let i = 0; i < texts.length; i += LINES_IN_A_PIECE)
    pieces.push(new TextEncoder().encode(texts.slice(i, i + LINES_IN_A_PIECE).join('')))
  return pieces
}
