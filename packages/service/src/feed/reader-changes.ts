import type { SiteId } from '@countersign/core'
import type { ConnectedVerifiers } from './verifier-registry.ts'

/** Entries after `afterSeq` and up to `toSeq`. */
export interface SeqRange {
  readonly afterSeq: number
  readonly toSeq: number
}

/** Finds out which entries verifiers have acknowledged between two looks at them. */
export interface ReaderChanges {
  /**
   * The entries whose receipts may differ from those at the last look; undefined when there are
   * none. At the first look at a site: all.
   */
  find(siteId: SiteId, found: ConnectedVerifiers, headSeq: number, nowMs: number): SeqRange | undefined
  /** Forgets all other sites. */
  keep(sites: readonly SiteId[]): void
}

interface Look {
  /** The last position of each reader that was connected since the first look. */
  readonly seqs: Map<string, number>
  readonly connected: ReadonlySet<string>
  /** The heads at the last looks, oldest first. */
  readonly heads: readonly { readonly atMs: number; readonly seq: number }[]
}

/** Longer than it takes from an entry to the first version of its receipt. */
const WRITTEN_MS_MAX = 10_000
const HEADS_KEPT = 60
const READERS_MAX = 20_000

export function createReaderChanges(): ReaderChanges {
  const looks = new Map<SiteId, Look>()
  return {
    find(siteId, { leases, streams }, headSeq, nowMs) {
      const last = looks.get(siteId)
      const readers = [
        ...leases.map(({ keyId, instanceId, seq, openedAtMs }) => ({
          name: `${keyId} ${instanceId} instance`,
          seq,
          sinceMs: openedAtMs,
        })),
        ...streams.map(({ keyId, verifierId, seq, connectedAtMs }) => ({
          name: `${keyId} ${verifierId}`,
          seq,
          sinceMs: connectedAtMs,
        })),
      ]
      const seqs = last === undefined || last.seqs.size > READERS_MAX ? new Map<string, number>() : last.seqs
      const connected = new Set(readers.map(({ name }) => name))
      const heads = last?.heads ?? []
      let afterSeq = last === undefined ? 0 : Infinity
      let toSeq = last === undefined ? Number.MAX_SAFE_INTEGER : 0
      for (const { name, seq, sinceMs } of readers) {
        // A receipt that was written before the reader came does not list it.
        const before =
          seqs.get(name) ?? heads.findLast(({ atMs }) => atMs <= sinceMs - WRITTEN_MS_MAX)?.seq ?? 0
        if (seq > before) {
          afterSeq = Math.min(afterSeq, before)
          toSeq = Math.max(toSeq, seq)
        }
        seqs.set(name, Math.max(before, seq))
      }
      for (const name of last?.connected ?? []) {
        if (connected.has(name)) continue
        afterSeq = Math.min(afterSeq, seqs.get(name) ?? 0)
        toSeq = Number.MAX_SAFE_INTEGER
      }
      const head = { atMs: nowMs, seq: headSeq }
      looks.set(siteId, { seqs, connected, heads: [...heads.slice(1 - HEADS_KEPT), head] })
      return toSeq > afterSeq ? { afterSeq, toSeq } : undefined
    },
    keep(sites) {
      const kept = new Set(sites)
      for (const siteId of looks.keys()) if (!kept.has(siteId)) looks.delete(siteId)
    },
  }
}
