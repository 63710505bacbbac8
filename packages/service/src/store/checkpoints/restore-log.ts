import { beginRestore, formatTime, type SiteView } from '@countersign/core'
import type { Checkpoint, CheckpointSite } from '../checkpoint.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import type { Store } from '../store.ts'
import { AppliedLog } from './applied-log.ts'
import { type CheckpointState, parseCheckpointState } from './checkpoint-state.ts'
import { findSitePages, type LoadedCheckpoint, loadCheckpoint } from './load-checkpoint.ts'
import { loadPageText, readPageInTurns } from './site-page.ts'

export type CheckpointStore = Pick<
  Store,
  'epoch' | 'checkpoint' | 'checkpointSites' | 'sitePages' | 'sitePageBytes' | 'logPosition'
>

const SITES_AT_ONCE = 4

/** The log at a checkpoint, or before its first entry. */
export interface RestoredLog {
  readonly log: AppliedLog
  readonly from: LoadedCheckpoint | undefined
}

/**
 * The log as the checkpoint has it. Without a checkpoint of this epoch it is empty, and every entry
 * has to be read. Throws a `LogCorrupted` when the checkpoint is not what this service wrote, and
 * when there is none of this epoch although entries have been removed.
 */
export async function restoreLog(store: CheckpointStore): Promise<RestoredLog> {
  const { epoch } = store
  for (;;) {
    const from = await loadCheckpoint(store)
    if (from === undefined) return { log: new AppliedLog(epoch), from }
    if (from.checkpoint.epoch !== epoch) {
      await requireWholeLog(store, from.checkpoint)
      return { log: new AppliedLog(epoch), from: undefined }
    }
    const log = await restoreSites(store, from)
    if (log !== undefined) return { log, from }
  }
}

async function requireWholeLog(store: CheckpointStore, { basePosition, epoch }: Checkpoint): Promise<void> {
  // Rejects when the log has begun a new epoch since: then the checkpoint may be of that epoch.
  await store.logPosition()
  if (basePosition > 0)
    throw new LogCorrupted(
      'other_epoch',
      `entries up to ${basePosition} were removed, and the checkpoint that replaces them is of the epoch ${epoch}`,
    )
}

/** Undefined when the checkpoint has been replaced meanwhile. */
async function restoreSites(store: CheckpointStore, from: LoadedCheckpoint): Promise<AppliedLog | undefined> {
  const { checkpoint, sites } = from
  const log = new AppliedLog(checkpoint.epoch, checkpoint)
  const rest = sites.values()
  let isReplaced = false
  const restoreSome = async () => {
    for (const site of rest) {
      if (isReplaced) return
      const state = parseCheckpointState(site.siteId, site.state)
      const view = await restoreView(store, checkpoint, site, state)
      if (view === undefined) {
        isReplaced = true
        await requireReplaced(store, checkpoint, site)
      } else log.addSite(view, state.lastSeqs)
    }
  }
  // Several sites at the same time: most have one small page, and each read of a database waits.
  await Promise.all(Array.from({ length: SITES_AT_ONCE }, restoreSome))
  return isReplaced ? undefined : log
}

/** Throws a `LogCorrupted` when the checkpoint is the same as before: then its pages are wrong. */
async function requireReplaced(
  store: CheckpointStore,
  { sitesSha256 }: Checkpoint,
  { siteId }: CheckpointSite,
): Promise<void> {
  if ((await store.checkpoint())?.sitesSha256 !== sitesSha256) return
  throw new LogCorrupted(
    'forged',
    `the pages of ${siteId} are not those that the checkpoint of this service names`,
  )
}

/** Undefined when the pages are not those of the site. */
async function restoreView(
  store: CheckpointStore,
  { epoch, atMs }: Checkpoint,
  site: CheckpointSite,
  { lines }: CheckpointState,
): Promise<SiteView | undefined> {
  const { siteId, seq, hash } = site
  const restore = beginRestore({ siteId, head: { epoch, seq, hash }, at: formatTime(atMs) })
  for (const line of lines) restore.add(line)
  const pages = await findSitePages(store, site)
  if (pages === undefined) return undefined
  // The next page is read and decompressed while this one is parsed.
  let next = pages[0] && loadPageText(store, siteId, pages[0])
  for (let at = 0; next !== undefined; ) {
    const text = await next
    if (text === undefined) return undefined
    const info = pages[++at]
    next = info && loadPageText(store, siteId, info)
    next?.catch(() => undefined) // Awaited in the next round.
    await readPageInTurns(text, restore.add)
  }
  return restore.finish()
}
