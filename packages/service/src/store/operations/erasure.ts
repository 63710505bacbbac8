import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { number } from '../columns.ts'
import { countChanged, exec, lock, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext, NewAuditRow } from './audit.ts'
import { userLock } from './shared/chain-locks.ts'
import { padList } from './shared/pad-list.ts'
import { recordAudit } from './shared/record-audit.ts'
import { IS_REVOKED_IN_LOG } from './shared/revoke-signed-ahead.ts'

/** All ids of one user at a site. */
export interface ErasedUser {
  readonly siteId: SiteId
  readonly ppids: readonly Ppid[]
}

/** How many rows of a user there are, or were removed. */
export interface UserRowCounts {
  readonly tokens: number
  readonly offers: number
  /** Credentials that were presented for a sign-in. */
  readonly presentations: number
}

/** An audit row without the person. */
export interface ErasedAuditRow {
  readonly id: string
  readonly actor: string
  readonly detail: NewAuditRow['detail']
}

/** In place of the id that an audit row had. */
const ERASED = 'erased'

export const countUserRows = read(function* ({ siteId, ppids }: ErasedUser): Transaction<UserRowCounts> {
  const users = padList(ppids)
  const isOfUser = `site_id = $1 AND ppid IN (${toParameters(users, 2)})`
  const found = yield* row(
    `SELECT (SELECT COUNT(*) FROM tokens WHERE ${isOfUser}) AS tokens,
       (SELECT COUNT(*) FROM offers WHERE ${isOfUser}) AS offers,
       (SELECT COUNT(*) FROM sign_in_presentations WHERE ${isOfUser}) AS presentations`,
    siteId,
    ...users,
  )
  if (found === undefined) throw new Error('rows could not be counted')
  return {
    tokens: number(found, 'tokens'),
    offers: number(found, 'offers'),
    presentations: number(found, 'presentations'),
  }
})

/**
 * Removes what the user could still use, and the reasons that were given for revocations of the
 * user. That a user is revoked stays. The user must have been signed out before: the log ends
 * access, and a row that is missing here ends nothing at verifiers.
 */
export function* eraseUserRows({ siteId, ppids }: ErasedUser): Transaction<UserRowCounts> {
  yield* lock(...ppids.map((ppid) => userLock(siteId, ppid)))
  const users = padList(ppids)
  const isOfUser = `site_id = $1 AND ppid IN (${toParameters(users, 2)})`
  yield* exec(
    `DELETE FROM sign_ins WHERE state_sha256 IN (SELECT state_sha256 FROM sign_in_presentations WHERE ${isOfUser})`,
    siteId,
    ...users,
  )
  const removed: number[] = []
  for (const table of ['tokens', 'offers', 'sign_in_presentations']) {
    const gone = yield* countChanged(`DELETE FROM ${table} WHERE ${isOfUser}`, siteId, ...users)
    removed.push(gone)
  }
  yield* exec(
    `UPDATE users SET reason = NULL, first_reason = NULL, credential_ids = '[]' WHERE ${isOfUser}`,
    siteId,
    ...users,
  )
  yield* exec(`UPDATE user_history SET reason = NULL WHERE ${isOfUser}`, siteId, ...users)
  const [tokens = 0, offers = 0, presentations = 0] = removed
  return { tokens, offers, presentations }
}

/**
 * Removes known credentials of the user. Returns how many. Keeps those that the log has not ended
 * by a sign-out at `beforeMs` or by their ids: a later reinstatement has to revoke them by their
 * ids, and finds them only in this table. Keeps those, too, that were signed so far ahead that a
 * cut of the log would remove their revocation before they expire.
 */
export function* eraseCredentials(
  { siteId, ppids }: ErasedUser,
  credentialIds: readonly CredentialId[],
  beforeMs: number,
): Transaction<number> {
  if (credentialIds.length === 0) return 0
  yield* lock(...ppids.map((ppid) => userLock(siteId, ppid)))
  const [users, ids] = [padList(ppids), padList(credentialIds)]
  const gone = yield* rows(
    `DELETE FROM credentials AS c WHERE c.site_id = $1 AND c.ppid IN (${toParameters(users, 3)})
       AND c.credential_id IN (${toParameters(ids, 3 + users.length)})
       AND (c.created <= $2 OR c.valid_until <= $2 OR (${IS_REVOKED_IN_LOG} AND ${IS_OVER_BEFORE_CUT})) RETURNING credential_id`,
    siteId,
    beforeMs,
    ...users,
    ...ids,
  )
  const removed = padList(gone.map(({ credential_id }) => String(credential_id)))
  if (removed.length === 0) return 0
  const list = toParameters(removed, 2)
  yield* exec(
    `DELETE FROM credential_links WHERE site_id = $1 AND credential_id IN (${list})`,
    siteId,
    ...removed,
  )
  yield* exec(
    `UPDATE credential_revocations SET reason = NULL WHERE site_id = $1 AND credential_id IN (${list})`,
    siteId,
    ...removed,
  )
  return gone.length
}

/** Whether the credential `c` expires before its revocation can be removed. */
const IS_OVER_BEFORE_CUT = `c.valid_until <= ${limits.credential_lifetime_seconds_max * 1000} + (SELECT r.at FROM credential_revocations r
  WHERE r.site_id = c.site_id AND r.credential_id = c.credential_id)`

/** Replaces what names the person in these audit rows. */
export function* eraseAuditRows(erased: readonly ErasedAuditRow[]): Transaction<void> {
  for (const { id, actor, detail } of erased)
    yield* exec(
      'UPDATE audit SET target = $2, actor = $3, detail = $4, request_id = NULL WHERE id = $1',
      id,
      ERASED,
      actor,
      JSON.stringify(detail),
    )
}

/**
 * An audit row that does not name the person, for before anything is erased: an erasure that stops
 * halfway has no other.
 */
export function* recordErasureStart(siteId: SiteId, context: AuditContext): Transaction<void> {
  yield* recordAudit({ siteId, action: 'user.erase_start', target: ERASED, context })
}

/** The audit row of an erasure, which does not name the person. */
export function* recordErasure(
  siteId: SiteId,
  counts: Readonly<Record<string, number>>,
  context: AuditContext,
): Transaction<void> {
  yield* recordAudit({ siteId, action: 'user.erase', target: ERASED, detail: counts, context })
}

function toParameters(values: readonly unknown[], first: number): string {
  return values.map((_, i) => `$${first + i}`).join(', ')
}
