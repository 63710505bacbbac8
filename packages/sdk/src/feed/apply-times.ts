import {
  type CheckedEntry,
  type CredentialId,
  type LogPosition,
  type Ppid,
  type Revocation,
  SiteView,
  type SiteViewOptions,
} from '@countersign/core'
import type { GuardClock } from './clock.ts'

/** An entry, and how long ago something happened. Durations need no common clock. */
export interface Ago {
  readonly seq: number
  readonly ms: number
}

/** What a verifier reports about the speed of revocations, with an acknowledgement. */
export interface Timings {
  /** All entries up to this one were applied so long ago or earlier, oldest first. */
  readonly applied: readonly Ago[]
  /** What this entry revoked was first denied so long ago. */
  readonly denied: readonly Ago[]
}

/**
 * Remembers when entries took effect in this verifier, and when each first denied something. It
 * keeps the ids of the last revocations, and reports numbers of entries only.
 */
export interface ApplyTimes {
  /** The entry has just been applied: what it revokes is denied from now on. */
  addEntry(entry: CheckedEntry): void
  /** A snapshot up to this position has just been loaded. */
  addSnapshot(head: LogPosition): void
  /**
   * A revocation has just denied something. Returns the number of its entry if this is the first
   * time.
   */
  addDenial(revoked: string): number | undefined
  /** What was not reported yet about the entries up to this position. */
  read(head: LogPosition): Timings
  /** The service has received these. */
  confirm(sent: Timings): void
}

/** Entries that are applied within this time are reported together, with the time of the last. */
const GROUP_MS = 16
/** As in the contract. */
const REPORTED_MAX = 16
/** Revocations whose first denial is reported: a request with several targets appends 200. */
const REVOCATIONS_MAX = 512

interface Mark {
  seq: number
  atMs: number
  readonly sinceMs: number
}

export function createApplyTimes(clock: Pick<GuardClock, 'read'>): ApplyTimes {
  let epoch = ''
  let marks: Mark[] = []
  /** The entry that revoked something, by name; the oldest first. */
  const revocations = new Map<string, number>()
  let denials: { readonly seq: number; readonly atMs: number }[] = []

  const begin = (next: string) => {
    if (next === epoch) return
    epoch = next
    marks = []
    revocations.clear()
    denials = []
  }
  const addMark = (seq: number) => {
    const atMs = clock.read().monotonicMs
    const last = marks.at(-1)
    if (last !== undefined && atMs - last.sinceMs < GROUP_MS) Object.assign(last, { seq, atMs })
    else marks = [...marks.slice(1 - REPORTED_MAX), { seq, atMs, sinceMs: atMs }]
  }
  const toAgo = ({ seq, atMs }: { readonly seq: number; readonly atMs: number }): Ago => ({
    seq,
    ms: Math.max(0, Math.floor(clock.read().monotonicMs - atMs)),
  })

  return {
    addEntry(entry) {
      begin(entry.epoch)
      addMark(entry.seq)
      const revoked = nameRevoked(entry)
      if (revoked === undefined) return
      revocations.delete(revoked)
      revocations.set(revoked, entry.seq)
      const [oldest] = revocations.keys()
      if (revocations.size > REVOCATIONS_MAX && oldest !== undefined) revocations.delete(oldest)
    },
    addSnapshot(head) {
      begin(head.epoch)
      addMark(head.seq)
    },
    addDenial(revoked) {
      const seq = revocations.get(revoked)
      if (seq === undefined) return undefined
      revocations.delete(revoked)
      denials = [...denials.slice(-REVOCATIONS_MAX), { seq, atMs: clock.read().monotonicMs }]
      return seq
    },
    read(head) {
      if (head.epoch !== epoch) return { applied: [], denied: [] }
      const isCovered = ({ seq }: { readonly seq: number }) => seq <= head.seq
      return {
        applied: marks.filter(isCovered).map(toAgo),
        denied: denials
          .filter(isCovered)
          .slice(0, REPORTED_MAX)
          .sort((one, other) => one.seq - other.seq)
          .map(toAgo),
      }
    },
    confirm({ applied, denied }) {
      const lastSeq = applied.at(-1)?.seq ?? 0
      marks = marks.filter(({ seq }) => seq > lastSeq)
      const seqs = new Set(denied.map(({ seq }) => seq))
      denials = denials.filter(({ seq }) => !seqs.has(seq))
    },
  }
}

/** A name for what an entry revokes; undefined for entries that end access in another way. */
function nameRevoked({ kind, body }: CheckedEntry): string | undefined {
  if (kind === 'site.cut_off') return 'site'
  if (kind === 'issuer.cut_off') return `issuer ${body.issuer}`
  if (kind === 'user.revoked' || kind === 'user.signed_out') return `user ${body.ppid}`
  if (kind === 'credential.revoked') return `credential ${body.credential_id}`
  if (kind === 'token.revoked') return `token ${body.token_sha256}`
  return kind === 'holder.revoked' ? `holder ${body.thumbprint}` : undefined
}

/** A view that reports which revocations it is asked about: each of them denies something. */
export class WatchedView extends SiteView {
  readonly #onDenial: (revoked: string) => void

  constructor(options: SiteViewOptions, onDenial: (revoked: string) => void) {
    super(options)
    this.#onDenial = onDenial
  }

  override credentialRevocation(id: CredentialId): Revocation | undefined {
    const found = super.credentialRevocation(id)
    if (found !== undefined) this.#onDenial(`credential ${id}`)
    return found
  }

  override userRevocation(ppid: Ppid, createdMs: number): Revocation | undefined {
    const found = super.userRevocation(ppid, createdMs)
    if (found !== undefined) this.#onDenial(`user ${ppid}`)
    return found
  }

  override holderRevocation(thumbprint: string): Revocation | undefined {
    const found = super.holderRevocation(thumbprint)
    if (found !== undefined) this.#onDenial(`holder ${thumbprint}`)
    return found
  }

  override tokenRevocation(tokenSha256: string): Revocation | undefined {
    const found = super.tokenRevocation(tokenSha256)
    if (found !== undefined) this.#onDenial(`token ${tokenSha256}`)
    return found
  }

  override cutOff(issuer: string, createdMs: number): Revocation | undefined {
    const found = super.cutOff(issuer, createdMs)
    if (found !== undefined) this.#onDenial(found.by === 'site' ? 'site' : `issuer ${issuer}`)
    return found
  }
}
