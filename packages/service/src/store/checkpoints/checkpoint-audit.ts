import { type SiteId, toRevocationLine } from '@countersign/core'
import type { FailedAudit } from '../log-corrupted.ts'
import { LogCorrupted } from '../log-corrupted.ts'
import { type LogWalk, walkFromBase } from '../log-walk.ts'
import type { LoggedEntry } from '../operations/log.ts'
import type { Store } from '../store.ts'
import { findSitePages, type LoadedCheckpoint, loadCheckpoint } from './load-checkpoint.ts'
import { PageAudit } from './page-audit.ts'
import { loadPageText, readPageInTurns } from './site-page.ts'

type CheckpointStore = Pick<Store, 'epoch' | 'checkpoint' | 'checkpointSites' | 'sitePages' | 'sitePageBytes'>

/** The first revocation of a user is not compared. */
const NO_VIEW = { userRevocation: () => undefined }

/** Compares a checkpoint with the entries from its base on. */
export class CheckpointAudit {
  readonly #store: CheckpointStore
  readonly #loaded: LoadedCheckpoint
  readonly #pages = new Map<SiteId, PageAudit>()
  /** Where the entries begin. */
  readonly base: LogWalk
  readonly pages: number

  /**
   * Checks that every page is the one that the service wrote. Undefined when there is no checkpoint
   * of this epoch. Throws a `LogCorrupted` with a failed audit.
   */
  static async open(store: CheckpointStore): Promise<CheckpointAudit | undefined> {
    const loaded = await loadCheckpoint(store).catch((fault: unknown) => {
      throw fault instanceof LogCorrupted ? failed('checkpoint', '1', fault) : fault
    })
    if (loaded === undefined) return undefined
    if (loaded.checkpoint.epoch !== store.epoch) {
      if (loaded.checkpoint.basePosition === 0) return undefined
      throw failed('checkpoint', '1', new LogCorrupted('other_epoch', 'the checkpoint is of another epoch'))
    }
    let pages = 0
    for (const site of loaded.sites.values()) {
      const infos = await findSitePages(store, site)
      if (infos === undefined)
        throw failed(
          'log_pages',
          site.siteId,
          new LogCorrupted('forged', `${site.siteId} has other pages than the service wrote`),
        )
      for (const info of infos) await readPage(store, site.siteId, info)
      pages += infos.length
    }
    return new CheckpointAudit(store, loaded, pages)
  }

  constructor(store: CheckpointStore, loaded: LoadedCheckpoint, pages: number) {
    this.#store = store
    this.#loaded = loaded
    this.base = walkFromBase(loaded)
    this.pages = pages
  }

  /** How many entries there are before the checkpoint ends; undefined after it. */
  entriesLeft(position: number): number | undefined {
    const left = this.#loaded.checkpoint.position - position
    return left > 0 ? left : undefined
  }

  /** The first difference between the checkpoint and a page of entries that leads to `walk`. */
  async compare(page: readonly LoggedEntry[], walk: LogWalk): Promise<FailedAudit | undefined> {
    const { checkpoint, sites } = this.#loaded
    if (walk.position > checkpoint.position) return undefined
    for (const { entry, position } of page) {
      const { site_id: siteId, seq } = entry
      const site = sites.get(siteId)
      if (site === undefined || seq > site.seq)
        return { ok: false, fault: 'other_entries', position, siteId, seq }
      const pages = this.#pages.get(siteId) ?? (await PageAudit.open(this.#store, site, seq))
      this.#pages.set(siteId, pages)
      try {
        await pages.compare(seq, toRevocationLine(entry, NO_VIEW))
      } catch (fault) {
        if (!(fault instanceof LogCorrupted)) throw fault
        return {
          ok: false,
          fault: 'row_differs',
          position,
          row: { table: 'log_pages', key: `${siteId} ${seq}` },
        }
      }
    }
    if (walk.position < checkpoint.position) return undefined
    if (walk.digest !== checkpoint.digest)
      return { ok: false, fault: 'other_entries', position: walk.position }
    for (const { siteId, seq, hash } of sites.values()) {
      const head = walk.heads.get(siteId)
      if (head?.seq !== seq || head.hash !== hash)
        return { ok: false, fault: 'other_head', position: walk.position, siteId, seq }
    }
    return undefined
  }
}

async function readPage(
  store: CheckpointStore,
  siteId: SiteId,
  info: Parameters<typeof loadPageText>[2],
): Promise<void> {
  try {
    // A page that was replaced meanwhile is one that the service wrote.
    const text = (await loadPageText(store, siteId, info)) ?? ''
    await readPageInTurns(text, () => {})
  } catch (fault) {
    throw fault instanceof LogCorrupted || fault instanceof SyntaxError
      ? failed('log_pages', `${siteId} ${info.toSeq}`, fault)
      : fault
  }
}

function failed(table: string, key: string, cause: Error): LogCorrupted {
  return new LogCorrupted('forged', cause.message, {
    cause,
    audit: { ok: false, fault: 'forged', position: 0, row: { table, key } },
  })
}
