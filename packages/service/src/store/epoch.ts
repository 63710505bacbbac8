import { randomBytes } from 'node:crypto'
import type { LogHead } from '@countersign/core'
import { auditLog, LOG_MISSING } from './audit-log.ts'
import { EpochChanged } from './errors.ts'
import { failedAudit, type LogAudit } from './log-corrupted.ts'
import { bindOperations, type RunOperation } from './operations/all.ts'

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
      const audit = await auditUnlessOver(run, state.epoch)
      if (audit === undefined) continue
      if (!audit.ok) throw failedAudit(audit)
      const context = { actor: 'system', atMs: nowMs }
      await beginEpoch(createEpoch(), lineage, state, context, continued)
    }
  }
}

/** Undefined when another node has begun the new epoch in the meantime. */
async function auditUnlessOver(run: RunOperation, epoch: string): Promise<LogAudit | undefined> {
  try {
    return await auditLog({ ...bindOperations(run, () => epoch), epoch })
  } catch (fault) {
    if (fault instanceof EpochChanged) return undefined
    throw fault
  }
}

/** Lower-case letters and digits, 80 random bits. */
export function createEpoch(): string {
  return BigInt(`0x${randomBytes(10).toString('hex')}`)
    .toString(36)
    .padStart(EPOCH_CHARS, '0')
    .slice(-EPOCH_CHARS)
}
