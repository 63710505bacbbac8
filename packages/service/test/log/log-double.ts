import {
  createEntry,
  type Entry,
  type EntryBodies,
  type EntryKind,
  formatTime,
  GENESIS_HASH,
  type LogHead,
  type SiteId,
} from '@countersign/core'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { EMPTY_DIGEST, nextDigest } from '../../src/store/log-digest.ts'
import type { LogEnd, LoggedEntry, LogPage, SiteHead } from '../../src/store/operations/log.ts'
import type { Page } from '../../src/store/page.ts'
import type { AppendListener } from '../../src/store/store.ts'
import { systemClocks } from '../../src/system-clocks.ts'

export const EPOCH = 'e0000000'

interface AppendOptions {
  /** Without a call of the listeners. */
  readonly silent?: boolean
  /** This process has committed the entry, so listeners get it. */
  readonly own?: boolean
  /** How long ago its transaction began. */
  readonly agoMs?: number
}

/**
 * The log of a store in memory: what `LiveViews.open` sees of a store, and the means to damage it.
 */
export class LogDouble {
  /** Others may append to it without a report. */
  readonly isShared = true
  epoch = EPOCH
  entries: LoggedEntry[] = []
  /** What `logPosition` says when it is not the number of entries. */
  positionSaid: number | undefined
  isDown = false
  reads = 0
  listeners = new Set<AppendListener>()
  /** A read waits for this before it answers. */
  gate: Promise<void> | undefined

  async append<Kind extends EntryKind>(
    siteId: SiteId,
    kind: Kind,
    body: EntryBodies[Kind],
    { silent = false, own = false, agoMs = 0 }: AppendOptions = {},
  ): Promise<number> {
    const last = this.entries.findLast(({ entry }) => entry.site_id === siteId)?.entry
    const prev: LogHead = last === undefined ? { epoch: this.epoch, seq: 0, hash: GENESIS_HASH } : last
    const entry = (await createEntry(
      { siteId, kind, body, at: formatTime(1_700_000_000_000) },
      prev,
    )) as Entry
    const position = this.entries.length + 1
    const { wallMs, monotonicMs } = systemClocks()
    const before = { wallMs: wallMs - agoMs, monotonicMs: monotonicMs - agoMs }
    this.entries.push({ position, entry })
    for (const listener of this.listeners) {
      if (own) listener(position, { entries: [{ position, entry }], isEnd: true, end: this.end, before })
      else if (!silent) listener()
    }
    return position
  }

  /** Every site's log begins with what the site is like. */
  site(siteId: SiteId, options?: AppendOptions): Promise<number> {
    const body = {
      bearer: 'on',
      holder_proof: 'optional',
      delegation: 'on',
      credential_ttl_seconds_max: null,
    } as const
    return this.append(siteId, 'site.changed', body, options)
  }

  /** What the log row says when it is not what follows from the entries. */
  endSaid: LogEnd | undefined

  /** The digest after each entry, with the hash that it was computed from. */
  readonly #digests: { readonly hash: string; readonly digest: string }[] = []

  get end(): LogEnd {
    let digest = EMPTY_DIGEST
    let isKnown = true
    for (const [i, { entry }] of this.entries.entries()) {
      isKnown &&= this.#digests[i]?.hash === entry.hash
      if (!isKnown) this.#digests[i] = { hash: entry.hash, digest: nextDigest(digest, entry.hash) }
      digest = this.#digests[i]?.digest ?? ''
    }
    return this.endSaid ?? { position: this.entries.length, digest, keysDeleted: 0 }
  }

  async entriesAfter(position: number, limit: number): Promise<LogPage> {
    this.reads++
    await this.gate
    if (this.isDown) throw new StoreUnavailable('down')
    return {
      entries: this.entries.slice(Math.max(0, position), Math.max(0, position) + limit),
      basePosition: 0,
      end: this.end,
    }
  }

  async logPosition(): Promise<number> {
    if (this.isDown) throw new StoreUnavailable('down')
    return this.positionSaid ?? this.entries.length
  }

  async requireIntactRows(): Promise<void> {}

  async followEpoch(): Promise<void> {}

  // There is no checkpoint.
  async checkpoint(): Promise<undefined> {}
  checkpointSites = async () => []
  sitePages = async () => []
  async sitePageBytes(): Promise<undefined> {}
  recordsAfter = async () => []

  headsSaid: SiteHead[] | undefined
  async siteHeads({ after = '', limit }: Page): Promise<readonly SiteHead[]> {
    if (this.isDown) throw new StoreUnavailable('down')
    const heads = new Map(
      this.entries.map(({ entry: { site_id, epoch, seq, hash } }) => [
        site_id,
        { siteId: site_id, epoch, seq, hash },
      ]),
    )
    const all = this.headsSaid ?? [...heads.values()].sort((a, b) => (a.siteId < b.siteId ? -1 : 1))
    return all.filter(({ siteId }) => siteId > after).slice(0, limit)
  }

  onAppend(listener: AppendListener): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

/** Two clocks that go when they are told to. */
export class ClockDouble {
  wallMs = 1_800_000_000_000
  monotonicMs = 1000
  fault: Error | undefined
  readonly clocks = () => ({ wallMs: this.wallMs, monotonicMs: this.monotonicMs })

  nowMs(): number {
    if (this.fault !== undefined) throw this.fault
    return this.wallMs
  }

  problem(): string | undefined {
    return this.fault?.message
  }

  readonly whileFrozen = <Result>(work: () => Result): Result => work()

  pass(ms: number): void {
    this.wallMs += ms
    this.monotonicMs += ms
  }
}

export const quiet = { error: () => {}, warn: () => {}, info: () => {} }
