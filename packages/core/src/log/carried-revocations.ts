import type { CheckedEntry } from './chain.ts'
import { REVOCATIONS_KEPT_MS, toHorizon } from './horizon.ts'
import type { Revocations } from './revocations.ts'
import type { SiteState } from './site-state.ts'

/** A view rejects a snapshot if it would have to carry more revocations than this. */
export const CARRIED_REVOCATIONS_MAX = 1_000_000

/**
 * Proven revocations that the log has lost, because its epoch began from an older backup or because
 * its store was set back. They stay in effect in this view. A service also removes revocations that
 * no longer matter from its log; these are not carried.
 */
export interface CarriedRevocations {
  readonly revocations: Revocations
  readonly untilMs: number
}

/**
 * The revocations to carry when a snapshot with the state `next` replaces `proven`; undefined if
 * `next` has all of them. What no longer matters at `nowMs` is not carried. It is not later than
 * `asOfMs`, the time of the snapshot.
 */
export function carryRevocations(
  proven: SiteState,
  carried: CarriedRevocations | undefined,
  next: SiteState,
  { asOfMs, nowMs }: { readonly asOfMs: number; readonly nowMs: number },
): CarriedRevocations | undefined {
  const revocations = proven.revocations.missingFrom(next.revocations, toHorizon(nowMs))
  const earlier = dropRestored(carried, next, nowMs)
  if (revocations.size === 0) return earlier
  if (earlier !== undefined) revocations.addAll(earlier.revocations)
  return { revocations, untilMs: asOfMs + REVOCATIONS_KEPT_MS }
}

/**
 * Whether an entry may make a carried revocation obsolete. Only then are all of them compared with
 * the log.
 */
export function affectsCarried({ revocations }: CarriedRevocations, { kind, body }: CheckedEntry): boolean {
  switch (kind) {
    case 'credential.revoked':
      return revocations.credential(body.credential_id) !== undefined
    case 'token.revoked':
      return revocations.token(body.token_sha256) !== undefined
    case 'holder.revoked':
      return revocations.holder(body.thumbprint) !== undefined
    case 'issuer.cut_off':
      return revocations.cutOff(body.issuer, Number.NEGATIVE_INFINITY) !== undefined
    case 'site.cut_off':
      return revocations.cutOff('', Number.NEGATIVE_INFINITY) !== undefined
    case 'user.revoked':
    case 'user.signed_out':
    case 'user.reinstated':
      return revocations.user(body.ppid, Number.NEGATIVE_INFINITY) !== undefined
    default:
      return false
  }
}

/**
 * The carried revocations that `current` still lacks and that still matter. The log may have
 * revoked the others again, or reinstated the user.
 */
export function dropRestored(
  carried: CarriedRevocations | undefined,
  current: SiteState,
  asOfMs: number,
): CarriedRevocations | undefined {
  if (carried === undefined || asOfMs > carried.untilMs) return undefined
  const revocations = carried.revocations.missingFrom(current.revocations, toHorizon(asOfMs))
  return revocations.size === 0 ? undefined : { revocations, untilMs: carried.untilMs }
}
