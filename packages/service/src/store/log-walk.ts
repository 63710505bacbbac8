import { auditChain, GENESIS_HASH, type LogHead, type SiteId } from '@countersign/core'
import type { Checkpoint, CheckpointSite } from './checkpoint.ts'
import type { FailedAudit } from './log-corrupted.ts'
import { EMPTY_DIGEST, nextDigest } from './log-digest.ts'
import type { LoggedEntry } from './operations/log.ts'

/** The log as far as it was checked: the head of each site there, and the digest. */
export interface LogWalk {
  readonly epoch: string
  readonly position: number
  readonly digest: string
  /** Sites without entries are missing. */
  readonly heads: Map<SiteId, LogHead>
}

interface CheckpointWithSites {
  readonly checkpoint: Checkpoint
  readonly sites: ReadonlyMap<SiteId, CheckpointSite>
}

/** Before the first entry of a log. */
export function walkFromStart(epoch: string): LogWalk {
  return { epoch, position: 0, digest: EMPTY_DIGEST, heads: new Map() }
}

/** At the base of a log: entries up to there may have been removed. */
export function walkFromBase({ checkpoint, sites }: CheckpointWithSites): LogWalk {
  const { epoch, basePosition, baseDigest } = checkpoint
  const heads = new Map<SiteId, LogHead>()
  for (const { siteId, baseSeq, baseHash } of sites.values())
    if (baseSeq > 0) heads.set(siteId, { epoch, seq: baseSeq, hash: baseHash })
  return { epoch, position: basePosition, digest: baseDigest, heads }
}

/**
 * Checks that these entries continue the log, and recomputes their hashes. `walk.heads` is changed
 * in place, also by a page that fails.
 */
export async function walkPage(walk: LogWalk, page: readonly LoggedEntry[]): Promise<LogWalk | FailedAudit> {
  const { epoch, position, heads } = walk
  const gap = page.findIndex((placed, i) => placed.position !== position + 1 + i)
  if (gap !== -1) return { ok: false, fault: 'missing', position: position + 1 + gap }
  // The entries of each site are a chain of their own.
  const sites = Map.groupBy(
    page.map(({ entry }) => entry),
    (entry) => entry.site_id,
  )
  for (const [siteId, entries] of sites) {
    const head = heads.get(siteId) ?? { epoch, seq: 0, hash: GENESIS_HASH }
    const audit = await auditChain(entries, { siteId, head })
    if (!audit.ok) {
      const broken = page.find(({ entry }) => entry.site_id === siteId && entry.seq === audit.found)
      return { ok: false, fault: audit.fault, position: broken?.position ?? 0, siteId, seq: audit.seq }
    }
    heads.set(siteId, audit.head)
  }
  let { digest } = walk
  for (const { entry } of page) digest = nextDigest(digest, entry.hash)
  return { epoch, position: position + page.length, digest, heads }
}
