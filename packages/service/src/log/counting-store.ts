import type { SiteId } from '@countersign/core'
import type { CheckpointSite, SitePage, SitePageInfo } from '../store/checkpoint.ts'
import type { OfflineStore } from '../store/checkpoints/checkpoint-at-end.ts'
import { loadCheckpoint } from '../store/checkpoints/load-checkpoint.ts'
import { toChain } from '../store/page-chain.ts'
import type { Store } from '../store/store.ts'
import type { CutStore } from './cut-log.ts'

/** Nothing in it can change a store. */
type CountedStore = Pick<
  Store,
  | 'epoch'
  | 'logPosition'
  | 'entriesAfter'
  | 'siteRecordsAfter'
  | 'checkpoint'
  | 'checkpointSites'
  | 'sitePages'
  | 'sitePageBytes'
  | 'credentialsBeyond'
  | 'countEntries'
  | 'countFormerEntries'
  | 'countOldRevocations'
>

/** A page of the store, or one with content that exists only here. */
type CountedPage = SitePageInfo & Partial<Pick<SitePage, 'deflated'>>

/**
 * A store that is changed in memory only, for a checkpoint and one cut. The cut runs as it does on
 * `store`, and each removal returns how many rows there are to remove. So what it returns is what
 * a cut of `store` would remove. Rejects a read when another node replaces pages meanwhile.
 */
export async function loadCountingStore(store: CountedStore): Promise<OfflineStore & CutStore> {
  const loaded = await loadCheckpoint(store)
  let current = loaded?.checkpoint
  let stored: ReadonlyMap<SiteId, CheckpointSite> = loaded?.sites ?? new Map()
  const sites = new Map(stored)
  /** Of sites that were read or changed. */
  const pages = new Map<SiteId, readonly CountedPage[]>()
  let countedPosition = 0
  const counted = new Set<string>()

  const loadPages = async (siteId: SiteId): Promise<readonly CountedPage[]> => {
    const found = pages.get(siteId) ?? (await store.sitePages(siteId, stored.get(siteId)?.seq ?? 0))
    pages.set(siteId, found)
    return found
  }
  const addPage = async (siteId: SiteId, page: SitePage) => {
    pages.set(siteId, [...(await loadPages(siteId)), page])
  }
  const setSites = async (changed: readonly CheckpointSite[]) => {
    for (const site of changed) {
      sites.set(site.siteId, site)
      // Without the pages that others have replaced.
      pages.set(site.siteId, toChain(await loadPages(site.siteId), site.seq))
    }
  }
  /** After the first removal, nothing is left. */
  const countOnce = async (name: string, count: () => Promise<number>): Promise<number> => {
    if (counted.has(name)) return 0
    counted.add(name)
    return count()
  }

  return {
    get epoch() {
      return store.epoch
    },
    logPosition: store.logPosition,
    entriesAfter: store.entriesAfter,
    siteRecordsAfter: store.siteRecordsAfter,
    credentialsBeyond: store.credentialsBeyond,
    async checkpoint() {
      return current
    },
    async checkpointSites({ after = '', limit }) {
      const ids = [...sites.keys()].filter((siteId) => siteId > after).sort()
      return ids.slice(0, limit).flatMap((siteId) => sites.get(siteId) ?? [])
    },
    async sitePages(siteId, seq) {
      return toChain(await loadPages(siteId), seq)
    },
    async sitePageBytes(siteId, info) {
      const own = (await loadPages(siteId)).find(
        ({ fromSeq, toSeq, sha256, deflated }) =>
          deflated !== undefined &&
          fromSeq === info.fromSeq &&
          toSeq === info.toSeq &&
          sha256 === info.sha256,
      )
      const found = own?.deflated ?? (await store.sitePageBytes(siteId, info))
      if (found === undefined && (await store.checkpoint())?.sitesSha256 !== loaded?.checkpoint.sitesSha256)
        throw new Error('another node has written a checkpoint meanwhile: try again')
      return found
    },
    async putSitePage(_current, siteId, page) {
      await addPage(siteId, page)
      return true
    },
    async replaceCheckpoint(_current, next, change) {
      for (const { siteId, page } of change.pages ?? []) await addPage(siteId, page)
      await setSites(change.sites)
      current = next
      return true
    },
    async moveBase(_current, next, changed) {
      await setSites(changed)
      current = next
      return true
    },
    async discardCheckpoint() {
      current = undefined
      stored = new Map()
      sites.clear()
      pages.clear()
      return true
    },
    async removeReplacedPages() {},
    async removeCutEntries() {
      if (current === undefined) return 0
      const after = countedPosition
      countedPosition = current.basePosition
      return store.countEntries(current.epoch, after, countedPosition)
    },
    removeFormerEntries: (nowMs) => countOnce('former entries', () => store.countFormerEntries(nowMs)),
    removeOldRevocations: (beforeMs) =>
      countOnce('rows', () => store.countOldRevocations(beforeMs, current?.basePosition ?? 0)),
    // Entries in the histories of users repeat entries that are counted.
    removeOldUserEntries: async () => 0,
  }
}
