import type { CredentialId, Ppid, SiteId } from '../credential/ids.ts'
import type { SiteData, SiteSettings, TrustedIssuer } from '../verify/trust.ts'
import {
  affectsCarried,
  CARRIED_REVOCATIONS_MAX,
  type CarriedRevocations,
  carryRevocations,
  dropRestored,
} from './carried-revocations.ts'
import { type CheckedEntry, GENESIS_HASH } from './chain.ts'
import { type EpochStatement, findEpochPath } from './epoch-statement.ts'
import { AS_OF_AHEAD_MS_MAX, type Clocks, type ConfirmedHead, Freshness } from './freshness.ts'
import type { IssuerTable } from './issuer-table.ts'
import { PENDING_ENTRIES_MAX, PendingEntries } from './pending-entries.ts'
import type { LogHead, Revocation } from './position.ts'
import type { TableSeed } from './revoked-table.ts'
import { SiteState } from './site-state.ts'
import type { SnapshotHead, SnapshotLine } from './snapshot.ts'
import { stricterIssuer, stricterSettings } from './stricter.ts'

/**
 * What makes a view distrust itself: what it was shown cannot be the log that it has followed so
 * far. `too_many_pending`: more entries came without a proof than it follows.
 */
export type ViewFault =
  | 'other_site'
  | 'other_epoch'
  | 'hole'
  | 'wrong_hash'
  | 'fork'
  | 'lower_head'
  | 'too_many_pending'

/** `known`: the entry came before and changes nothing. */
export type ApplyResult = 'applied' | 'known' | ViewFault

/**
 * `behind`: the log goes on after what has been applied, so nothing is proven. `outdated`: a newer
 * proof is known. `too_early`: its time is still to come. None of the three changes anything.
 */
export type ConfirmResult = 'proven' | 'behind' | 'outdated' | 'too_early' | ViewFault

/**
 * Why a snapshot was not loaded, beside faults: it says nothing about the site itself
 * (`incomplete`), no signed statements lead from the proven epoch to its epoch (`unlinked_epoch`),
 * nothing shows that it extends the proven head (`unlinked_head`), or it lacks more proven
 * revocations than a view carries (`too_many_carried`).
 */
export type LoadResult =
  | 'loaded'
  | 'incomplete'
  | 'unlinked_epoch'
  | 'unlinked_head'
  | 'too_many_carried'
  | ViewFault

export interface SiteViewOptions {
  readonly siteId: SiteId
  /**
   * For tests that want the same tables each time. Random otherwise, as it must be where ids come
   * from outside.
   */
  readonly seed?: TableSeed
  /**
   * Every entry is proven by where it comes from. Only for a reader of the service's own store,
   * whose chain it has checked; a verifier that receives entries over a network must leave this
   * out.
   */
  readonly entriesAreProven?: boolean
}

/**
 * What shows that a snapshot follows from the proven head. A view that holds none needs no
 * evidence.
 */
export interface LoadEvidence {
  /** Statements of this site whose signatures were checked, for a snapshot of another epoch. */
  readonly epochs?: readonly EpochStatement[]
  /**
   * For a higher head of the same epoch: the service has shown the entry at the proven seq, and its
   * hash is the proven one.
   */
  readonly hasProvenEntry?: boolean
}

/** A view of a site's log at its very beginning: it trusts no issuer. */
export function createSiteView(options: SiteViewOptions): SiteView {
  return new SiteView(options)
}

/**
 * What a verifier knows about a site: the log, applied entry by entry or loaded from a snapshot.
 * The same class in the service and in the SDK, so the two cannot disagree. Once it has been shown
 * something that cannot be its log, its age is infinite until it is loaded again.
 *
 * Entries carry no signature, so a view keeps two states: that of the last proven head, and that
 * with all received entries applied. Its answers are the stricter of both: a revocation takes
 * effect when it arrives, a grant when a signed head covers it.
 */
export class SiteView implements SiteData {
  readonly siteId: SiteId
  readonly #seed: TableSeed
  readonly #age = new Freshness()
  readonly #entriesAreProven: boolean
  /** The state at the last proven head. */
  #proven: SiteState
  /**
   * Whether there was a proof at all; before the first one `#proven` is the empty beginning of the
   * log.
   */
  #hasProof = false
  #pending: PendingEntries | undefined
  #carried: CarriedRevocations | undefined
  #carriedKeyCount = 0
  #maxAgeMs = Infinity
  #fault: ViewFault | undefined

  constructor({ siteId, seed = randomSeed(), entriesAreProven = false }: SiteViewOptions) {
    this.siteId = siteId
    this.#seed = seed
    this.#entriesAreProven = entriesAreProven
    this.#proven = new SiteState(seed, { epoch: '', seq: 0, hash: GENESIS_HASH })
  }

  /**
   * The last entry received, proven or not. The epoch is empty until the first entry or proof names
   * it.
   */
  get head(): LogHead {
    return this.#latest.head
  }

  /** The furthest head that a proof has confirmed; undefined before the first proof. */
  get provenHead(): LogHead | undefined {
    return this.#hasProof ? this.#proven.head : undefined
  }

  /**
   * The bound that the last proven head states for the age of this data; infinite before the first
   * proof.
   */
  get maxAgeMs(): number {
    return this.#maxAgeMs
  }

  /**
   * As strict as can be until the log has said something: a site's first entry is `site.changed`.
   */
  get settings(): SiteSettings {
    const { settings } = this.#proven
    if (this.#pending === undefined) return settings
    const latest = this.#pending.latest.settings
    return latest === settings ? settings : stricterSettings(settings, latest)
  }

  get trusted(): boolean {
    return this.#fault === undefined
  }

  /** Why the view distrusts itself. */
  get fault(): ViewFault | undefined {
    return this.#fault
  }

  /** How many credentials, tokens and users have ever been revoked. */
  get revocationCount(): number {
    return (
      this.#proven.revocations.size +
      (this.#pending?.latest.revocations.size ?? 0) +
      this.carriedRevocationCount
    )
  }

  /**
   * How many proven revocations stay in effect here although the log does not have them any more.
   */
  get carriedRevocationCount(): number {
    return (this.#carried?.revocations.size ?? 0) + this.#carriedKeyCount
  }

  /** The proven issuers, for a writer of snapshots; see `toStateLines`. */
  get issuers(): IssuerTable {
    return this.#proven.issuers
  }

  issuer(issuer: string): TrustedIssuer | undefined {
    const known = this.#proven.issuers.trusted(issuer)
    if (known === undefined || this.#pending === undefined) return known
    const latest = this.#pending.latest.issuers.trusted(issuer)
    return latest && stricterIssuer(known, latest)
  }

  // Pending revocations need not be seen together with the proven ones: in the stricter of the two
  // states everything is revoked that either of them revokes, and a pending reinstatement takes
  // nothing from what is proven.

  credentialRevocation(id: CredentialId): Revocation | undefined {
    const { revocations } = this.#proven
    return (
      revocations.credential(id) ??
      this.#pending?.latest.revocations.credential(id) ??
      this.#carried?.revocations.credential(id)
    )
  }

  userRevocation(ppid: Ppid, createdMs: number): Revocation | undefined {
    const { revocations } = this.#proven
    return (
      revocations.user(ppid, createdMs) ??
      this.#pending?.latest.revocations.user(ppid, createdMs) ??
      this.#carried?.revocations.user(ppid, createdMs)
    )
  }

  tokenRevocation(tokenSha256: string): Revocation | undefined {
    const { revocations } = this.#proven
    return (
      revocations.token(tokenSha256) ??
      this.#pending?.latest.revocations.token(tokenSha256) ??
      this.#carried?.revocations.token(tokenSha256)
    )
  }

  /**
   * That the site no longer trusts an issuer that it did trust. An issuer it has never trusted is
   * not revoked, it is unknown.
   */
  issuerRevocation(issuer: string): Revocation | undefined {
    return (
      this.#proven.issuers.issuerRevocation(issuer) ?? this.#pending?.latest.issuers.issuerRevocation(issuer)
    )
  }

  /** That a key is compromised, whether or not its issuer is trusted or still lists it. */
  keyRevocation(issuer: string, keyId: string): Revocation | undefined {
    return (
      this.#proven.issuers.keyRevocation(issuer, keyId) ??
      this.#pending?.latest.issuers.keyRevocation(issuer, keyId)
    )
  }

  /**
   * Follows the log by one entry. What has been applied before may come again, since delivery is at
   * least once. Anything that does not continue the log is a fault and is not applied, and neither
   * is anything after it.
   */
  apply(entry: CheckedEntry): ApplyResult {
    if (this.#fault !== undefined) return this.#fault
    const { head } = this
    if (entry.site_id !== this.siteId) return this.#distrust('other_site')
    if (entry.epoch !== head.epoch && head.epoch !== '') return this.#distrust('other_epoch')
    if (entry.seq <= head.seq)
      return (this.#hashAt(entry.seq) ?? entry.hash) === entry.hash ? 'known' : this.#distrust('fork')
    if (entry.seq !== head.seq + 1) return this.#distrust('hole')
    if (entry.prev_hash !== head.hash) return this.#distrust('wrong_hash')
    if (this.#entriesAreProven) {
      this.#proven.apply(entry)
      this.#hasProof = true
    } else if ((this.#pending?.entries.length ?? 0) >= PENDING_ENTRIES_MAX)
      return this.#distrust('too_many_pending')
    else {
      const pending = this.#pending ?? new PendingEntries(this.#seed, this.#proven)
      pending.apply(entry)
      this.#pending = pending
    }
    return 'applied'
  }

  /**
   * Takes a proof of the head, whose signature has been checked. Only a proof of exactly what has
   * been applied makes the view younger, and with it all pending entries are proven. A proof that
   * cannot be true of the log followed so far is a fault: other hash, other epoch, or a newer proof
   * of a lower head.
   */
  confirmHead(proof: ConfirmedHead, received: Clocks): ConfirmResult {
    if (this.#fault !== undefined) return this.#fault
    const { head } = this
    if (proof.siteId !== this.siteId) return this.#distrust('other_site')
    if (!(proof.asOfMs - received.wallMs <= AS_OF_AHEAD_MS_MAX)) return 'too_early'
    if (proof.epoch !== head.epoch && head.epoch !== '') return this.#distrust('other_epoch')
    if (proof.seq > head.seq) return 'behind'
    // Old news of a lower head is no contradiction, it is only late. New news of one is: the log
    // would have become shorter.
    if (proof.seq < head.seq)
      return proof.asOfMs <= this.#age.asOfMs ? 'outdated' : this.#distrust('lower_head')
    if (proof.hash !== head.hash) return this.#distrust('fork')
    const isNewer = proof.asOfMs > this.#age.asOfMs
    if (!isNewer && this.#pending === undefined) return 'outdated'
    if (head.epoch === '') this.#proven.head = { ...head, epoch: proof.epoch }
    this.#promote(proof.asOfMs)
    this.#hasProof = true
    if (isNewer) this.#maxAgeMs = proof.maxAgeSeconds * 1000
    // Does nothing with an older time: another node, whose clock is slower, has signed the head of
    // the pending entries.
    this.#age.confirm(proof.asOfMs, received)
    return 'proven'
  }

  /**
   * How old the data may be at most: infinite before the first proof and while the view distrusts
   * itself.
   */
  ageMs(now: Clocks): number {
    return this.#fault === undefined ? this.#age.ageMs(now) : Infinity
  }

  /**
   * Begins to load a snapshot beside the current contents; nothing changes until it is committed.
   */
  beginLoad(head: SnapshotHead): SnapshotLoad {
    const contents = new SiteState(this.#seed, { epoch: head.epoch, seq: head.seq, hash: head.hash })
    let isOpen = true
    return {
      add(line) {
        if (!isOpen) throw new TypeError('the snapshot has been committed')
        contents.add(line, head.as_of)
      },
      commit: (proof, evidence = {}) => {
        if (!isOpen) throw new TypeError('the snapshot has been committed')
        isOpen = false
        const { siteId, epoch, seq, hash } = proof
        const isProofOfThis =
          siteId === head.site_id && epoch === head.epoch && seq === head.seq && hash === head.hash
        if (!isProofOfThis)
          throw new TypeError('commit a snapshot with the proof that checkSnapshot gave for it')
        if (head.site_id !== this.siteId) return 'other_site'
        const fault = this.#hasProof ? this.#unlinked(head, evidence) : undefined
        if (fault !== undefined) return fault
        if (!contents.hasSite) return 'incomplete'
        return this.#replace(contents, proof.asOfMs) ? 'loaded' : 'too_many_carried'
      },
    }
  }

  /**
   * Why a snapshot does not follow from the proven head. Within an epoch a log only grows, and
   * another epoch must be announced by signed statements. Entries that were received but never
   * proven do not count: a relay may have made them up.
   */
  #unlinked(
    head: SnapshotHead,
    { epochs = [], hasProvenEntry = false }: LoadEvidence,
  ): Exclude<LoadResult, 'loaded'> | undefined {
    const proven = this.#proven.head
    if (head.epoch !== proven.epoch) {
      const own = epochs.filter(({ site_id }) => site_id === this.siteId)
      return findEpochPath(own, proven.epoch, head.epoch) === undefined ? 'unlinked_epoch' : undefined
    }
    if (head.seq < proven.seq) return 'lower_head'
    if (head.seq === proven.seq) return head.hash === proven.hash ? undefined : 'fork'
    return hasProvenEntry ? undefined : 'unlinked_head'
  }

  /** False, and nothing has changed, when too many proven revocations would have to be carried. */
  #replace(contents: SiteState, asOfMs: number): boolean {
    const { epoch, hash } = this.#proven.head
    const isOtherEpoch = this.#hasProof && contents.head.epoch !== epoch
    // Within an epoch too: that the log extends the proven head is the word of whatever is between
    // here and the service.
    const mayLack = isOtherEpoch || (this.#hasProof && contents.head.hash !== hash)
    const carried = mayLack
      ? carryRevocations(this.#proven, this.#carried, contents, asOfMs)
      : dropRestored(this.#carried, contents, asOfMs)
    if ((carried?.revocations.size ?? 0) > CARRIED_REVOCATIONS_MAX) return false
    // That a key is compromised is final, in every epoch.
    this.#carriedKeyCount = contents.issuers.adoptCompromised(this.#proven.issuers)
    this.#carried = carried
    this.#proven = contents
    this.#hasProof = true
    this.#pending = undefined
    this.#fault = undefined
    // The age of one epoch's data says nothing about another's. Within an epoch it goes on: the log
    // only grows.
    if (isOtherEpoch) this.#age.restart()
    return true
  }

  #promote(asOfMs: number): void {
    if (this.#pending === undefined) return
    const { entries } = this.#pending
    const carried = this.#carried
    for (const entry of entries) this.#proven.apply(entry)
    this.#pending = undefined
    if (carried !== undefined && entries.some((entry) => affectsCarried(carried, entry)))
      this.#carried = dropRestored(carried, this.#proven, asOfMs)
  }

  get #latest(): SiteState {
    return this.#pending?.latest ?? this.#proven
  }

  /** The hash of the entry at this seq, if it is the proven head or came after it. */
  #hashAt(seq: number): string | undefined {
    return seq === this.#proven.head.seq ? this.#proven.head.hash : this.#pending?.hashAt(seq)
  }

  #distrust(fault: ViewFault): ViewFault {
    this.#fault = fault
    return fault
  }
}

/** A snapshot on its way in. Dropping it half-way leaves no trace. */
export interface SnapshotLoad {
  add(line: SnapshotLine): void
  /**
   * Puts the snapshot in the place of all that the view knew, pending entries included, if it
   * follows from the proven head; otherwise the view stays as it is. `proof` comes from
   * `checkSnapshot`: without one nothing vouches for the lines. Give it to `confirmHead` next:
   * until then the age is that of the last proof of this epoch, or infinite. A proof that is not
   * newer than the last one makes nothing younger.
   */
  commit(proof: ConfirmedHead, evidence?: LoadEvidence): LoadResult
}

function randomSeed(): TableSeed {
  const [low = 0, high = 0] = globalThis.crypto.getRandomValues(new Uint32Array(2))
  return [low, high]
}
