import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseTime, type SiteId } from '@countersign/core'
import type { CheckpointSite } from '../store/checkpoint.ts'
import { digestSite, digestSites } from '../store/checkpoint-digests.ts'
import { loadCheckpoint } from '../store/checkpoints/load-checkpoint.ts'
import { failedAudit } from '../store/log-corrupted.ts'
import { type LogWalk, walkFromBase, walkPage } from '../store/log-walk.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { LoggedEntry } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'
import { compactPages } from './compact-pages.ts'

export interface CutOrder {
  readonly store: CutStore
  /** Entries and revocations before this time are removed, if they can no longer matter. */
  readonly beforeMs: number
  readonly context: AuditContext
  /** Ends the work early. The next run goes on where this one ended. */
  readonly signal?: AbortSignal
  /** For tests. */
  readonly stepEntriesMax?: number
  readonly batchRows?: number
}

export type CutStore = Pick<
  Store,
  | 'epoch'
  | 'entriesAfter'
  | 'checkpoint'
  | 'checkpointSites'
  | 'replaceCheckpoint'
  | 'sitePages'
  | 'sitePageBytes'
  | 'removeReplacedPages'
  | 'credentialsBeyond'
  | 'moveBase'
  | 'removeCutEntries'
  | 'removeFormerEntries'
  | 'removeOldRevocations'
  | 'removeOldUserEntries'
>

/** What a cut has removed. */
export interface CutResult {
  /** The base of the log after the cut. */
  readonly basePosition: number
  /** Entries before the base, and entries of former epochs. */
  readonly entries: number
  readonly formerEntries: number
  /** Revocations that are no longer in the pages of the checkpoint. */
  readonly revocations: number
  /** Rows of revoked credentials and reinstated users. */
  readonly rows: number
}

/** How far the base moves in one transaction. */
const STEP_ENTRIES_MAX = 50_000
/** Rows that one transaction removes. */
const BATCH_ROWS = 2000
const TRIES = 3
/** Entries that are read and hashed before other requests get their turn. */
const PAGE = 200

/**
 * Cuts the log at its front: moves the base over entries before `beforeMs`, after their hashes were
 * checked, and removes what is no longer needed. Each transaction is small, and after each of them
 * the store is complete: a run that ends early is continued by the next one. The base never moves
 * beyond the checkpoint, and the last entry always stays. Throws a `LogCorrupted` when an entry is
 * not the one that the service wrote.
 */
export async function cutLog(order: CutOrder): Promise<CutResult> {
  const { store, beforeMs, batchRows = BATCH_ROWS, context } = order
  const removeCut = () => removeAll(order, () => store.removeCutEntries(batchRows), batchRows)
  // What an earlier run has left.
  let entries = await removeCut()
  // The running service may replace the checkpoint at the same time: then the step is repeated.
  for (let tries = 0; tries < TRIES && !isStopped(order); ) {
    const moved = await moveOneStep(order)
    if (moved === 'done') break
    tries = moved === 'moved' ? 0 : tries + 1
    entries += await removeCut()
  }
  const formerEntries = await removeAll(
    order,
    () => store.removeFormerEntries(context.atMs, batchRows),
    batchRows,
  )
  const revocations = await compactPages(order)
  const rows = await removeAll(order, () => store.removeOldRevocations(beforeMs, batchRows), 1)
  await removeAll(order, () => store.removeOldUserEntries(beforeMs, batchRows), batchRows)
  const basePosition = (await store.checkpoint())?.basePosition ?? 0
  return { basePosition, entries, formerEntries, revocations, rows }
}

function isStopped({ signal }: CutOrder): boolean {
  return signal?.aborted === true
}

/** Runs batches until one removes less than `full` rows. */
async function removeAll(order: CutOrder, remove: () => Promise<number>, full: number): Promise<number> {
  let removed = 0
  while (!isStopped(order)) {
    const count = await remove()
    removed += count
    if (count < full) break
    await nextTurn()
  }
  return removed
}

/**
 * `done`: the base is where it should be. `taken`: the checkpoint was replaced meanwhile, or
 * another cut has moved the base.
 */
async function moveOneStep(order: CutOrder): Promise<'moved' | 'done' | 'taken'> {
  const { store, context, stepEntriesMax = STEP_ENTRIES_MAX } = order
  const whole = await loadCheckpoint(store)
  if (whole === undefined || whole.checkpoint.epoch !== store.epoch) return 'done'
  const { checkpoint, sites } = whole
  const until = Math.min(checkpoint.position, checkpoint.basePosition + stepEntriesMax)
  const walk = await walkOld(order, walkFromBase(whole), until)
  if (walk === undefined) return 'taken'
  if (walk.position === checkpoint.basePosition) return 'done'
  const changed = new Map<SiteId, CheckpointSite>()
  for (const [siteId, { seq, hash }] of walk.heads) {
    const site = sites.get(siteId)
    // Every site that has entries before the checkpoint is part of it.
    if (site === undefined) throw new Error(`the checkpoint has no site ${siteId}`)
    if (site.baseSeq !== seq) changed.set(siteId, { ...site, baseSeq: seq, baseHash: hash })
  }
  const next = {
    ...checkpoint,
    basePosition: walk.position,
    baseDigest: walk.digest,
    sitesSha256: digestSites(
      new Map([...sites, ...changed].map(([siteId, site]) => [siteId as string, digestSite(site)])),
    ),
  }
  return (await store.moveBase(checkpoint, next, [...changed.values()], context)) ? 'moved' : 'taken'
}

/**
 * Checks entries up to `until`, and stops before the first one that must stay. Undefined when
 * another cut has moved the base over entries that this one has not read.
 */
async function walkOld(order: CutOrder, from: LogWalk, until: number): Promise<LogWalk | undefined> {
  const { store } = order
  let walk = from
  while (walk.position < until && !isStopped(order)) {
    const count = Math.min(PAGE, until - walk.position)
    const { entries, end, basePosition } = await store.entriesAfter(walk.position, count)
    if (basePosition > walk.position) return undefined
    const old = takeOld(entries, Math.min(until, end.position - 1), order.beforeMs)
    const walked = await walkPage(walk, old)
    if ('ok' in walked) throw failedAudit(walked)
    walk = walked
    if (old.length < entries.length || entries.length === 0) break
    await nextTurn()
  }
  return walk
}

/** The entries of a page up to the first one that is newer or after `until`. */
function takeOld(entries: readonly LoggedEntry[], until: number, beforeMs: number): readonly LoggedEntry[] {
  const isOld = ({ position, entry }: LoggedEntry) =>
    position <= until && (parseTime(entry.at) ?? Infinity) < beforeMs
  const end = entries.findIndex((each) => !isOld(each))
  return end === -1 ? entries : entries.slice(0, end)
}
