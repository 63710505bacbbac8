import { checkHeartbeat, type Heartbeat, type LogHead, parseMultikey, type SiteId } from '@countersign/core'
import { loadCheckpoint } from '../store/checkpoints/load-checkpoint.ts'
import { LogCorrupted } from '../store/log-corrupted.ts'
import type { SiteHead } from '../store/operations/log.ts'
import type { Store } from '../store/store.ts'

/** A signed head that the log does not have. */
interface LostHead {
  readonly head: Heartbeat
  /** The head of the site's log now; 0 when the site is missing. */
  readonly seq: number
}

/** A head of a former epoch, whose last entries the next epoch did not continue. */
export interface LeftBehind {
  readonly head: FormerHead
  /** The head of the site's log when its next epoch began. */
  readonly seq: number
}

type FormerHead = Pick<Heartbeat, 'site_id' | 'epoch' | 'seq'>

export interface HeadComparison {
  /**
   * The log should have these and does not: entries are missing, were rewritten, or this is another
   * log.
   */
  readonly lost: readonly LostHead[]
  /**
   * A later epoch began without these entries: by a restore, a fail-over or an operator who
   * accepted the loss.
   */
  readonly leftBehind: readonly LeftBehind[]
}

/** How many epochs are searched for the one that a head belongs to. */
const EPOCHS_MAX = 256

type BaseStore = Pick<Store, 'epoch' | 'siteBase' | 'checkpoint' | 'checkpointSites'>
type LogStore = BaseStore & Pick<Store, 'siteEntriesAfter' | 'epochLinks'>
type Base = Awaited<ReturnType<Store['siteBase']>>
type FindBase = (siteId: SiteId) => Promise<Base>

/**
 * Compares signed heads, from outside the store, with the log. `findHead` gives the end of the log
 * of a site. Heads whose signature is not valid under the key that they name are ignored. Rejects
 * when the store cannot be asked.
 */
export async function compareHeads(
  store: LogStore,
  heads: Iterable<Heartbeat>,
  findHead: (siteId: SiteId) => LogHead | undefined,
): Promise<HeadComparison> {
  const lost: LostHead[] = []
  const former: Heartbeat[] = []
  const findBase = createFindBase(store)
  for (const head of heads) {
    if (head.epoch !== store.epoch) former.push(head)
    else if (!(await hasHead(store, head, findHead, findBase)) && (await isSigned(head)))
      lost.push({ head, seq: findHead(head.site_id)?.seq ?? 0 })
  }
  const { leftBehind, unknown } = await compareFormer(store, former)
  for (const head of unknown) if (await isSigned(head)) lost.push({ head, seq: 0 })
  return { lost, leftBehind }
}

/**
 * Whether the log has this very entry. Asks the store unless it is the head that is known here. An
 * entry before the base is no longer kept, and the log has grown since.
 */
export async function hasHead(
  store: BaseStore & Pick<Store, 'siteEntriesAfter'>,
  { site_id, seq, hash }: Heartbeat,
  findHead: (siteId: SiteId) => LogHead | undefined,
  findBase: FindBase = createFindBase(store),
): Promise<boolean> {
  const known = findHead(site_id)
  if (known?.seq === seq) return known.hash === hash
  const [entry] = await store.siteEntriesAfter(site_id, seq - 1, 1)
  if (entry?.seq === seq) return entry.hash === hash
  const base = await findBase(site_id)
  return base !== undefined && (seq === base.seq ? hash === base.hash : seq < base.seq)
}

/**
 * Finds the base of sites. The row of a site has no MAC of its own, so the checkpoint that covers
 * all of them is loaded, once, before a base excuses a missing entry. One that this service did not
 * write excuses none.
 */
function createFindBase(store: BaseStore): FindBase {
  let bases: Promise<ReadonlyMap<SiteId, Base>> | undefined
  return async (siteId) => {
    if ((await store.siteBase(siteId)) === undefined) return undefined
    bases ??= loadBases(store)
    return (await bases).get(siteId)
  }
}

async function loadBases(store: BaseStore): Promise<ReadonlyMap<SiteId, Base>> {
  try {
    const loaded = await loadCheckpoint(store)
    if (loaded === undefined || loaded.checkpoint.epoch !== store.epoch) return new Map()
    return new Map(
      [...loaded.sites].map(([siteId, { baseSeq, baseHash }]) => [siteId, { seq: baseSeq, hash: baseHash }]),
    )
  } catch (fault) {
    if (fault instanceof LogCorrupted) return new Map()
    throw fault
  }
}

/** Splits heads of earlier epochs: entries that this log did not continue, and unknown epochs. */
async function compareFormer<Head extends FormerHead>(store: LogStore, heads: readonly Head[]) {
  const continued = new Set<string>()
  const leftBehind: LeftBehind[] = []
  for (const head of heads) {
    const links = await store.epochLinks(head.site_id, EPOCHS_MAX)
    for (const { previous } of links) continued.add(previous.epoch)
    const link = links.find(({ previous }) => previous.epoch === head.epoch)
    if (link !== undefined && link.previous.seq < head.seq) leftBehind.push({ head, seq: link.previous.seq })
  }
  return { leftBehind, unknown: heads.filter(({ epoch }) => !continued.has(epoch)) }
}

/**
 * Compares the heads that a node had read in a former epoch with the log now, whose heads
 * `findHead` gives: entries that the log did not continue, and heads of which no epoch of this log
 * continues the epoch. Rejects when the store cannot be asked.
 */
export async function compareReadHeads(
  store: LogStore,
  former: readonly SiteHead[],
  findHead: (siteId: SiteId) => LogHead | undefined,
): Promise<{ readonly leftBehind: readonly LeftBehind[]; readonly unknown: readonly FormerHead[] }> {
  // A log that goes on from the same entry has lost none, and most sites need no query.
  const changed = former.filter(
    ({ siteId, epoch, hash }) => epoch !== store.epoch && findHead(siteId)?.hash !== hash,
  )
  return compareFormer(
    store,
    changed.map(({ siteId, epoch, seq }) => ({ site_id: siteId, epoch, seq })),
  )
}

/** The id of a feed key is the key itself. Does not check that the key is one of the service's. */
async function isSigned(head: Heartbeat): Promise<boolean> {
  const key = parseMultikey(head.kid)
  return key !== undefined && (await checkHeartbeat(head, key)) !== undefined
}

/** Describes for an operator a log that does not continue the one that this node has read. */
export function describeOtherLog([first]: readonly FormerHead[]): string | undefined {
  if (first === undefined) return undefined
  const { epoch, seq, site_id } = first
  return `this is another log than the one with epoch ${epoch}, of which this node has read entry ${seq} of ${site_id}`
}

/** Describes for an operator which site has lost how many entries. */
export function describeLoss({ lost: [first, ...more] }: HeadComparison, epoch: string): string | undefined {
  if (first === undefined) return undefined
  const { head, seq } = first
  const others =
    more.length === 0 ? '' : `; ${more.length} other ${more.length === 1 ? 'site is' : 'sites are'} affected`
  if (head.epoch !== epoch)
    return `this is another log than the one with epoch ${head.epoch}, which had entry ${head.seq} of ${head.site_id} at ${head.as_of}${others}`
  const proof = `a signed head of ${head.as_of} proves entry ${head.seq} of ${head.site_id}`
  return seq < head.seq
    ? `${proof}, and the log of the site ends at ${seq}: ${head.seq - seq} entries are lost${others}`
    : `${proof}, and the log has another entry there: it was rewritten${others}`
}
