import { auditChain, type ChainFault, type Entry, GENESIS_HASH, type LogHead, type SiteId } from '@countersign/core'
import { LogDamaged, type PlacedEntry, type SiteHead, type Store } from './store.ts'

/**
 * `unreadable`: a row is no entry. `missing`: the log is shorter than it says it is, or has a hole. `other_head`: the log of a site does not
 * end where the store says it ends.
 */
export type LogFault = ChainFault | 'unreadable' | 'missing' | 'other_head'

export type LogAudit =
  | { readonly ok: true; readonly position: number; readonly sites: number }
  | {
      readonly ok: false
      readonly fault: LogFault
      readonly position: number
      readonly siteId: SiteId | undefined
      readonly seq: number | undefined
    }

export type AuditedStore = Pick<Store, 'epoch' | 'entriesAfter' | 'logPosition' | 'siteHeads'>

/** Told after each page how many entries have been read, of how many there were at the beginning. */
export type OnPage = (done: number, total: number) => void

const PAGE = 1000

/**
 * Reads the whole log and recomputes every hash; says where it first fails. A page at a time, also while others append to it. What was cut off
 * together with all that the store says of it cannot be seen from inside; verifiers that have read further will.
 */
export async function auditLog(store: AuditedStore, onPage: OnPage = () => {}): Promise<LogAudit> {
  const { epoch } = store
  // Asked for before the entries: what is promised here must be found there.
  const promised = await allHeads(store)
  const positionMin = await store.logPosition()
  const heads = new Map<SiteId, LogHead>()
  let position = 0
  for (;;) {
    let page: readonly PlacedEntry[]
    try {
      page = await store.entriesAfter(position, PAGE)
    } catch (fault) {
      if (!(fault instanceof LogDamaged)) throw fault
      return { ok: false, fault: 'unreadable', position: fault.position, siteId: undefined, seq: undefined }
    }
    const failed = missing(page, position) ?? (await auditPage(page, heads, epoch)) ?? otherHead(page, promised)
    if (failed !== undefined) return failed
    position += page.length
    onPage(position, Math.max(position, positionMin))
    if (page.length < PAGE) break
  }
  if (position < positionMin) return { ok: false, fault: 'missing', position: position + 1, siteId: undefined, seq: undefined }
  for (const { siteId, seq } of promised.values()) {
    if ((heads.get(siteId)?.seq ?? 0) < seq) return { ok: false, fault: 'missing', position: position + 1, siteId, seq }
  }
  return { ok: true, position, sites: promised.size }
}

async function allHeads(store: AuditedStore): Promise<Map<SiteId, SiteHead>> {
  const heads = new Map<SiteId, SiteHead>()
  for (let after: SiteId | undefined; ; ) {
    const page = await store.siteHeads({ after, limit: PAGE })
    for (const head of page) heads.set(head.siteId, head)
    if (page.length < PAGE) return heads
    after = page.at(-1)?.siteId
  }
}

function missing(page: readonly PlacedEntry[], position: number): LogAudit | undefined {
  const at = page.findIndex((placed, i) => placed.position !== position + 1 + i)
  return at === -1 ? undefined : { ok: false, fault: 'missing', position: position + 1 + at, siteId: undefined, seq: undefined }
}

/** The entries of each site are a chain of their own. */
async function auditPage(page: readonly PlacedEntry[], heads: Map<SiteId, LogHead>, epoch: string): Promise<LogAudit | undefined> {
  const sites = new Map<SiteId, Entry[]>()
  for (const { entry } of page) {
    const entries = sites.get(entry.site_id)
    if (entries === undefined) sites.set(entry.site_id, [entry])
    else entries.push(entry)
  }
  for (const [siteId, entries] of sites) {
    const audit = await auditChain(entries, { siteId, head: heads.get(siteId) ?? { epoch, seq: 0, hash: GENESIS_HASH } })
    if (!audit.ok) {
      const broken = page.find(({ entry }) => entry.site_id === siteId && entry.seq === audit.found)
      return { ok: false, fault: audit.fault, position: broken?.position ?? 0, siteId, seq: audit.seq }
    }
    heads.set(siteId, audit.head)
  }
  return undefined
}

function otherHead(page: readonly PlacedEntry[], promised: ReadonlyMap<SiteId, SiteHead>): LogAudit | undefined {
  for (const { position, entry } of page) {
    const { site_id: siteId, seq, hash } = entry
    const head = promised.get(siteId)
    if (head?.seq === seq && head.hash !== hash) return { ok: false, fault: 'other_head', position, siteId, seq }
  }
  return undefined
}
