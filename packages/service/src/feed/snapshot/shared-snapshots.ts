import {
  type EpochLine,
  formatTime,
  type LogHead,
  type SiteId,
  type SiteView,
  type SnapshotEnd,
  type SnapshotHead,
  TOKEN_REVOCATIONS_KEPT_MS,
  toStateLines,
} from '@countersign/core'
import type { LiveViews } from '../../log/live-views.ts'
import type { Store } from '../../store/store.ts'
import {
  createHead,
  deflateState,
  type FeedSigner,
  loadEpochLines,
  type OpenSnapshot,
  type SnapshotBody,
  type StateLines,
  signBody,
} from './body.ts'
import { GrowingParts } from './growing-parts.ts'
import type { PagedLog } from './paged-logs.ts'
import { extendTail, startTail, type Tail } from './tail.ts'

export interface SharedSnapshotsParts {
  readonly store: Pick<Store, 'siteRecordsAfter' | 'epochLinks'>
  readonly views: Pick<LiveViews, 'age' | 'follow'>
  /** Called when a snapshot of another head is built, and when one is signed. */
  readonly onWork?: (work: 'built' | 'signed') => void
}

export interface SharedSnapshotsOptions {
  /** A signed snapshot of the current head is given to other readers for so long. */
  readonly reusedMs?: number
  /** Snapshots are kept for later readers up to so many bytes. */
  readonly bytesMax?: number
}

/** What a reader needs at this moment. */
export interface SnapshotOrder {
  /** The node's view of the site. The snapshot ends at its head at the time of the call. */
  readonly view: SiteView
  readonly paged: PagedLog | undefined
  /** How long the head is valid. */
  readonly ageSecondsMax: number
  readonly signer: FeedSigner
}

/** A snapshot that is shared by all readers who came while its head was the current one. */
export interface SharedSnapshot extends OpenSnapshot {
  /** Rejects when the log does not lead to the head. */
  readonly body: Promise<SnapshotBody>
}

interface Building {
  readonly view: SiteView
  readonly subjectKey: SiteView['subjectKey']
  readonly paged: PagedLog | undefined
  readonly kid: string
  readonly head: LogHead
  readonly epochs: Promise<readonly EpochLine[]>
  readonly state: Promise<StateLines>
  readonly tail: Promise<Tail>
  readonly parts: GrowingParts
  /** How often the tail was extended since it was built from its beginning. */
  readonly extensions: number
  readonly body: Promise<SnapshotBody>
  bytes: number
}

interface Signed {
  readonly building: Building
  readonly asOfMs: number
  readonly ageSecondsMax: number
  readonly head: SnapshotHead
  readonly end: Promise<SnapshotEnd>
}

const REUSED_MS = 1000
const BYTES_MAX = 64 * 1024 * 1024
/** Besides its compressed text, each snapshot takes about this much memory. */
const OVERHEAD_BYTES = 4096
/** Each extension of a tail is a part of its own, so after so many the tail is built again. */
const EXTENSIONS_MAX = 64

/**
 * Builds, compresses and signs the snapshot of each site once for each head. When the head has
 * moved, only the entries since then are read. When time has passed, only two lines are signed
 * again.
 */
export class SharedSnapshots {
  readonly #parts: SharedSnapshotsParts
  readonly #reusedMs: number
  readonly #bytesMax: number
  /** The last snapshot of each site. The one that was not used for the longest time comes first. */
  readonly #sites = new Map<SiteId, Building>()
  readonly #signed = new Map<SiteId, Signed>()
  #bytes = 0

  constructor(parts: SharedSnapshotsParts, options: SharedSnapshotsOptions = {}) {
    this.#parts = parts
    this.#reusedMs = options.reusedMs ?? REUSED_MS
    this.#bytesMax = options.bytesMax ?? BYTES_MAX
    parts.views.follow({ applied: () => {}, lost: () => this.#forgetAll() })
  }

  /** How many bytes the snapshots have that are kept. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * The snapshot of the head of this moment. Does not wait for anything, so that the caller can
   * write a lease with the time of this moment.
   */
  take(order: SnapshotOrder): SharedSnapshot {
    const { view, ageSecondsMax, signer } = order
    const { siteId } = view
    const age = this.#parts.views.age()
    const known = this.#sites.get(siteId)
    const building =
      known !== undefined && isCurrent(known, order) ? known : this.#build(order, age.asOfMs, known)
    this.#use(siteId, building)
    const last = this.#signed.get(siteId)
    const isUsable =
      last !== undefined &&
      last.building === building &&
      last.ageSecondsMax === ageSecondsMax &&
      isRecent(last.asOfMs, age, this.#reusedMs)
    const { head, end } = isUsable
      ? last
      : this.#sign(siteId, building, { asOfMs: age.asOfMs, ageSecondsMax }, signer)
    const { state, paged, parts, body } = building
    return { siteId, head, state, paged, tail: parts, end, body }
  }

  /** The pages of this snapshot are no longer stored: the next reader gets another one. */
  forget(siteId: SiteId, body: Promise<SnapshotBody>): void {
    if (this.#sites.get(siteId)?.body === body) this.#remove(siteId)
  }

  #build(order: SnapshotOrder, asOfMs: number, known: Building | undefined): Building {
    const { view, paged, signer } = order
    const { store, onWork } = this.#parts
    const { siteId, head, subjectKey } = view
    onWork?.('built')
    const isContinued = known !== undefined && known.view === view && known.paged === paged
    const isExtended = isContinued && known.extensions < EXTENSIONS_MAX
    const start = isExtended ? known.tail : Promise.resolve(startTail(paged))
    const parts = new GrowingParts(isExtended ? known.parts : undefined)
    const tokensSince = formatTime(asOfMs - TOKEN_REVOCATIONS_KEPT_MS)
    const tailOrder = { store, view, tokensSince, onPart: parts.add.bind(parts) }
    const tail = start.then((from) => extendTail(tailOrder, from, head))
    tail.then(
      () => parts.end(),
      (fault: unknown) => parts.end(fault),
    )
    // Read in this turn: the state belongs to the head of this moment.
    const lines = toStateLines(view)
    const epochs =
      isContinued && known.kid === signer.kid ? known.epochs : loadEpochLines(store, siteId, signer)
    const state = epochs.then((first) => deflateState(first, lines))
    const compose = async (): Promise<SnapshotBody> => ({
      siteId,
      head,
      paged,
      state: await state,
      tail: await tail,
    })
    const extensions = isExtended ? known.extensions + 1 : 0
    const body = compose()
    const kid = signer.kid
    const made = { view, subjectKey, paged, kid, head, epochs, state, tail, parts }
    const building = { ...made, extensions, body, bytes: 0 }
    // Readers get the fault from `parts`, or when they come to the end.
    state.catch(() => {})
    body.then(
      (built) => this.#count(siteId, building, built),
      () => this.forget(siteId, body),
    )
    return building
  }

  #sign(
    siteId: SiteId,
    building: Building,
    terms: { readonly asOfMs: number; readonly ageSecondsMax: number },
    signer: FeedSigner,
  ): Signed {
    const head = createHead({ ...building, siteId }, terms)
    const end = building.body.then((body) => {
      this.#parts.onWork?.('signed')
      return signBody(body, head, signer)
    })
    end.catch(() => {})
    const made = { building, ...terms, head, end }
    this.#signed.set(siteId, made)
    return made
  }

  #use(siteId: SiteId, building: Building): void {
    this.#remove(siteId, building)
    this.#sites.set(siteId, building)
    this.#bytes += building.bytes
  }

  #count(siteId: SiteId, building: Building, { state, tail }: SnapshotBody): void {
    building.bytes = OVERHEAD_BYTES + state.deflated.length
    for (const { deflated } of tail.parts) building.bytes += deflated.length
    if (this.#sites.get(siteId) !== building) return
    this.#bytes += building.bytes
    for (const oldest of this.#sites.keys()) {
      if (this.#bytes <= this.#bytesMax) return
      this.#remove(oldest)
    }
  }

  /** Keeps the signature of `next`. */
  #remove(siteId: SiteId, next?: Building): void {
    this.#bytes -= this.#sites.get(siteId)?.bytes ?? 0
    this.#sites.delete(siteId)
    if (this.#signed.get(siteId)?.building !== next) this.#signed.delete(siteId)
  }

  #forgetAll(): void {
    this.#sites.clear()
    this.#signed.clear()
    this.#bytes = 0
  }
}

function isCurrent(known: Building, { view, paged, signer }: SnapshotOrder): boolean {
  const { epoch, seq, hash } = known.head
  return (
    known.view === view &&
    known.paged === paged &&
    known.kid === signer.kid &&
    // A view gets it after its first entry.
    known.subjectKey === view.subjectKey &&
    view.head.epoch === epoch &&
    view.head.seq === seq &&
    view.head.hash === hash
  )
}

/** Whether what was signed then is recent, and not older than this node's own data may be. */
function isRecent(asOfMs: number, age: ReturnType<LiveViews['age']>, reusedMs: number): boolean {
  const olderMs = age.asOfMs - asOfMs
  return olderMs >= 0 && olderMs <= reusedMs && age.ageMs + olderMs <= age.ageMsMax
}
