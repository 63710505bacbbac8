import type { SiteId } from '@countersign/core'
import type { Checkpoint, CheckpointSite, SitePage, SitePageInfo } from '../checkpoint.ts'
import { digestPages } from '../checkpoint-digests.ts'
import { bytes, number, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { toChain } from '../page-chain.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import { insertRow, requireIntact, updateRow } from './shared/mac-rows.ts'
import { findPagesOfSites, storedPages } from './shared/site-pages.ts'

/** Undefined before the first checkpoint. Throws a `RowForged` for one with a wrong MAC. */
export const checkpoint = read(function* (): Transaction<Checkpoint | undefined> {
  const found = yield* findCheckpoint()
  return found && toCheckpoint(found)
})

function* findCheckpoint(): Transaction<Row | undefined> {
  const found = yield* row('SELECT * FROM checkpoint WHERE one = 1')
  return found && (yield* requireIntact('checkpoint', found))
}

/** The sites of the checkpoint, by id. */
export const checkpointSites = read(function* ({
  after,
  limit,
}: Page): Transaction<readonly CheckpointSite[]> {
  const found = yield* rows(
    'SELECT * FROM checkpoint_sites WHERE site_id > $1 ORDER BY site_id LIMIT $2',
    after ?? '',
    limit,
  )
  return found.map(toSite)
})

/** The pages of a site up to `seq` in order; empty if they do not reach from 1 to there. */
export const sitePages = read(function* (siteId: SiteId, seq: number): Transaction<readonly SitePageInfo[]> {
  return toChain(yield* storedPages(siteId, seq), seq)
})

/** The compressed text of a page; undefined when it has been replaced. */
export const sitePageBytes = read(function* (
  siteId: SiteId,
  { fromSeq, toSeq, sha256 }: SitePageInfo,
): Transaction<Uint8Array | undefined> {
  const found = yield* row(
    'SELECT deflated FROM log_pages WHERE site_id = $1 AND to_seq = $2 AND from_seq = $3 AND sha256 = $4',
    siteId,
    toSeq,
    fromSeq,
    sha256,
  )
  return found && bytes(found, 'deflated')
})

/**
 * Writes a page after the last one of the checkpoint. It has no effect until a checkpoint includes
 * it. False, and nothing is written, when the checkpoint is no longer `current`.
 */
export function* putSitePage(
  current: Checkpoint | undefined,
  siteId: SiteId,
  page: SitePage,
): Transaction<boolean> {
  yield* lock('checkpoint')
  if (!isSame(yield* checkpoint(), current)) return false
  const site = yield* row('SELECT seq FROM checkpoint_sites WHERE site_id = $1', siteId)
  if (site !== undefined && page.toSeq <= number(site, 'seq'))
    throw new TypeError(`page ${page.toSeq} of ${siteId} is part of the checkpoint`)
  yield* writePage(siteId, page)
  return true
}

/** What a new checkpoint changes. */
export interface CheckpointChange {
  /** The rows that are new or differ. */
  readonly sites: readonly CheckpointSite[]
  /** Pages to write in the same transaction, because they replace pages of the checkpoint. */
  readonly pages?: readonly { readonly siteId: SiteId; readonly page: SitePage }[]
}

/**
 * Replaces the checkpoint. False, and nothing is written, when it is no longer `current`, or when
 * the pages of a changed site are not those that its row states: another node was faster.
 */
export function* replaceCheckpoint(
  current: Checkpoint | undefined,
  next: Checkpoint,
  { sites, pages = [] }: CheckpointChange,
): Transaction<boolean> {
  yield* lock('checkpoint')
  const before = yield* findCheckpoint()
  if (!isSame(before && toCheckpoint(before), current)) return false
  const log = yield* row('SELECT epoch FROM log WHERE one = 1')
  if (log?.epoch !== next.epoch) return false
  const stored = yield* findPagesOfSites(sites)
  for (const { siteId, page } of pages) stored.get(siteId)?.push(page)
  for (const { siteId, seq, pages: count, pagesSha256 } of sites) {
    const used = toChain(stored.get(siteId) ?? [], seq)
    if (used.length !== count || digestPages(used) !== pagesSha256) return false
  }
  for (const { siteId, page } of pages) yield* writePage(siteId, page)
  yield* writeSites(sites)
  const changed = {
    epoch: next.epoch,
    position: next.position,
    digest: next.digest,
    base_position: next.basePosition,
    base_digest: next.baseDigest,
    sites: next.sites,
    sites_sha256: next.sitesSha256,
    at: next.atMs,
  }
  if (before === undefined) yield* insertRow('checkpoint', { one: 1, ...changed })
  else yield* updateRow('checkpoint', before, changed)
  return true
}

/**
 * Removes a checkpoint of an earlier epoch, so that a new one can begin. False, and nothing is
 * removed, when it is no longer `current`, is of the current epoch, or is needed because entries
 * have been removed.
 */
export function* discardCheckpoint(current: Checkpoint): Transaction<boolean> {
  yield* lock('checkpoint')
  if (!isSame(yield* checkpoint(), current) || current.basePosition > 0) return false
  const log = yield* row('SELECT epoch FROM log WHERE one = 1')
  if (log === undefined || log.epoch === current.epoch) return false
  for (const table of ['checkpoint', 'checkpoint_sites', 'log_pages']) yield* exec(`DELETE FROM ${table}`)
  return true
}

/**
 * Removes pages of the site that other pages of the checkpoint have replaced. Pages after the
 * checkpoint stay: another node may be about to include them.
 */
export function* removeReplacedPages(siteId: SiteId): Transaction<void> {
  yield* lock('checkpoint')
  const site = yield* row('SELECT * FROM checkpoint_sites WHERE site_id = $1', siteId)
  if (site === undefined) return
  const { seq, pages, pagesSha256 } = toSite(site)
  const stored = yield* storedPages(siteId, seq)
  const used = toChain(stored, seq)
  if (used.length !== pages || digestPages(used) !== pagesSha256) return
  const ends = new Set(used.map(({ toSeq }) => toSeq))
  for (const { toSeq } of stored)
    if (!ends.has(toSeq))
      yield* exec('DELETE FROM log_pages WHERE site_id = $1 AND to_seq = $2', siteId, toSeq)
}

function* writePage(siteId: SiteId, page: SitePage): Transaction<void> {
  const columns = ['from_seq', 'lines', 'revocations', 'bytes', 'crc32', 'sha256', 'newest_at', 'deflated']
  yield* exec(
    `INSERT INTO log_pages (site_id, to_seq, ${columns.join(', ')}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     ON CONFLICT (site_id, to_seq) DO UPDATE SET ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    siteId,
    page.toSeq,
    page.fromSeq,
    page.lines,
    page.revocations,
    page.bytes,
    page.crc32,
    page.sha256,
    page.newestAtMs,
    page.deflated,
  )
}

/** Rows of one statement. */
const SITES = 100

function* writeSites(sites: readonly CheckpointSite[]): Transaction<void> {
  const columns = ['seq', 'hash', 'base_seq', 'base_hash', 'state', 'pages', 'pages_sha256']
  const toRow = (_: unknown, at: number) =>
    `(${Array.from({ length: 8 }, (_, i) => `$${at * 8 + i + 1}`).join(', ')})`
  for (let at = 0; at < sites.length; at += SITES) {
    const some = sites.slice(at, at + SITES)
    yield* exec(
      `INSERT INTO checkpoint_sites (site_id, ${columns.join(', ')}) VALUES ${some.map(toRow).join(', ')}
       ON CONFLICT (site_id) DO UPDATE SET ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}`,
      ...some.flatMap((site) => [
        site.siteId,
        site.seq,
        site.hash,
        site.baseSeq,
        site.baseHash,
        site.state,
        site.pages,
        site.pagesSha256,
      ]),
    )
  }
}

function isSame(one: Checkpoint | undefined, other: Checkpoint | undefined): boolean {
  if (one === undefined || other === undefined) return one === other
  return (Object.keys(one) as (keyof Checkpoint)[]).every((name) => one[name] === other[name])
}

function toCheckpoint(found: Row): Checkpoint {
  return {
    epoch: text(found, 'epoch'),
    position: number(found, 'position'),
    digest: text(found, 'digest'),
    basePosition: number(found, 'base_position'),
    baseDigest: text(found, 'base_digest'),
    sites: number(found, 'sites'),
    sitesSha256: text(found, 'sites_sha256'),
    atMs: number(found, 'at'),
  }
}

function toSite(found: Row): CheckpointSite {
  return {
    siteId: toSiteId(found),
    seq: number(found, 'seq'),
    hash: text(found, 'hash'),
    baseSeq: number(found, 'base_seq'),
    baseHash: text(found, 'base_hash'),
    state: text(found, 'state'),
    pages: number(found, 'pages'),
    pagesSha256: text(found, 'pages_sha256'),
  }
}
