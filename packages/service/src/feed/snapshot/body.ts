import { createHash } from 'node:crypto'
import {
  EPOCH_STATEMENTS_MAX,
  type EpochLine,
  formatTime,
  GENESIS_HASH,
  type LogHead,
  type PageLine,
  type PrivateKey,
  type SiteId,
  type SnapshotEnd,
  type SnapshotHead,
  signEpochStatement,
  signSnapshot,
  type toStateLines,
} from '@countersign/core'
import type { SitePageInfo } from '../../store/checkpoint.ts'
import type { Store } from '../../store/store.ts'
import { type DeflatedText, deflateText, inflateText } from './deflated-text.ts'
import type { GrowingParts } from './growing-parts.ts'
import type { TextPart } from './gzip.ts'
import type { PagedLog } from './paged-logs.ts'
import type { Tail } from './tail.ts'

/** Everything of a snapshot but its first and its last line. */
export interface SnapshotBody {
  readonly siteId: SiteId
  readonly head: LogHead
  readonly paged: PagedLog | undefined
  readonly state: StateLines
  readonly tail: Tail
}

/** The beginnings of epochs, the site and its issuers. */
export interface StateLines extends DeflatedText {
  readonly lines: number
}

export interface FeedSigner {
  readonly kid: string
  readonly key: PrivateKey
}

export async function deflateState(
  epochs: readonly EpochLine[],
  state: ReturnType<typeof toStateLines>,
): Promise<StateLines> {
  const lines = [...epochs, ...state]
  return { ...(await deflateText(toLines(lines))), lines: lines.length }
}

/** How this epoch of the log and the earlier ones began, signed by the current key. */
export async function loadEpochLines(
  store: Pick<Store, 'epochLinks'>,
  siteId: SiteId,
  { kid, key }: FeedSigner,
): Promise<readonly EpochLine[]> {
  const lines: EpochLine[] = []
  for (const { epoch, previous, atMs } of await store.epochLinks(siteId, EPOCH_STATEMENTS_MAX)) {
    const { seq, hash } = previous
    const fields = {
      site_id: siteId,
      epoch,
      previous: { epoch: previous.epoch, seq, hash },
      at: formatTime(atMs),
      kid,
    }
    lines.push({ type: 'epoch', ...(await signEpochStatement(fields, key)) })
  }
  return lines
}

/** The first line: `asOfMs` is a time before the store was asked for the entries of the head. */
export function createHead(
  { siteId, head, paged }: Pick<SnapshotBody, 'siteId' | 'head' | 'paged'>,
  terms: { readonly asOfMs: number; readonly ageSecondsMax: number },
): SnapshotHead {
  return {
    type: 'head',
    site_id: siteId,
    epoch: head.epoch,
    seq: head.seq,
    hash: head.hash,
    as_of: formatTime(terms.asOfMs),
    max_age_seconds: terms.ageSecondsMax,
    base: paged?.base ?? { seq: 0, hash: GENESIS_HASH },
  }
}

/** The last line. The lines of the pages are covered by the digests in their announcements. */
export async function signBody(
  { paged, state, tail }: SnapshotBody,
  head: SnapshotHead,
  { kid, key }: FeedSigner,
): Promise<SnapshotEnd> {
  const pages = paged?.pages ?? []
  const digest = createHash('sha256')
    .update(toLines([head]))
    .update(await inflateText(state))
  for (const page of pages) digest.update(announce(page))
  for (const part of tail.parts) digest.update(await inflateText(part))
  const lines = 1 + state.lines + pages.length + tail.lines
  return signSnapshot(head, { lines, sha256: digest.digest('hex') }, kid, key)
}

/** A snapshot of which some parts may still be in the making. */
export interface OpenSnapshot {
  readonly siteId: SiteId
  readonly head: SnapshotHead
  readonly state: Promise<StateLines>
  readonly paged: PagedLog | undefined
  readonly tail: Pick<GrowingParts, 'read'>
  readonly end: Promise<SnapshotEnd>
}

/** All parts of a snapshot, in order. */
export async function* snapshotParts(
  { siteId, head, state, paged, tail, end }: OpenSnapshot,
  loadPage: (siteId: SiteId, info: SitePageInfo) => Promise<DeflatedText>,
): AsyncGenerator<TextPart> {
  yield toLines([head])
  yield await state
  for (const info of paged?.pages ?? []) {
    yield announce(info)
    yield await loadPage(siteId, info)
  }
  yield* tail.read()
  yield toLines([await end])
}

/** The line before the lines of a page. */
function announce({ fromSeq, toSeq, lines, sha256 }: SitePageInfo): Buffer {
  const line: PageLine = { type: 'page', from_seq: fromSeq, to_seq: toSeq, lines, sha256 }
  return toLines([line])
}

function toLines(lines: readonly object[]): Buffer {
  return Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}
