import type { LogBase, SiteId } from '@countersign/core'
import type { LiveViews } from '../../log/live-views.ts'
import type { Checkpoint, CheckpointSite, SitePageInfo } from '../../store/checkpoint.ts'
import { findSitePages, loadCheckpoint } from '../../store/checkpoints/load-checkpoint.ts'
import { RowForged } from '../../store/errors.ts'
import { LogCorrupted } from '../../store/log-corrupted.ts'
import type { Store } from '../../store/store.ts'

/** The log of a site up to `seq` as pages. The entries after `seq` continue it. */
export interface PagedLog {
  readonly epoch: string
  readonly seq: number
  readonly hash: string
  readonly base: LogBase
  readonly pages: readonly SitePageInfo[]
}

export interface PagedLogsParts {
  readonly store: Pick<Store, 'epoch' | 'checkpoint' | 'checkpointSites' | 'sitePages'>
  readonly views: Pick<LiveViews, 'waitFor'>
  /** Called when a row of the checkpoint is not as the service wrote it. */
  readonly onForged?: (table: string) => void
}

/** The row of a site without its state, which may be long. */
type SiteRow = Omit<CheckpointSite, 'state'>

/** A checkpoint whose rows have been compared with its MAC. */
interface Checked {
  readonly checkpoint: Checkpoint
  readonly sites: ReadonlyMap<SiteId, SiteRow>
  readonly logs: Map<SiteId, Promise<PagedLog | undefined>>
}

/** How long a checkpoint is used before the store is asked whether there is another one. */
const REUSED_MS = 1000
/** How often a read begins again when another node writes a checkpoint at the same time. */
const TRIES_MAX = 5

/** The pages of all sites, as the last checkpoint states them. */
export class PagedLogs {
  readonly #parts: PagedLogsParts
  readonly #reusedMs: number
  #checked: Promise<Checked | undefined> | undefined
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: PagedLogsParts, reusedMs = REUSED_MS) {
    this.#parts = parts
    this.#reusedMs = reusedMs
  }

  /**
   * The pages of a site, after this node has applied the log as far as they go. The same object as
   * before while the pages are the same. Undefined when the checkpoint does not have the site.
   * Rejects with `RowForged` when the rows are not those that the service wrote.
   */
  async load(siteId: SiteId): Promise<PagedLog | undefined> {
    for (let tries = 1; ; tries++) {
      const checked = await this.#current()
      if (checked === undefined || checked.checkpoint.epoch !== this.#parts.store.epoch) return undefined
      await this.#parts.views.waitFor(checked.checkpoint.position)
      const known = checked.logs.get(siteId)
      const loading = known ?? this.#loadSite(checked, siteId)
      checked.logs.set(siteId, loading)
      try {
        return await loading
      } catch (fault) {
        checked.logs.delete(siteId)
        this.forget()
        if (!(fault instanceof RowForged) || tries >= TRIES_MAX) throw this.#reported(fault)
      }
    }
  }

  /** Asks the store for its checkpoint at the next call. */
  forget(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY
  }

  #current(): Promise<Checked | undefined> {
    const nowMs = performance.now()
    if (this.#checked !== undefined && nowMs - this.#readAtMs < this.#reusedMs) return this.#checked
    this.#readAtMs = nowMs
    const before = this.#checked
    const reading = this.#read(before)
    this.#checked = reading
    reading.catch(() => {
      if (this.#checked === reading) this.#checked = before
      this.forget()
    })
    return reading
  }

  async #read(reading: Promise<Checked | undefined> | undefined): Promise<Checked | undefined> {
    const { store } = this.#parts
    const before = await reading?.catch(() => undefined)
    if (before !== undefined && isSame(before.checkpoint, await store.checkpoint())) return before
    const found = await loadCheckpoint(store).catch((fault: unknown) => {
      if (!(fault instanceof LogCorrupted)) throw fault
      throw this.#reported(new RowForged('checkpoint', 'with its sites'))
    })
    if (found === undefined) return undefined
    const { checkpoint } = found
    const sites = new Map<SiteId, SiteRow>()
    for (const { state: _, ...row } of found.sites.values()) sites.set(row.siteId, row)
    return { checkpoint, sites, logs: keptLogs(before, checkpoint, sites) }
  }

  async #loadSite({ checkpoint, sites }: Checked, siteId: SiteId): Promise<PagedLog | undefined> {
    const site = sites.get(siteId)
    if (site === undefined) return undefined
    const { seq, hash, baseSeq, baseHash } = site
    const pages = await findSitePages(this.#parts.store, site)
    if (pages === undefined) throw new RowForged('log_pages', siteId)
    return { epoch: checkpoint.epoch, seq, hash, base: { seq: baseSeq, hash: baseHash }, pages }
  }

  #reported(fault: unknown): unknown {
    if (fault instanceof RowForged) this.#parts.onForged?.(fault.table)
    return fault
  }
}

/** The logs of the sites whose rows have not changed. */
function keptLogs(
  before: Checked | undefined,
  { epoch }: Checkpoint,
  sites: Checked['sites'],
): Checked['logs'] {
  const kept: Checked['logs'] = new Map()
  if (before?.checkpoint.epoch !== epoch) return kept
  for (const [siteId, log] of before.logs)
    if (isSame(before.sites.get(siteId), sites.get(siteId))) kept.set(siteId, log)
  return kept
}

function isSame(one: object | undefined, other: object | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
