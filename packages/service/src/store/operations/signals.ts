import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import type { SignalType } from '@countersign/core/contract'
import { number, text } from '../columns.ts'
import type { Logged } from '../logged.ts'
import { lock, row, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { signOutUsers } from './cut-offs.ts'
import { revokeCredential, revokeUser } from './revocations.ts'
import { credentialLock, userLock } from './shared/chain-locks.ts'
import { insertRow, requireIntact } from './shared/mac-rows.ts'
import { AUDIT_REJECTED, recordAudit } from './shared/record-audit.ts'

export type SignalOutcome = 'session_ended' | 'signed_out' | 'disabled' | 'recorded'

/** What a signal does. No effect grants or reinstates. */
export type SignalEffect =
  | { readonly kind: 'session_ended'; readonly credentialId: CredentialId }
  | { readonly kind: 'signed_out'; readonly ppid: Ppid; readonly beforeMs: number }
  | { readonly kind: 'disabled'; readonly ppid: Ppid }

/** A signal whose sender has been verified. */
export interface NewSignal {
  readonly siteId: SiteId
  readonly type: SignalType
  /** Of the sender. */
  readonly issuer: string
  readonly jti: string
  readonly bodySha256: string
  /** The name of the event, for the audit. */
  readonly event: string
  readonly outcome: SignalOutcome
  /** Empty if and only if the signal is only recorded. */
  readonly effects: readonly SignalEffect[]
  /** Until when the signal is kept to recognize repetitions. */
  readonly expiresAtMs: number
}

/** A user or session that the tables have as revoked, and whether the log confirms that. */
export interface KnownRevocation {
  readonly id: string
  readonly seq: number
  readonly isInLog: boolean
}

/**
 * `known`: nothing was written, because the tables have these as revoked already. They carry no
 * MAC, so the caller compares them with its view of the log and asks again.
 */
export type ReceivedSignal =
  | Logged<{ readonly state: 'received' | 'repeated'; readonly outcome: SignalOutcome }>
  | { readonly state: 'other_body' }
  | { readonly state: 'known'; readonly revoked: readonly Omit<KnownRevocation, 'isInLog'>[] }

/**
 * Acts on a signal and records it, all in one transaction. A signal whose `jti` is on record
 * changes nothing.
 */
export function* receiveSignal(
  signal: NewSignal,
  context: AuditContext,
  known: readonly KnownRevocation[] = [],
): Transaction<ReceivedSignal> {
  const { siteId, type, issuer, jti, bodySha256, outcome, effects } = signal
  yield* lock(`signal ${siteId} ${issuer} ${jti}`, ...effects.map((effect) => toLock(siteId, effect)))
  const before = yield* row(
    'SELECT * FROM signals WHERE site_id = $1 AND issuer = $2 AND jti = $3',
    siteId,
    issuer,
    jti,
  )
  if (before !== undefined) {
    yield* requireIntact('signals', before)
    if (text(before, 'type') !== type || text(before, 'body_sha256') !== bodySha256)
      return { state: 'other_body' }
    return { state: 'repeated', outcome: text(before, 'outcome') as SignalOutcome, position: 0 }
  }
  const revoked = yield* findRevoked(siteId, effects)
  const isKnown = ({ id, seq }: { id: string; seq: number }) =>
    known.some((each) => each.id === id && each.seq === seq)
  if (!revoked.every(isKnown)) return { state: 'known', revoked }
  yield* insertRow('signals', {
    site_id: siteId,
    issuer,
    jti,
    type,
    body_sha256: bodySha256,
    outcome,
    received_at: context.atMs,
    expires_at: signal.expiresAtMs,
  })
  let [position, seq] = [0, 0]
  for (const effect of effects) {
    const done = yield* apply(signal, effect, context, known)
    position = Math.max(position, done.position)
    seq = Math.max(seq, done.seq)
  }
  yield* recordAudit({
    siteId,
    action: `signal.${type}`,
    target: jti,
    outcome: outcome === 'recorded' ? 'unchanged' : 'done',
    reason: signal.event,
    ...(seq === 0 ? {} : { seq }),
    detail: { effect: outcome },
    context,
  })
  return { state: 'received', outcome, position }
}

/** Records a signal of a verified sender that names no user or session of the site. */
export function* recordUnmappedSignal(
  { siteId, type, jti, event }: Pick<NewSignal, 'siteId' | 'type' | 'jti' | 'event'>,
  context: AuditContext,
): Transaction<void> {
  const detail = { effect: 'subject_unmapped' }
  const action = `signal.${type}`
  yield* recordAudit({ siteId, action, target: jti, outcome: AUDIT_REJECTED, reason: event, detail, context })
}

function* apply(
  { siteId, event }: NewSignal,
  effect: SignalEffect,
  context: AuditContext,
  known: readonly KnownRevocation[],
): Transaction<Logged<{ readonly seq: number }>> {
  const reason = event
  if (effect.kind === 'signed_out') {
    const { ppid, beforeMs } = effect
    const { users, position } = yield* signOutUsers({ siteId, ppids: [ppid], beforeMs, reason }, context)
    return { position, seq: Math.max(...users.map(({ seq }) => seq)) }
  }
  const unconfirmed = known.find(({ id, isInLog }) => id === toId(effect) && !isInLog)
  return effect.kind === 'disabled'
    ? yield* revokeUser({ siteId, ppid: effect.ppid, reason }, context, unconfirmed)
    : yield* revokeCredential({ siteId, credentialId: effect.credentialId, reason }, context, unconfirmed)
}

/** Those that their tables have as revoked. */
function* findRevoked(
  siteId: SiteId,
  effects: readonly SignalEffect[],
): Transaction<readonly { readonly id: string; readonly seq: number }[]> {
  const revoked: { id: string; seq: number }[] = []
  for (const effect of effects) {
    if (effect.kind === 'signed_out') continue
    const id = toId(effect)
    const found =
      effect.kind === 'disabled'
        ? yield* row(
            'SELECT revoked_seq AS seq FROM users WHERE site_id = $1 AND ppid = $2 AND revoked = 1',
            siteId,
            id,
          )
        : yield* row(
            'SELECT seq FROM credential_revocations WHERE site_id = $1 AND credential_id = $2',
            siteId,
            id,
          )
    if (found !== undefined) revoked.push({ id, seq: number(found, 'seq') })
  }
  return revoked
}

function toId(effect: SignalEffect): string {
  return effect.kind === 'session_ended' ? effect.credentialId : effect.ppid
}

function toLock(siteId: SiteId, effect: SignalEffect): string {
  return effect.kind === 'session_ended'
    ? credentialLock(siteId, effect.credentialId)
    : userLock(siteId, effect.ppid)
}
