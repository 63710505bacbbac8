import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import {
  type EntryContent,
  GENESIS_HASH,
  type LogHead,
  PAGE_REVOCATIONS_MAX,
  type PackedPage,
  PagePacker,
  type SiteId,
  toRevocationLine,
} from '@countersign/core'
import type { Checkpoint, CheckpointSite, SitePageInfo } from '../checkpoint.ts'
import { digestPages, digestSite, digestSites } from '../checkpoint-digests.ts'
import { hashEntry } from '../entry-hash.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import { EMPTY_DIGEST } from '../log-digest.ts'
import type { Store } from '../store.ts'
import type { CapturedLog, CapturedSite } from './applied-log.ts'
import { findSitePages, type LoadedCheckpoint, loadCheckpoint } from './load-checkpoint.ts'
import { createSitePage, loadPageText, readPageInTurns } from './site-page.ts'

export type CheckpointWriterStore = Pick<
  Store,
  | 'epoch'
  | 'checkpoint'
  | 'checkpointSites'
  | 'sitePages'
  | 'sitePageBytes'
  | 'siteRecordsAfter'
  | 'putSitePage'
  | 'replaceCheckpoint'
  | 'removeReplacedPages'
  | 'discardCheckpoint'
>

export interface CheckpointOrder {
  readonly store: CheckpointWriterStore
  /**
   * The log as it is now, with the sites that are not at the seq in `known`; undefined if no
   * checkpoint can be made of it now.
   */
  readonly capture: (known: (siteId: SiteId) => number | undefined) => CapturedLog | undefined
  readonly atMs: number
  /** How many entries must have come since the last checkpoint. Default: one. */
  readonly entriesMin?: number
  /** The pause after each part of the work, so that requests are not delayed. Default: none. */
  readonly pauseMs?: number
}

/** Entries that are read and hashed without a pause. */
const RECORDS = 500

/**
 * Writes a checkpoint of the log: pages of all entries since the last one, then the checkpoint that
 * includes them. Undefined if none was needed, or another node was faster. Throws a `LogCorrupted`
 * when the stored entries are not those that were applied.
 */
export async function writeCheckpoint(order: CheckpointOrder): Promise<Checkpoint | undefined> {
  const { store, capture, entriesMin = 1 } = order
  const before = await loadOfThisEpoch(store)
  const log = capture((siteId) => before?.sites.get(siteId)?.seq)
  if (log === undefined || log.epoch !== store.epoch) return undefined
  if (log.position - (before?.checkpoint.position ?? 0) < entriesMin) return undefined
  const changed: CheckpointSite[] = []
  for (const site of log.sites) {
    const row = await writeSitePages(order, log.epoch, site, before)
    if (row === undefined) return undefined
    changed.push(row)
  }
  const next = toCheckpoint(log, before, changed, order.atMs)
  return (await store.replaceCheckpoint(before?.checkpoint, next, { sites: changed })) ? next : undefined
}

/** A checkpoint of an earlier epoch is removed: no hash in it is part of this epoch. */
async function loadOfThisEpoch(store: CheckpointWriterStore): Promise<LoadedCheckpoint | undefined> {
  const found = await loadCheckpoint(store)
  if (found === undefined || found.checkpoint.epoch === store.epoch) return found
  return (await store.discardCheckpoint(found.checkpoint)) ? undefined : loadCheckpoint(store)
}

function toCheckpoint(
  { epoch, position, digest }: CapturedLog,
  before: LoadedCheckpoint | undefined,
  changed: readonly CheckpointSite[],
  atMs: number,
): Checkpoint {
  const rows = new Map<SiteId, CheckpointSite>(before?.sites)
  for (const row of changed) rows.set(row.siteId, row)
  const digests = new Map([...rows.values()].map((row) => [row.siteId, digestSite(row)]))
  return {
    epoch,
    position,
    digest,
    basePosition: before?.checkpoint.basePosition ?? 0,
    baseDigest: before?.checkpoint.baseDigest ?? EMPTY_DIGEST,
    sites: rows.size,
    sitesSha256: digestSites(digests),
    atMs,
  }
}

/** A part of the log of a site. */
interface Chunk {
  readonly packed: PackedPage
  readonly fromSeq: number
  readonly toSeq: number
}

/** Undefined when the checkpoint has been replaced meanwhile. */
async function writeSitePages(
  order: CheckpointOrder,
  epoch: string,
  site: CapturedSite,
  before: LoadedCheckpoint | undefined,
): Promise<CheckpointSite | undefined> {
  const { store } = order
  const { siteId, seq, state } = site
  const known = before?.sites.get(siteId) ?? NEW_SITE
  const pages = known === NEW_SITE ? [] : await loadPages(store, known as CheckpointSite)
  let head: LogHead = { epoch, seq: known.seq, hash: known.hash }
  while (pages !== undefined && head.seq < seq) {
    const { packed, end } = await packEntries(order, site, head)
    const chunk = await mergeWithLast(store, siteId, pages, {
      packed,
      fromSeq: head.seq + 1,
      toSeq: end.seq,
    })
    if (chunk === undefined) return undefined
    const page = await createSitePage(chunk.packed, chunk.fromSeq, chunk.toSeq)
    if (!(await store.putSitePage(before?.checkpoint, siteId, page))) return undefined
    const { deflated: _, ...info } = page
    pages.push(info)
    head = end
  }
  if (pages === undefined) return undefined
  if (head.hash !== site.hash)
    throw new LogCorrupted('other_entries', `the log of ${siteId} does not lead to its head at ${seq}`)
  const { baseSeq, baseHash } = known
  const [count, pagesSha256] = [pages.length, digestPages(pages)]
  return { siteId, seq, hash: head.hash, baseSeq, baseHash, state, pages: count, pagesSha256 }
}

const NEW_SITE = { seq: 0, hash: GENESIS_HASH, baseSeq: 0, baseHash: GENESIS_HASH }

async function loadPages(
  store: CheckpointWriterStore,
  site: CheckpointSite,
): Promise<SitePageInfo[] | undefined> {
  await store.removeReplacedPages(site.siteId)
  const found = await findSitePages(store, site)
  return found && [...found]
}

/** Packs the entries after `head`, at most those of one page, and recomputes their hashes. */
async function packEntries(
  { store, pauseMs }: CheckpointOrder,
  { siteId, seq: seqMax, view }: CapturedSite,
  { epoch, seq: seqBefore, hash: hashBefore }: LogHead,
): Promise<{ readonly packed: PackedPage; readonly end: LogHead }> {
  const packer = new PagePacker()
  const to = Math.min(seqMax, seqBefore + PAGE_REVOCATIONS_MAX)
  let [seq, hash] = [seqBefore, hashBefore]
  while (seq < to) {
    const records = await store.siteRecordsAfter(siteId, seq, Math.min(RECORDS, to - seq))
    if (records.length === 0)
      throw new LogCorrupted('missing', `the log of ${siteId} ends at ${seq} and not at ${seqMax}`)
    for (const { kind, body, at } of records) {
      hash = hashEntry({ epoch, seq: ++seq, siteId, kind, bodyJson: body, at, prevHash: hash })
      const line = toRevocationLine({ kind, body: JSON.parse(body) } as EntryContent, view)
      if (line !== undefined) packer.add(line)
    }
    await (pauseMs === undefined ? nextTurn() : sleep(pauseMs))
  }
  return { packed: packer.finish(), end: { epoch, seq, hash } }
}

/**
 * Merges a chunk with the last pages while these are not larger, so that a site has few pages and
 * each revocation is written few times. Removes them from `pages`. Undefined when one of them has
 * been replaced.
 */
async function mergeWithLast(
  store: CheckpointWriterStore,
  siteId: SiteId,
  pages: SitePageInfo[],
  chunk: Chunk,
): Promise<Chunk | undefined> {
  const last = pages.at(-1)
  const { packed, toSeq } = chunk
  if (last === undefined || last.revocations > packed.revocations) return chunk
  if (last.revocations + packed.revocations > PAGE_REVOCATIONS_MAX) return chunk
  const text = await loadPageText(store, siteId, last)
  if (text === undefined) return undefined
  const packer = new PagePacker()
  for (const each of [text, packed.text]) await readPageInTurns(each, (line) => packer.add(line))
  pages.pop()
  return mergeWithLast(store, siteId, pages, { packed: packer.finish(), fromSeq: last.fromSeq, toSeq })
}
