import type { CredentialId, Ppid, SiteId } from '../credential/ids.ts'
import type { SubjectKey } from '../jwt/derived-ids.ts'
import type { OAuthIssuer, SiteData, SiteSettings, TrustedIssuer } from '../verify/trust.ts'
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
import type { OAuthIssuerTable } from './oauth-issuer-table.ts'
import { PENDING_ENTRIES_MAX, PendingEntries } from './pending-entries.ts'
import type { LogHead, Revocation } from './position.ts'
import { createTableSeed, type TableSeed } from './revoked-table.ts'
import { SiteState } from './site-state.ts'
import type { SnapshotHead, SnapshotLine } from './snapshot.ts'
import { stricterIssuer, stricterOAuthIssuer, stricterSettings } from './stricter.ts'

/**
 * Why a view does not trust itself any more: it received something that contradicts the log it has
 * followed so far. `too_many_pending`: more than `PENDING_ENTRIES_MAX` entries arrived without a
 * proof.
 */
export type ViewFault =
  | 'other_site'
  | 'other_epoch'
  | 'hole'
  | 'wrong_hash'
  | 'fork'
  | 'lower_head'
  | 'too_many_pending'

/** `known`: the entry was applied before, so nothing changes. */
export type ApplyResult = 'applied' | 'known' | ViewFault

/**
 * `behind`: the log has entries that are not applied yet. `outdated`: a newer proof was confirmed
 * before. `too_early`: the time of the proof is in the future. None of these three changes the
 * view.
 */
export type ConfirmResult = 'proven' | 'behind' | 'outdated' | 'too_early' | ViewFault

/**
 * `incomplete`: the snapshot has no line about the site. `unlinked_epoch`: no signed statements
 * lead from the proven epoch to the epoch of the snapshot. `unlinked_head`: there is no evidence
 * that it extends the proven head. `too_many_carried`: it lacks more proven revocations than a view
 * can carry.
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
   * For tests that need the same tables every time. Random by default, which is required when ids
   * come from outside.
   */
  readonly seed?: TableSeed
  /**
   * Treats every entry as proven. Only for a node that reads its own store and has checked the hash
   * chain. A verifier that receives entries over a network must not set it.
   */
  readonly entriesAreProven?: boolean
  /** The proven state to begin with, made with the same seed. For `beginRestore`. */
  readonly state?: SiteState
}

/**
 * Evidence that a snapshot continues the log after the proven head. A view without a proven head
 * needs none.
 */
export interface LoadEvidence {
  /** Statements of this site with verified signatures. Required for a snapshot of another epoch. */
  readonly epochs?: readonly EpochStatement[]
  /**
   * Required for a higher head in the same epoch whose base is below the proven head: the service
   * returned the entry at the proven seq, and its hash is the proven hash.
   */
  readonly hasProvenEntry?: boolean
  /**
   * The time of this machine. If it is earlier than that of the proof, it says which proven
   * revocations no longer matter: the clock of the service may be years ahead. Default: the time of
   * the proof.
   */
  readonly nowMs?: number
}

/**
 * The state of one site, built from its log: entry by entry, or from a snapshot. The service and
 * the SDK use the same class, so they always agree. After data that contradicts the log, the age is
 * infinite until a snapshot is loaded.
 *
 * Entries have no signatures, so a view keeps two states: one at the last proven head, and one with
 * all received entries applied. Every answer is the stricter of the two. A revocation takes effect
 * when its entry arrives, a grant when a signed head covers it.
 */
export class SiteView implements SiteData {
  readonly siteId: SiteId
  readonly #seed: TableSeed
  readonly #age = new Freshness()
  readonly #entriesAreProven: boolean
  /** The state at the last proven head. */
  #proven: SiteState
  /** False before the first proof. `#proven` is then the empty log. */
  #hasProof = false
  #pending: PendingEntries | undefined
  #carried: CarriedRevocations | undefined
  #carriedKeyCount = 0
  #maxAgeMs = Infinity
  #fault: ViewFault | undefined

  constructor({ siteId, seed = createTableSeed(), entriesAreProven = false, state }: SiteViewOptions) {
    this.siteId = siteId
    this.#seed = seed
    this.#entriesAreProven = entriesAreProven
    this.#proven = state ?? new SiteState(seed, { epoch: '', seq: 0, hash: GENESIS_HASH })
    this.#hasProof = state !== undefined
  }

  /**
   * The last received entry, proven or not. `epoch` is empty until an entry or a proof names it.
   */
  get head(): LogHead {
    return this.#latest.head
  }

  /** The highest head confirmed by a proof; undefined before the first proof. */
  get provenHead(): LogHead | undefined {
    return this.#hasProof ? this.#proven.head : undefined
  }

  /**
   * The maximum age that the last proven head allows for this data; infinite before the first
   * proof.
   */
  get maxAgeMs(): number {
    return this.#maxAgeMs
  }

  /** The strictest settings until the first entry, which is always `site.changed`. */
  get settings(): SiteSettings {
    const { settings } = this.#proven
    if (this.#pending === undefined) return settings
    const latest = this.#pending.latest.settings
    return latest === settings ? settings : stricterSettings(settings, latest)
  }

  get trusted(): boolean {
    return this.#fault === undefined
  }

  /** Undefined while the view is trusted. */
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
   * The number of proven revocations that the log has lost and that stay in effect in this view.
   */
  get carriedRevocationCount(): number {
    return (this.#carried?.revocations.size ?? 0) + this.#carriedKeyCount
  }

  /** The proven issuers. `toStateLines` writes them to a snapshot. */
  get issuers(): IssuerTable {
    return this.#proven.issuers
  }

  /** The proven cut-offs of issuers, and under the empty name that of the site. */
  get cutOffs(): ReadonlyMap<string, number> {
    return this.#proven.revocations.cutOffs
  }

  issuer(issuer: string): TrustedIssuer | undefined {
    const known = this.#proven.issuers.trusted(issuer)
    if (known === undefined || this.#pending === undefined) return known
    const latest = this.#pending.latest.issuers.trusted(issuer)
    return latest && stricterIssuer(known, latest)
  }

  /** While an entry about the issuer is not proven, both its settings must be the same. */
  oauthIssuer(issuer: string): OAuthIssuer | undefined {
    const known = this.#proven.oauthIssuers.trusted(issuer)
    if (known === undefined || this.#pending === undefined) return known
    const latest = this.#pending.latest.oauthIssuers.trusted(issuer)
    return latest && stricterOAuthIssuer(known, latest)
  }

  get subjectKey(): SubjectKey | undefined {
    return this.#proven.subjectKey
  }

  /** For the service, which does not load snapshots. */
  set subjectKey(key: SubjectKey | undefined) {
    this.#proven.subjectKey = key
  }

  get oauthIssuers(): OAuthIssuerTable {
    return this.#proven.oauthIssuers
  }

  // Asking the states one after the other gives the stricter answer: everything is revoked that one
  // of them revokes, and a pending reinstatement does not change the proven state.

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

  holderRevocation(thumbprint: string): Revocation | undefined {
    const { revocations } = this.#proven
    return (
      revocations.holder(thumbprint) ??
      this.#pending?.latest.revocations.holder(thumbprint) ??
      this.#carried?.revocations.holder(thumbprint)
    )
  }

  cutOff(issuer: string, createdMs: number): Revocation | undefined {
    const { revocations } = this.#proven
    return (
      revocations.cutOff(issuer, createdMs) ??
      this.#pending?.latest.revocations.cutOff(issuer, createdMs) ??
      this.#carried?.revocations.cutOff(issuer, createdMs)
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
   * Set if the site no longer trusts this issuer. Undefined for an issuer that it never trusted.
   */
  issuerRevocation(issuer: string): Revocation | undefined {
    return (
      this.#proven.issuers.issuerRevocation(issuer) ?? this.#pending?.latest.issuers.issuerRevocation(issuer)
    )
  }

  /**
   * Set if the key is compromised, even if its issuer is not trusted or does not list it any more.
   */
  keyRevocation(issuer: string, keyId: string): Revocation | undefined {
    return (
      this.#proven.issuers.keyRevocation(issuer, keyId) ??
      this.#pending?.latest.issuers.keyRevocation(issuer, keyId)
    )
  }

  /**
   * Applies the next entry. An entry that was applied before is ignored, because delivery is at
   * least once. An entry that does not continue the log is a fault: neither it nor any later entry
   * is applied.
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
   * Applies a proof of the head. Its signature must be verified already. If the proof is for
   * exactly the applied entries, they become proven and the age is reset. A proof that contradicts
   * the log is a fault: another hash, another epoch, or a newer proof for a lower head.
   */
  confirmHead(proof: ConfirmedHead, received: Clocks): ConfirmResult {
    if (this.#fault !== undefined) return this.#fault
    const { head } = this
    if (proof.siteId !== this.siteId) return this.#distrust('other_site')
    if (!(proof.asOfMs - received.wallMs <= AS_OF_AHEAD_MS_MAX)) return 'too_early'
    if (proof.epoch !== head.epoch && head.epoch !== '') return this.#distrust('other_epoch')
    if (proof.seq > head.seq) return 'behind'
    // An old proof of a lower head is only late. A new one is a contradiction, because a log never
    // gets shorter.
    if (proof.seq < head.seq)
      return proof.asOfMs <= this.#age.asOfMs ? 'outdated' : this.#distrust('lower_head')
    if (proof.hash !== head.hash) return this.#distrust('fork')
    const isNewer = proof.asOfMs > this.#age.asOfMs
    if (!isNewer && this.#pending === undefined) return 'outdated'
    if (head.epoch === '') this.#proven.head = { ...head, epoch: proof.epoch }
    this.#promote(proof.asOfMs)
    this.#hasProof = true
    if (isNewer) this.#maxAgeMs = proof.maxAgeSeconds * 1000
    // Ignores an older time. It occurs when a node with a slower clock signed the pending head.
    this.#age.confirm(proof.asOfMs, received)
    return 'proven'
  }

  /**
   * An upper bound for the age of the data. Infinite before the first proof and while the view is
   * not trusted.
   */
  ageMs(now: Clocks): number {
    return this.#fault === undefined ? this.#age.ageMs(now) : Infinity
  }

  /** Starts loading a snapshot. The view does not change before `commit`. */
  beginLoad(head: SnapshotHead): SnapshotLoad {
    const state = new SiteState(this.#seed, { epoch: head.epoch, seq: head.seq, hash: head.hash })
    let isOpen = true
    return {
      add(line) {
        if (!isOpen) throw new TypeError('the snapshot has been committed')
        state.add(line, head.as_of)
      },
      commit: (proof, evidence = {}) => {
        if (!isOpen) throw new TypeError('the snapshot has been committed')
        isOpen = false
        const { siteId, epoch, seq, hash } = proof
        const isProofOfThis =
          siteId === head.site_id && epoch === head.epoch && seq === head.seq && hash === head.hash
        if (!isProofOfThis)
          throw new TypeError('commit a snapshot with the proof that checkSnapshot returned for it')
        if (head.site_id !== this.siteId) return 'other_site'
        const fault = this.#hasProof ? this.#findUnlinked(head, evidence) : undefined
        if (fault !== undefined) return fault
        if (!state.hasSite) return 'incomplete'
        const { asOfMs } = proof
        const times = { asOfMs, nowMs: Math.min(asOfMs, evidence.nowMs ?? asOfMs) }
        return this.#replace(state, times) ? 'loaded' : 'too_many_carried'
      },
    }
  }

  /**
   * Why a snapshot does not continue the log after the proven head. A log only grows within its
   * epoch, and signed statements must announce a new epoch. Entries that were never proven are
   * ignored here, because a relay may have forged them.
   */
  #findUnlinked(
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
    if (proven.seq === head.base.seq) return head.base.hash === proven.hash ? undefined : 'fork'
    // The service has removed the entry. What the snapshot lacks is carried.
    if (proven.seq < head.base.seq) return undefined
    return hasProvenEntry ? undefined : 'unlinked_head'
  }

  /**
   * Returns false and changes nothing if more than `CARRIED_REVOCATIONS_MAX` revocations would be
   * carried.
   */
  #replace(state: SiteState, times: { readonly asOfMs: number; readonly nowMs: number }): boolean {
    const { epoch, hash } = this.#proven.head
    const isOtherEpoch = this.#hasProof && state.head.epoch !== epoch
    // Also within an epoch: whether the log extends the proven head is only the claim of the relay
    // that sent it.
    const mayLack = isOtherEpoch || (this.#hasProof && state.head.hash !== hash)
    const carried = mayLack
      ? carryRevocations(this.#proven, this.#carried, state, times)
      : dropRestored(this.#carried, state, times.nowMs)
    if ((carried?.revocations.size ?? 0) > CARRIED_REVOCATIONS_MAX) return false
    // A compromised key stays compromised in every epoch.
    this.#carriedKeyCount =
      state.issuers.adoptCompromised(this.#proven.issuers) +
      state.oauthIssuers.adoptCompromised(this.#proven.oauthIssuers)
    this.#carried = carried
    this.#proven = state
    this.#hasProof = true
    this.#pending = undefined
    this.#fault = undefined
    // The age of another epoch is unrelated. Within an epoch it continues, because the log only
    // grows.
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

  /** Known for the proven head and the pending entries only. */
  #hashAt(seq: number): string | undefined {
    return seq === this.#proven.head.seq ? this.#proven.head.hash : this.#pending?.hashAt(seq)
  }

  #distrust(fault: ViewFault): ViewFault {
    this.#fault = fault
    return fault
  }
}

/** A snapshot that is being loaded. Dropping it before `commit` has no effect. */
export interface SnapshotLoad {
  add(line: SnapshotLine): void
  /**
   * Replaces the state of the view, including pending entries, if the snapshot continues the log
   * after the proven head. Otherwise the view does not change. `proof` comes from `checkSnapshot`.
   * Pass it to `confirmHead` afterwards: until then the age is that of the last proof in this
   * epoch, or infinite. A proof that is not newer than the last one does not reset the age.
   */
  commit(proof: ConfirmedHead, evidence?: LoadEvidence): LoadResult
}
