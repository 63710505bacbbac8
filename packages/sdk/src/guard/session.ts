import {
  findRevocation,
  isThumbprint,
  parseCredentialId,
  parsePpid,
  parseTime,
  type ViewStamp,
} from '@countersign/core'
import type { GuardData } from './guard-data.ts'

/**
 * A session that began with a hosted sign-in, with the result of `/auth/sdk-result`. Times are RFC
 * 3339 or milliseconds.
 */
export interface SignedInSession {
  readonly ppid: string
  readonly credentialId: string
  readonly verifiedAt: string | number
  readonly expiresAt?: string | number
  /**
   * The members below are newer than the others. Without `issuer`, its cut-off does not end the
   * session.
   */
  readonly issuer?: string
  /** Without it, `verifiedAt` is compared with cut-offs. */
  readonly oldestCreatedAt?: string | number
  /** Without it, the revocation of a parent credential does not end the session. */
  readonly credentialChain?: readonly string[]
  /** Without them, the revocation of a holder key does not end the session. */
  readonly holderThumbprints?: readonly string[]
}

/**
 * `stale`: the revocation data is too old. Such a session is active only if the guard fails open.
 */
export type SessionVerdict =
  | { readonly active: true; readonly stale: boolean; readonly view: ViewStamp }
  | {
      readonly active: false
      readonly stale: boolean
      readonly code: SessionEnd
      readonly detail: string
      readonly view: ViewStamp
    }

export type SessionEnd = 'credential_revoked' | 'credential_expired' | 'revocation_view_stale'

const DETAILS: Readonly<Record<SessionEnd, string>> = {
  credential_revoked: 'Access with the credential of this session has been revoked. Sign in again.',
  credential_expired: 'The credential of this session has expired. Sign in again.',
  revocation_view_stale: 'The revocation data of this verifier is stale. Try again in a moment.',
}

/**
 * Throws a TypeError for a session without the facts of a sign-in: it is not known whether such a
 * session was revoked.
 */
export function checkSession(session: SignedInSession, data: GuardData): SessionVerdict {
  const ppid = parsePpid(session.ppid)
  const credentialId = parseCredentialId(session.credentialId)
  const verifiedMs = toMs(session.verifiedAt)
  const expiresMs = session.expiresAt === undefined ? Infinity : toMs(session.expiresAt)
  const oldestMs = session.oldestCreatedAt === undefined ? verifiedMs : toMs(session.oldestCreatedAt)
  const chain = (session.credentialChain ?? []).map(parseCredentialId)
  if (ppid === undefined || credentialId === undefined || verifiedMs === undefined || expiresMs === undefined)
    throw new TypeError(
      'a session needs ppid, credentialId, verifiedAt and, if it has one, expiresAt, as /auth/sdk-result gave them',
    )
  const holders = session.holderThumbprints ?? []
  if (oldestMs === undefined || !isWhole(chain) || !holders.every(isThumbprint))
    throw new TypeError(
      'oldestCreatedAt, credentialChain and holderThumbprints of a session must be as /auth/sdk-result gave them',
    )
  const { site, stamp: view } = data
  const nowMs = data.nowMs()
  const common = { stale: !(view.ageMs <= data.freshMsMax) || nowMs === undefined, view }
  const ended = (code: SessionEnd): SessionVerdict => ({
    active: false,
    ...common,
    code,
    detail: DETAILS[code],
  })
  if (!site.trusted || !Number.isFinite(view.ageMs) || !(view.ageMs <= data.ageMsMax) || nowMs === undefined)
    return ended('revocation_view_stale')
  if (!(nowMs < expiresMs)) return ended('credential_expired')
  // A user who signed in after a reinstatement used a credential signed after it: an older one
  // would have been rejected.
  const revoked = findRevocation(
    {
      credentialIds: [credentialId, ...chain],
      holders,
      ppid,
      issuer: session.issuer ?? '',
      oldestSignedAtMs: Math.min(oldestMs, verifiedMs),
    },
    site,
  )
  return revoked === undefined ? { active: true, ...common } : ended('credential_revoked')
}

function isWhole<Item>(list: readonly (Item | undefined)[]): list is readonly Item[] {
  return !list.includes(undefined)
}

function toMs(time: string | number): number | undefined {
  if (typeof time === 'number') return Number.isFinite(time) ? time : undefined
  return parseTime(time)
}
