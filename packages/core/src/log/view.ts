import type { CredentialId, Ppid, SiteId } from '../credential/ids.ts'
import type { LogHead, Revocation, SiteKnowledge, SiteSettings, TrustedIssuer } from '../verify/trust.ts'
import { type CheckedEntry, GENESIS_HASH } from './chain.ts'
import { AS_OF_AHEAD_MS_MAX, type Clocks, HeadAge, type HeadProof } from './head-age.ts'
import type { IssuerRegister } from './issuer-register.ts'
import type { TableSeed } from './revoked-table.ts'
import { SiteContents } from './site-contents.ts'
import type { SnapshotHead, SnapshotLine } from './snapshot.ts'

/** What makes a view distrust itself: what it was shown cannot be the log that it has followed so far. */
export type ViewFault = 'other_site' | 'other_epoch' | 'hole' | 'wrong_hash' | 'fork' | 'lower_head'

/** `known`: the entry came before and changes nothing. */
export type Applied = 'applied' | 'known' | ViewFault

/**
 * `behind`: the log goes on after what has been applied, so nothing is proven. `outdated`: a newer proof is known. `too_early`: its time is
 * still to come. None of the three changes anything.
 */
export type Proven = 'proven' | 'behind' | 'outdated' | 'too_early' | ViewFault

/** `incomplete`: the snapshot says nothing about the site itself. */
export type Loaded = 'loaded' | 'incomplete' | ViewFault

export interface SiteViewOptions {
  readonly siteId: SiteId
  /** For tests that want the same tables each time. Random otherwise, as it must be where ids come from outside. */
  readonly seed?: TableSeed
}

/** All that a credential or token stands on. */
export interface Standing {
  /** The credential itself, then its parents up to the root. */
  readonly credentialIds: readonly CredentialId[]
  readonly ppid: Ppid
  /** When the oldest of them was signed. */
  readonly createdMs: number
  /** Of the root. */
  readonly issuer: string
  readonly keyId: string
}

/** A view of a site's log at its very beginning: it trusts nobody. */
export function createSiteView(options: SiteViewOptions): SiteView {
  return new SiteView(options)
}

/**
 * What a verifier knows about a site: the log, applied entry by entry or loaded from a snapshot. The same class in the service and in the
 * SDK, so the two cannot disagree. Once it has been shown something that cannot be its log, its age is infinite until it is loaded anew.
 */
export class SiteView implements SiteKnowledge {
  readonly siteId: SiteId
  readonly #seed: TableSeed
  readonly #age = new HeadAge()
  #contents: SiteContents
  /** The furthest that a proof has confirmed. Entries carry no signature of their own, so what was only applied may not be the site's. */
  #proven: LogHead | undefined
  #fault: ViewFault | undefined

  constructor({ siteId, seed = randomSeed() }: SiteViewOptions) {
    this.siteId = siteId
    this.#seed = seed
    this.#contents = new SiteContents(seed, { epoch: '', seq: 0, hash: GENESIS_HASH })
  }

  /** The last entry applied. The epoch is empty until the first entry or proof names it. */
  get head(): LogHead {
    return this.#contents.head
  }

  /** As strict as can be until the log has said something: a site's first entry is `site.changed`. */
  get settings(): SiteSettings {
    return this.#contents.settings
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
    return this.#contents.revocations.size
  }

  /** For whoever writes down what the view knows; see `stateLines`. */
  get register(): IssuerRegister {
    return this.#contents.issuers
  }

  issuer(issuer: string): TrustedIssuer | undefined {
    return this.#contents.issuers.trusted(issuer)
  }

  credentialRevocation(id: CredentialId): Revocation | undefined {
    return this.#contents.revocations.credential(id)
  }

  userRevocation(ppid: Ppid, createdMs: number): Revocation | undefined {
    return this.#contents.revocations.user(ppid, createdMs)
  }

  tokenRevocation(tokenSha256: string): Revocation | undefined {
    return this.#contents.revocations.token(tokenSha256)
  }

  /** That the site no longer trusts an issuer that it did trust. An issuer it has never trusted is not revoked, it is unknown. */
  issuerRevocation(issuer: string): Revocation | undefined {
    return this.#contents.issuers.issuerRevocation(issuer)
  }

  /** That a key is compromised, whether or not its issuer is trusted or still lists it. */
  keyRevocation(issuer: string, keyId: string): Revocation | undefined {
    return this.#contents.issuers.keyRevocation(issuer, keyId)
  }

  /** The first thing that takes away what stands on all of these, and for a credential which one; undefined while nothing does. */
  revocationOf({
    credentialIds,
    ppid,
    createdMs,
    issuer,
    keyId,
  }: Standing): (Revocation & { readonly credentialId?: CredentialId }) | undefined {
    for (const credentialId of credentialIds) {
      const revocation = this.credentialRevocation(credentialId)
      if (revocation !== undefined) return { ...revocation, credentialId }
    }
    return this.userRevocation(ppid, createdMs) ?? this.keyRevocation(issuer, keyId) ?? this.issuerRevocation(issuer)
  }

  /**
   * Takes the next entry in. What has been applied before may come again, since delivery is at least once. Anything that does not continue
   * the log is a fault and is not applied, and neither is anything after it.
   */
  apply(entry: CheckedEntry): Applied {
    if (this.#fault !== undefined) return this.#fault
    const { head } = this.#contents
    if (entry.site_id !== this.siteId) return this.#distrust('other_site')
    if (entry.epoch !== head.epoch && head.epoch !== '') return this.#distrust('other_epoch')
    if (entry.seq <= head.seq) return entry.seq === head.seq && entry.hash !== head.hash ? this.#distrust('fork') : 'known'
    if (entry.seq !== head.seq + 1) return this.#distrust('hole')
    if (entry.prev_hash !== head.hash) return this.#distrust('wrong_hash')
    this.#contents.apply(entry)
    return 'applied'
  }

  /**
   * Takes a proof of the head in; its signature has been checked. Only a proof of exactly what has been applied makes the view younger. One
   * that cannot be true of the log followed so far is a fault: other hash, other epoch, or a lower head than a time before had.
   */
  proveHead(proof: HeadProof, received: Clocks): Proven {
    if (this.#fault !== undefined) return this.#fault
    const { head } = this.#contents
    if (proof.siteId !== this.siteId) return this.#distrust('other_site')
    if (!(proof.asOfMs - received.wallMs <= AS_OF_AHEAD_MS_MAX)) return 'too_early'
    if (proof.epoch !== head.epoch && head.epoch !== '') return this.#distrust('other_epoch')
    if (proof.seq > head.seq) return 'behind'
    // Old news of a lower head is no contradiction, it is only late. New news of one is: the log would have become shorter.
    if (proof.seq < head.seq) return proof.asOfMs <= this.#age.asOfMs ? 'outdated' : this.#distrust('lower_head')
    if (proof.hash !== head.hash) return this.#distrust('fork')
    if (proof.asOfMs <= this.#age.asOfMs) return 'outdated'
    if (head.epoch === '') this.#contents.head = { ...head, epoch: proof.epoch }
    this.#proven = this.#contents.head
    this.#age.prove(proof.asOfMs, received)
    return 'proven'
  }

  /** How old the knowledge may be at most: infinite before the first proof and while the view distrusts itself. */
  ageMs(now: Clocks): number {
    return this.#fault === undefined ? this.#age.ageMs(now) : Infinity
  }

  /** Begins to load a snapshot beside what the view knows now; nothing changes until it is committed. */
  beginLoad(head: SnapshotHead): SnapshotLoad {
    const contents = new SiteContents(this.#seed, { epoch: head.epoch, seq: head.seq, hash: head.hash })
    let isOpen = true
    return {
      add(line) {
        if (!isOpen) throw new TypeError('the snapshot has been committed')
        contents.add(line, head.as_of)
      },
      commit: (proof) => {
        if (!isOpen) throw new TypeError('the snapshot has been committed')
        isOpen = false
        const { siteId, epoch, seq, hash } = proof
        const isProofOfThis = siteId === head.site_id && epoch === head.epoch && seq === head.seq && hash === head.hash
        if (!isProofOfThis) throw new TypeError('commit a snapshot with the proof that checkSnapshot gave for it')
        if (head.site_id !== this.siteId) return 'other_site'
        // Within one epoch a log only grows. A snapshot from before would bring back what has been revoked since. Entries that were applied
        // but never proven bind only as long as nothing has contradicted them.
        for (const known of [this.#proven, this.#fault === undefined ? this.#contents.head : undefined]) {
          if (known?.epoch !== head.epoch) continue
          if (head.seq < known.seq) return 'lower_head'
          if (head.seq === known.seq && head.hash !== known.hash) return 'fork'
        }
        if (!contents.hasSite) return 'incomplete'
        this.#contents = contents
        this.#fault = undefined
        this.#age.forget()
        return 'loaded'
      },
    }
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
   * Puts the snapshot in the place of all that the view knew, if it may stand there; otherwise the view stays as it is. `proof` is what
   * `checkSnapshot` has made of it: without one nobody vouches for the lines. Give it to `proveHead` next: until then the age is infinite.
   */
  commit(proof: HeadProof): Loaded
}

function randomSeed(): TableSeed {
  const [low = 0, high = 0] = globalThis.crypto.getRandomValues(new Uint32Array(2))
  return [low, high]
}
