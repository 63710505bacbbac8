import { auditChain, GENESIS_HASH, type LogHead, type SiteId } from '@countersign/core'
import { RowForged } from './errors.ts'
import { type FailedAudit, type LogAudit, LogCorrupted } from './log-corrupted.ts'
import { EMPTY_DIGEST, nextDigest } from './log-digest.ts'
import { type MacTableName, macTables } from './mac-tables.ts'
import { bindOperations, type RunOperation } from './operations/all.ts'
import type { LoggedEntry, LogPage, SiteHead } from './operations/log.ts'
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
  'epoch' | 'entriesAfter' | 'logPosition' | 'siteHeads' | 'requireIntactRows'
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
 * fails. Reads a page at a time, also while others append. It cannot detect a store that was set
 * back as a whole; verifiers that have read further do.
 */
export async function auditLog(store: AuditedStore, onPage?: OnPage): Promise<LogAudit> {
  try {
    const audit = await auditEntries(store, onPage)
    if (audit.ok) await store.requireIntactRows(CHECKED)
    return audit
  } catch (fault) {
    if (!(fault instanceof RowForged)) throw fault
    const { table, key } = fault
    return { ok: false, fault: 'forged', position: 0, row: { table, key } }
  }
}

/** The same, and compares the tables that are derived from the log with it. */
export async function auditWhole(
  store: AuditedStore & Pick<Store, 'derivedFault'>,
  onPage?: OnPage,
): Promise<LogAudit> {
  const audit = await auditLog(store, onPage)
  const found = audit.ok ? await store.derivedFault() : undefined
  if (found === undefined) return audit
  const { table, key, fault } = found
  return { ok: false, fault, position: 0, row: { table, key } }
}

async function auditEntries(store: AuditedStore, onPage: OnPage = () => {}): Promise<LogAudit> {
  const { epoch } = store
  // Read before the entries, so that every entry up to these heads must be found.
  const promised = new Map((await loadSiteHeads(store)).map((head) => [head.siteId, head]))
  const positionMin = await store.logPosition()
  const heads = new Map<SiteId, LogHead>()
  let [position, digest] = [0, EMPTY_DIGEST]
  for (;;) {
    let read: LogPage
    try {
      read = await store.entriesAfter(position, PAGE)
    } catch (fault) {
      if (!(fault instanceof LogCorrupted) || fault.audit === undefined) throw fault
      return fault.audit
    }
    const { entries: page, end } = read
    const failed =
      missing(page, position) ?? (await auditPage(page, heads, epoch)) ?? otherHead(page, promised)
    if (failed !== undefined) return failed
    position += page.length
    onPage(position, Math.max(position, positionMin))
    for (const { entry } of page) digest = nextDigest(digest, entry.hash)
    if (page.length === PAGE) continue
    if (position === end.position && digest !== end.digest)
      return { ok: false, fault: 'other_entries', position }
    if (position > end.position)
      return {
        ok: false,
        fault: 'other_entries',
        position: end.position + 1,
      }
    break
  }
  if (position < positionMin) return { ok: false, fault: 'missing', position: position + 1 }
  for (const { siteId, seq } of promised.values()) {
    if ((heads.get(siteId)?.seq ?? 0) < seq)
      return { ok: false, fault: 'missing', position: position + 1, siteId, seq }
  }
  return { ok: true, position, sites: promised.size }
}

function missing(page: readonly LoggedEntry[], position: number): LogAudit | undefined {
  const at = page.findIndex((placed, i) => placed.position !== position + 1 + i)
  return at === -1 ? undefined : { ok: false, fault: 'missing', position: position + 1 + at }
}

/** The entries of each site are a chain of their own. */
async function auditPage(
  page: readonly LoggedEntry[],
  heads: Map<SiteId, LogHead>,
  epoch: string,
): Promise<LogAudit | undefined> {
  const sites = Map.groupBy(
    page.map(({ entry }) => entry),
    (entry) => entry.site_id,
  )
  for (const [siteId, entries] of sites) {
    const audit = await auditChain(entries, {
      siteId,
      head: heads.get(siteId) ?? { epoch, seq: 0, hash: GENESIS_HASH },
    })
    if (!audit.ok) {
      const broken = page.find(({ entry }) => entry.site_id === siteId && entry.seq === audit.found)
      return { ok: false, fault: audit.fault, position: broken?.position ?? 0, siteId, seq: audit.seq }
    }
    heads.set(siteId, audit.head)
  }
  return undefined
}

function otherHead(
  page: readonly LoggedEntry[],
  promised: ReadonlyMap<SiteId, SiteHead>,
): LogAudit | undefined {
  for (const { position, entry } of page) {
    const { site_id: siteId, seq, hash } = entry
    const head = promised.get(siteId)
    if (head?.seq === seq && head.hash !== hash)
      return { ok: false, fault: 'other_head', position, siteId, seq }
  }
  return undefined
}

/** Audits a store that may be empty, over a way of running operations. */
export async function auditOffline(
  run: RunOperation,
  onPage?: OnPage,
  audit: Audit = auditLog,
): Promise<LogAudit> {
  const { logState, tableWithRows } = bindOperations(run, () => '')
  const state = await logState()
  if (state === undefined)
    return (await tableWithRows()) === undefined ? { ok: true, position: 0, sites: 0 } : LOG_MISSING
  return audit({ ...bindOperations(run, () => state.epoch), epoch: state.epoch }, onPage)
}
