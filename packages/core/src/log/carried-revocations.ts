import { CREDENTIAL_LIFETIME_SECONDS_MAX } from '../credential/limits.ts'
import type { CheckedEntry } from './chain.ts'
import type { Revocations } from './revocations.ts'
import type { SiteState } from './site-state.ts'
import { TOKEN_REVOCATIONS_KEPT_MS } from './snapshot.ts'

/** A view that would have to carry more than this does not follow the new epoch. */
export const CARRIED_REVOCATIONS_MAX = 1_000_000
/**
 * After this long every credential that was revoked has expired, and so has every session that
 * began with one.
 */
const CARRIED_MS = (CREDENTIAL_LIFETIME_SECONDS_MAX + 30 * 86_400) * 1000

/**
 * Revocations that were proven and that the log does not have any more: its current epoch began
 * from an older backup, or the store was set back within its epoch. They stay revoked here.
 */
export interface CarriedRevocations {
  readonly revocations: Revocations
  readonly untilMs: number
}

/**
 * What a view has to carry when it replaces `proven` by the contents of a snapshot; undefined when
 * nothing is missing there.
 */
export function carryRevocations(
  proven: SiteState,
  carried: CarriedRevocations | undefined,
  next: SiteState,
  asOfMs: number,
): CarriedRevocations | undefined {
  const revocations = proven.revocations.missingFrom(next.revocations, asOfMs - TOKEN_REVOCATIONS_KEPT_MS)
  const earlier = dropRestored(carried, next, asOfMs)
  if (revocations.size === 0) return earlier
  if (earlier !== undefined) revocations.addAll(earlier.revocations)
  return { revocations, untilMs: asOfMs + CARRIED_MS }
}

/**
 * Whether an entry may settle a carried revocation. Comparing all of them with the log is worth it
 * only then.
 */
export function affectsCarried({ revocations }: CarriedRevocations, { kind, body }: CheckedEntry): boolean {
  switch (kind) {
    case 'credential.revoked':
      return revocations.credential(body.credential_id) !== undefined
    case 'token.revoked':
      return revocations.token(body.token_sha256) !== undefined
    case 'user.revoked':
    case 'user.reinstated':
      return revocations.user(body.ppid, Number.NEGATIVE_INFINITY) !== undefined
    default:
      return false
  }
}

/**
 * What is left of them after the log has gone on to `current`: it may have revoked them again, or
 * have reinstated users.
 */
export function dropRestored(
  carried: CarriedRevocations | undefined,
  current: SiteState,
  asOfMs: number,
): CarriedRevocations | undefined {
  if (carried === undefined || asOfMs > carried.untilMs) return undefined
  const revocations = carried.revocations.missingFrom(current.revocations)
  return revocations.size === 0 ? undefined : { revocations, untilMs: carried.untilMs }
}
