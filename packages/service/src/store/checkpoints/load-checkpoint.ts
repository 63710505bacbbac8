import type { SiteId } from '@countersign/core'
import { allRows } from '../../all-rows.ts'
import type { Checkpoint, CheckpointSite, SitePageInfo } from '../checkpoint.ts'
import { digestPages, digestSite, digestSites } from '../checkpoint-digests.ts'
import { RowForged } from '../errors.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import type { Store } from '../store.ts'

/** A checkpoint whose rows are those that this service wrote. */
export interface LoadedCheckpoint {
  readonly checkpoint: Checkpoint
  readonly sites: ReadonlyMap<SiteId, CheckpointSite>
}

/**
 * The checkpoint and its sites; undefined before the first checkpoint. The MAC of the checkpoint
 * covers all of them. Throws a `LogCorrupted` when a row was added, changed, removed or put back.
 */
export async function loadCheckpoint(
  store: Pick<Store, 'checkpoint' | 'checkpointSites'>,
): Promise<LoadedCheckpoint | undefined> {
  for (let checkpoint = await readCheckpoint(store); ; ) {
    if (checkpoint === undefined) return undefined
    const sites = new Map<SiteId, CheckpointSite>()
    const digests = new Map<string, string>()
    for await (const site of allRows((last: CheckpointSite | undefined, limit) =>
      store.checkpointSites({ after: last?.siteId, limit }),
    )) {
      sites.set(site.siteId, site)
      digests.set(site.siteId, digestSite(site))
    }
    if (sites.size === checkpoint.sites && digestSites(digests) === checkpoint.sitesSha256)
      return { checkpoint, sites }
    // Another node may have replaced the checkpoint while its sites were read.
    const again = await readCheckpoint(store)
    if (again?.sitesSha256 === checkpoint.sitesSha256)
      throw new LogCorrupted('forged', 'the sites of the checkpoint are not those that this service wrote')
    checkpoint = again
  }
}

async function readCheckpoint(store: Pick<Store, 'checkpoint'>): Promise<Checkpoint | undefined> {
  try {
    return await store.checkpoint()
  } catch (fault) {
    if (fault instanceof RowForged) throw new LogCorrupted('forged', fault.message, { cause: fault })
    throw fault
  }
}

/**
 * The pages of a site of a checkpoint, in order. Undefined when they are not those that the site
 * states: they were damaged, or the checkpoint has been replaced.
 */
export async function findSitePages(
  store: Pick<Store, 'sitePages'>,
  { siteId, seq, pages, pagesSha256 }: Omit<CheckpointSite, 'state'>,
): Promise<readonly SitePageInfo[] | undefined> {
  const found = await store.sitePages(siteId, seq)
  return found.length === pages && digestPages(found) === pagesSha256 ? found : undefined
}
