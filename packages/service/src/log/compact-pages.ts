import {
  type CredentialId,
  compactLine,
  PAGE_REVOCATIONS_MAX,
  PagePacker,
  parseTime,
  type SiteId,
} from '@countersign/core'
import type { CheckpointSite, SitePage, SitePageInfo } from '../store/checkpoint.ts'
import { digestPages, digestSite, digestSites } from '../store/checkpoint-digests.ts'
import { findSitePages, type LoadedCheckpoint, loadCheckpoint } from '../store/checkpoints/load-checkpoint.ts'
import { createSitePage, loadPageText, readPageInTurns } from '../store/checkpoints/site-page.ts'
import type { Store } from '../store/store.ts'

export interface CompactOrder {
  readonly store: Pick<
    Store,
    | 'epoch'
    | 'checkpoint'
    | 'checkpointSites'
    | 'replaceCheckpoint'
    | 'sitePages'
    | 'sitePageBytes'
    | 'removeReplacedPages'
    | 'credentialsBeyond'
  >
  /** Revocations before this time can no longer matter, except the permanent ones. */
  readonly beforeMs: number
  readonly signal?: AbortSignal
}

/**
 * A site is compacted when its new old pages have at least this share of the revocations in the
 * pages that were compacted before. So each revocation is rewritten a few times and not every day.
 */
const NEW_SHARE_MIN = 0.25

/**
 * Rewrites the pages before the base without revocations that can no longer matter: those of
 * credentials, tokens and sign-outs before `beforeMs`, and users who were reinstated before then.
 * Users who are revoked now and stolen holder keys stay, and known credentials that were signed by
 * a clock that was ahead, until they have expired. Returns how many revocations are gone.
 */
export async function compactPages(order: CompactOrder): Promise<number> {
  const { store, signal } = order
  const loaded = await loadCheckpoint(store)
  let removed = 0
  for (const siteId of loaded?.sites.keys() ?? []) {
    if (signal?.aborted === true) break
    removed += await compactSite(order, siteId)
  }
  return removed
}

async function compactSite(order: CompactOrder, siteId: SiteId): Promise<number> {
  const { store } = order
  const pages = await findOldPages(order, siteId, await loadCheckpoint(store))
  if (pages === undefined) return 0
  const reinstated = await findReinstated(order, siteId, pages)
  const horizon = { sinceMs: order.beforeMs, tokensSinceMs: order.beforeMs }
  let removed = 0
  for (const group of groupPages(pages)) {
    const packer = new PagePacker()
    for (const info of group) {
      const text = await loadPageText(store, siteId, info)
      if (text === undefined) return removed
      const beyond = await findBeyond(order, siteId, text)
      await readPageInTurns(text, (line) => {
        const kept = compactLine(
          line,
          horizon,
          (ppid) => !reinstated.has(ppid),
          (id) => beyond.has(id),
        )
        if (kept !== undefined) packer.add(kept)
      })
    }
    const [first, last] = [group[0], group.at(-1)]
    if (first === undefined || last === undefined) return removed
    // A page without anything that ends has no time of its own. That marks it as compacted.
    const page = await createSitePage({ ...packer.finish(), newestMs: 0 }, first.fromSeq, last.toSeq)
    if (!(await replaceGroup(order, siteId, group, page))) return removed
    removed += group.reduce((sum, { revocations }) => sum + revocations, 0) - page.revocations
  }
  return removed
}

/** The pages at the front that end before the base, if compacting them is worth it. */
async function findOldPages(
  { store, beforeMs }: CompactOrder,
  siteId: SiteId,
  loaded: LoadedCheckpoint | undefined,
): Promise<readonly SitePageInfo[] | undefined> {
  const site = loaded?.sites.get(siteId)
  if (site === undefined || site.baseSeq === 0 || loaded?.checkpoint.epoch !== store.epoch) return undefined
  const all = (await findSitePages(store, site)) ?? []
  const isOld = ({ toSeq, newestAtMs }: SitePageInfo) => toSeq <= site.baseSeq && newestAtMs < beforeMs
  const end = all.findIndex((page) => !isOld(page))
  const pages = end === -1 ? all : all.slice(0, end)
  let [fresh, compacted] = [0, 0]
  for (const { newestAtMs, revocations } of pages)
    if (newestAtMs > 0) fresh += revocations
    else compacted += revocations
  return fresh > 0 && fresh >= NEW_SHARE_MIN * compacted ? pages : undefined
}

/** Users who are not revoked at the end of these pages, and when the last cut-off of each was. */
async function findReinstated(
  { store, beforeMs }: CompactOrder,
  siteId: SiteId,
  pages: readonly SitePageInfo[],
): Promise<ReadonlySet<string>> {
  /** The cut-off; infinite while the user is revoked. */
  const users = new Map<string, number>()
  const revoke = (ppid: string) => {
    if (users.has(ppid)) users.set(ppid, Infinity)
  }
  for (const info of pages) {
    const text = (await loadPageText(store, siteId, info)) ?? ''
    await readPageInTurns(text, (line) => {
      if (line.type === 'users') for (const ppid of line.ids) revoke(ppid)
      if (line.type !== 'user') return
      if (line.reinstated_at === undefined) revoke(line.ppid)
      else users.set(line.ppid, line.revoked_again_at === undefined ? toMs(line.reinstated_at) : Infinity)
    })
  }
  return new Set([...users].flatMap(([ppid, cutoffMs]) => (cutoffMs < beforeMs ? [ppid] : [])))
}

/** The credentials of a page that may be valid after their revocation would be removed. */
async function findBeyond(
  { store, beforeMs }: CompactOrder,
  siteId: SiteId,
  text: string,
): Promise<ReadonlySet<CredentialId>> {
  const named: CredentialId[] = []
  await readPageInTurns(text, (line) => {
    if (line.type === 'credential') named.push(line.credential_id)
    if (line.type === 'credentials') for (const id of line.ids) named.push(id)
  })
  const beyond = new Set<CredentialId>()
  for (let from = 0; from < named.length; from += ASKED_IDS) {
    const ids = named.slice(from, from + ASKED_IDS)
    for (const id of await store.credentialsBeyond(siteId, ids, beforeMs)) beyond.add(id)
  }
  return beyond
}

/** Credentials that one statement asks for. */
const ASKED_IDS = 256

/** Neighbours become one page, if it is not too large. */
function groupPages(pages: readonly SitePageInfo[]): readonly (readonly SitePageInfo[])[] {
  const groups: SitePageInfo[][] = []
  let revocations = 0
  for (const page of pages) {
    const last = groups.at(-1)
    revocations += page.revocations
    if (last !== undefined && revocations <= PAGE_REVOCATIONS_MAX) last.push(page)
    else {
      groups.push([page])
      revocations = page.revocations
    }
  }
  return groups
}

/** False when the checkpoint has other pages now: another node was faster. */
async function replaceGroup(
  { store }: CompactOrder,
  siteId: SiteId,
  group: readonly SitePageInfo[],
  page: SitePage,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries++) {
    const loaded = await loadCheckpoint(store)
    const site = loaded?.sites.get(siteId)
    const pages = site && (await findSitePages(store, site))
    if (loaded === undefined || site === undefined || pages === undefined) return false
    const at = pages.findIndex(({ fromSeq }) => fromSeq === page.fromSeq)
    const isSame = group.every(
      ({ sha256, toSeq }, i) => pages[at + i]?.sha256 === sha256 && pages[at + i]?.toSeq === toSeq,
    )
    if (at === -1 || !isSame || loaded.checkpoint.epoch !== store.epoch) return false
    const { deflated: _, ...info } = page
    const next = pages.toSpliced(at, group.length, info)
    const changed: CheckpointSite = { ...site, pages: next.length, pagesSha256: digestPages(next) }
    const digests = new Map(
      [...loaded.sites].map(([id, each]) => [id as string, digestSite(id === siteId ? changed : each)]),
    )
    const checkpoint = { ...loaded.checkpoint, sitesSha256: digestSites(digests) }
    if (
      await store.replaceCheckpoint(loaded.checkpoint, checkpoint, {
        sites: [changed],
        pages: [{ siteId, page }],
      })
    ) {
      await store.removeReplacedPages(siteId)
      return true
    }
  }
  return false
}

/** The running service may replace the checkpoint at the same time. */
const TRIES = 3

function toMs(time: string): number {
  return parseTime(time) ?? Infinity
}
