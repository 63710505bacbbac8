import type { SiteId } from '@countersign/core'
import { CheckpointAudit } from './checkpoints/checkpoint-audit.ts'
import { RowForged } from './errors.ts'
import { type FailedAudit, type LogAudit, LogCorrupted } from './log-corrupted.ts'
import { walkFromStart, walkPage } from './log-walk.ts'
import { type MacTableName, macTables } from './mac-tables.ts'
import { bindOperations, type RunOperation } from './operations/all.ts'
import type { LoggedEntry, SiteHead } from './operations/log.ts'
import { loadSiteHeads } from './site-heads.ts'
import type { Store } from './store.ts'

/**
 * The log row is missing from a store that has rows. An empty log in its place would revoke
 * nothing.
 */
export const LOG_MISSING: FailedAudit = {
  ok: false,
  fault: 'missing',
  position: 0,
  row: { table: 'log', key: '1' },
}

export type AuditedStore = Pick<
  Store,
  | 'epoch'
  | 'entriesAfter'
  | 'logPosition'
  | 'siteHeads'
  | 'requireIntactRows'
  | 'checkpoint'
  | 'checkpointSites'
  | 'sitePages'
  | 'sitePageBytes'
>

/** Either of the two below. */
export type Audit = (store: AuditedStore & Pick<Store, 'derivedFault'>, onPage?: OnPage) => Promise<LogAudit>

/** Called after each page with the number of entries read, and the number at the beginning. */
export type OnPage = (done: number, total: number) => void

const PAGE = 1000
const CHECKED = (Object.keys(macTables) as MacTableName[]).filter(
  (table) => table !== 'log' && table !== 'heads',
)

/**
 * Reads the whole log, recomputes every hash and checks every MAC, and reports where it first
 * fails. Where entries were removed, it checks the checkpoint that replaces them: the hashes must
 * lead from its base to its heads, and its pages must be those that the service wrote, with the
 * revocations of all entries that still exist. Reads a page at a time, also while others append. It
 * cannot detect a store that was set back as a whole; verifiers that have read further do.
 */
export async function auditLog(store: AuditedStore, onPage?: OnPage): Promise<LogAudit> {
  try {
    const audit = await auditEntries(store, onPage)
    if (audit.ok) await requireIntactTables(store)
    return audit
  } catch (fault) {
    if (fault instanceof LogCorrupted && fault.audit !== undefined) return fault.audit
    if (!(fault instanceof RowForged)) throw fault
    const { table, key } = fault
    return { ok: false, fault: 'forged', position: 0, row: { table, key } }
  }
}

/** Throws a `RowForged` for the first row that the service did not write, in any table. */
export function requireIntactTables(store: Pick<Store, 'requireIntactRows'>): Promise<void> {
  return store.requireIntactRows(CHECKED)
}

/** The same, and compares the tables that are derived from the log with it. */
export async function auditWhole(
  store: AuditedStore & Pick<Store, 'derivedFault'>,
  onPage?: OnPage,
): Promise<LogAudit> {
  const audit = await auditLog(store, onPage)
  const found = audit.ok ? await store.derivedFault(Date.now()) : undefined
  if (found === undefined) return audit
  const { table, key, fault } = found
  return { ok: false, fault, position: 0, row: { table, key } }
}

async function auditEntries(store: AuditedStore, onPage: OnPage = () => {}): Promise<LogAudit> {
  const { epoch } = store
  // Read before the entries, so that every entry up to these heads must be found.
  const promised = new Map((await loadSiteHeads(store)).map((head) => [head.siteId, head]))
  const positionMin = await store.logPosition()
  const checkpoint = await CheckpointAudit.open(store)
  let walk = checkpoint?.base ?? walkFromStart(epoch)
  const { position: basePosition } = walk
  for (;;) {
    const limit = Math.min(PAGE, checkpoint?.entriesLeft(walk.position) ?? PAGE)
    const { entries: page, end } = await store.entriesAfter(walk.position, limit)
    const walked = await walkPage(walk, page)
    const failed = 'ok' in walked ? walked : otherHead(page, promised)
    if (failed !== undefined || 'ok' in walked) return failed ?? (walked as FailedAudit)
    walk = walked
    const { position, digest } = walk
    const differs = await checkpoint?.compare(page, walk)
    if (differs !== undefined) return differs
    onPage(position - basePosition, Math.max(position, positionMin) - basePosition)
    if (page.length === limit) continue
    if (position === end.position && digest !== end.digest)
      return { ok: false, fault: 'other_entries', position }
    if (position > end.position) return { ok: false, fault: 'other_entries', position: end.position + 1 }
    break
  }
  const { position, heads } = walk
  if (position < positionMin) return { ok: false, fault: 'missing', position: position + 1 }
  for (const { siteId, seq } of promised.values()) {
    if ((heads.get(siteId)?.seq ?? 0) < seq)
      return { ok: false, fault: 'missing', position: position + 1, siteId, seq }
  }
  return { ok: true, position, sites: promised.size, basePosition, pages: checkpoint?.pages ?? 0 }
}

function otherHead(
  page: readonly LoggedEntry[],
  promised: ReadonlyMap<SiteId, SiteHead>,
): FailedAudit | undefined {
  for (const { position, entry } of page) {
    const { site_id: siteId, seq, hash } = entry
    const head = promised.get(siteId)
    if (head?.seq === seq && head.hash !== hash)
      return { ok: false, fault: 'other_head', position, siteId, seq }
  }
  return undefined
}

const EMPTY: LogAudit = { ok: true, position: 0, sites: 0, basePosition: 0, pages: 0 }

/** Audits a store that may be empty, over a way of running operations. */
export async function auditOffline(
  run: RunOperation,
  onPage?: OnPage,
  audit: Audit = auditLog,
): Promise<LogAudit> {
  const { logState, tableWithRows } = bindOperations(run, () => '')
  const state = await logState()
  if (state === undefined) return (await tableWithRows()) === undefined ? EMPTY : LOG_MISSING
  return audit({ ...bindOperations(run, () => state.epoch), epoch: state.epoch }, onPage)
}
