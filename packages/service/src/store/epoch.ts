import { randomBytes } from 'node:crypto'
import type { LogHead, SiteId } from '@countersign/core'
import { auditLog, LOG_MISSING, requireIntactTables } from './audit-log.ts'
import type { CheckpointSite } from './checkpoint.ts'
import { writeCheckpointAtEnd } from './checkpoints/checkpoint-at-end.ts'
import { loadCheckpoint } from './checkpoints/load-checkpoint.ts'
import { EpochChanged, RowForged } from './errors.ts'
import { failedAudit, LogCorrupted } from './log-corrupted.ts'
import { bindOperations, type RunOperation } from './operations/all.ts'
import type { AuditedEnd, LogState } from './operations/epoch.ts'
import { loadSiteHeads } from './site-heads.ts'
import type { Store } from './store.ts'

const EPOCH_CHARS = 16

/**
 * Finds the epoch of the log. Begins a new one when this database is not the one that wrote the
 * log: a restored copy, or a server that took over. Acknowledged entries may be missing there, and
 * a verifier must not mistake the new log for a continuation of the old one. `continued`: see
 * `beginEpoch`. Throws a `LogCorrupted` for a log that fails the audit.
 */
export async function resolveEpoch(
  run: RunOperation,
  lineageNow: () => Promise<string>,
  nowMs: number,
  continued?: ReadonlyMap<string, LogHead>,
): Promise<string> {
  const { logState, beginLog, beginEpoch } = bindOperations(run, () => '')
  for (;;) {
    const lineage = await lineageNow()
    const state = await logState()
    if (state === undefined) {
      if (!(await beginLog(createEpoch(), lineage))) throw failedAudit(LOG_MISSING)
    } else if (state.lineage === lineage) {
      return state.epoch
    } else {
      const audited = await auditUnlessOver(run, state, nowMs)
      if (audited === undefined) continue
      const context = { actor: 'system', atMs: nowMs }
      await beginEpoch(createEpoch(), lineage, audited, context, continued)
    }
  }
}

/** Undefined when another node has appended, or has begun the new epoch, in the meantime. */
async function auditUnlessOver(
  run: RunOperation,
  state: LogState,
  nowMs: number,
): Promise<AuditedEnd | undefined> {
  try {
    return await auditEnd(run, state, nowMs)
  } catch (fault) {
    if (fault instanceof EpochChanged) return undefined
    throw fault
  }
}

/**
 * Checks everything that a new epoch continues: the checkpoint with its pages, the entries after
 * it, the heads, and every row with a MAC. Then writes a checkpoint at the end of the log.
 * Undefined when a node has appended in the meantime. Throws a `LogCorrupted`, with the first fault
 * of a whole audit if that finds one.
 */
export async function auditEnd(
  run: RunOperation,
  state: LogState,
  nowMs: number,
): Promise<AuditedEnd | undefined> {
  const store = { ...bindOperations(run, () => state.epoch), epoch: state.epoch }
  try {
    await requireIntactTables(store)
    await writeCheckpointAtEnd(store, nowMs)
    const loaded = await loadCheckpoint(store)
    const sites = [...(loaded?.sites.values() ?? [])]
    const wrong = await findOtherHead(store, sites)
    if (wrong !== undefined) {
      if (JSON.stringify(await store.logState()) !== JSON.stringify(state)) return undefined
      throw new LogCorrupted('other_head', `the log of ${wrong} does not end where it should`)
    }
    return {
      state,
      sites: sites.map((site) => ({ ...site, baseSeq: site.seq, baseHash: site.hash })),
      sitesSha256: loaded?.checkpoint.sitesSha256,
    }
  } catch (fault) {
    if (!(fault instanceof LogCorrupted || fault instanceof RowForged)) throw fault
    const audit = await auditLog(store)
    throw audit.ok ? fault : failedAudit(audit)
  }
}

/** The first site whose head in the store is not that of the checkpoint. */
async function findOtherHead(
  store: Pick<Store, 'siteHeads'>,
  sites: readonly CheckpointSite[],
): Promise<SiteId | undefined> {
  const heads = new Map((await loadSiteHeads(store)).map((head) => [head.siteId, head]))
  const isSame = ({ siteId, seq, hash }: CheckpointSite) =>
    heads.get(siteId)?.seq === seq && heads.get(siteId)?.hash === hash
  return sites.find((site) => !isSame(site))?.siteId
}

/** Lower-case letters and digits, 80 random bits. */
export function createEpoch(): string {
  return BigInt(`0x${randomBytes(10).toString('hex')}`)
    .toString(36)
    .padStart(EPOCH_CHARS, '0')
    .slice(-EPOCH_CHARS)
}
