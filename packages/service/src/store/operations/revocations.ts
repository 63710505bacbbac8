import { type CredentialId, formatTime, type LogPosition, type Ppid, type SiteId } from '@countersign/core'
import { json, number, text } from '../columns.ts'
import type { Logged } from '../logged.ts'
import {
  countChanged,
  exec,
  lock,
  type Row,
  reportForged,
  row,
  rows,
  type Transaction,
  together,
} from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { appendEntry } from './shared/append-entry.ts'
import { credentialLock, userLock } from './shared/chain-locks.ts'
import { writeCredentialRevocation } from './shared/credential-revocation.ts'
import { selectLatestOfUser } from './shared/credential-rows.ts'
import { recordAudit } from './shared/record-audit.ts'
import { recordUserEntry } from './shared/record-user-entry.ts'
import { findUserRow, pendingParts, toPosition, type UsersAnswer } from './shared/user-rows.ts'

export interface Revoked extends LogPosition {
  /** The newest one; null when none was seen. */
  readonly credentialId: CredentialId | null
  readonly credentialIds: readonly CredentialId[]
  readonly alreadyRevoked: boolean
  readonly revokedAtMs: number
  readonly tokensRevoked: number
}

/** An answer that the log does not confirm, by its seq. */
export type Unconfirmed = Pick<Revoked, 'seq'>

export interface RevokedUser extends Revoked {
  readonly ppid: Ppid
}

export interface RevokedUsers extends UsersAnswer<RevokedUser> {
  /** Whether at least one of them was revoked before, which the caller confirms with its view. */
  readonly alreadyRevoked: boolean
}

/** Maximum number of credentials in an answer, the newest. All are revoked, listed or not. */
const CREDENTIALS_LISTED_MAX = 1000

export interface UserAtSite {
  readonly siteId: SiteId
  readonly ppid: Ppid
  readonly reason: string | undefined
}

/** The ids of one user, which are changed together or not at all. */
export interface UsersAtSite {
  readonly siteId: SiteId
  readonly ppids: readonly Ppid[]
  readonly reason: string | undefined
}

export interface CredentialAtSite {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly reason: string | undefined
}

/**
 * `alreadyRevoked` comes from a table without a MAC, so the caller confirms it with its view of the
 * log. If the view does not confirm it, the caller asks again and passes the seq of that answer:
 * then the revocation is appended all the same, and the row is reported as forged.
 */
export function* revokeUser(
  user: UserAtSite,
  context: AuditContext,
  unconfirmed?: Unconfirmed,
): Transaction<Logged<Revoked>> {
  const { siteId, ppid } = user
  const [, before] = yield* together(lock(userLock(siteId, ppid)), loadUser(siteId, ppid))
  return yield* revokeLockedUser(user, before, context, unconfirmed)
}

/** The same for all ids of one user, in one transaction. `unconfirmed` has those to append. */
export function* revokeUsers(
  { siteId, ppids, reason }: UsersAtSite,
  context: AuditContext,
  unconfirmed: readonly RevokedUser[] = [],
): Transaction<RevokedUsers> {
  const ids = [...new Set(ppids)]
  const [, ...before] = yield* together(
    lock(...ids.map((ppid) => userLock(siteId, ppid))),
    ...ids.map((ppid) => loadUser(siteId, ppid)),
  )
  const users: Logged<RevokedUser>[] = []
  for (const [i, ppid] of ids.entries()) {
    const claimed = unconfirmed.find((each) => each.ppid === ppid)
    const user = { siteId, ppid, reason }
    users.push({ ppid, ...(yield* revokeLockedUser(user, before[i] as UserBefore, context, claimed)) })
  }
  return { users, position: toPosition(users), alreadyRevoked: users.some((user) => user.alreadyRevoked) }
}

/** What is known of a user before the revocation. */
interface UserBefore {
  readonly known: Row | undefined
  readonly credentialIds: readonly CredentialId[]
}

function* loadUser(siteId: SiteId, ppid: Ppid): Transaction<UserBefore> {
  const [known, credentialIds] = yield* together(findUserRow(siteId, ppid), findUserCredentials(siteId, ppid))
  return { known, credentialIds }
}

/** The caller holds the lock of the user, and has loaded `before` under it. */
function* revokeLockedUser(
  { siteId, ppid, reason }: UserAtSite,
  { known, credentialIds }: UserBefore,
  context: AuditContext,
  unconfirmed: Unconfirmed | undefined,
): Transaction<Logged<Revoked>> {
  const isRevoked = known !== undefined && number(known, 'revoked') === 1
  if (isRevoked && number(known, 'revoked_seq') === unconfirmed?.seq)
    yield* reportForged({ table: 'users', key: `${siteId} ${ppid}` })
  else if (isRevoked) {
    yield* recordAudit({ siteId, action: 'user.revoke', target: ppid, outcome: 'unchanged', reason, context })
    return toKnown(known, json(known, 'credential_ids'))
  }
  const body = { ppid, revoked_at: formatTime(context.atMs) }
  const [cancelSignIns, cancelOffers] = pendingParts(siteId, ppid, context.atMs)
  const [tokensRevoked, , , { epoch, seq, position }] = yield* together(
    countChanged(
      `UPDATE tokens SET revoked_at = $3 WHERE site_id = $1 AND ppid = $2 AND revoked_at IS NULL AND expires_at > $3`,
      siteId,
      ppid,
      context.atMs,
    ),
    cancelSignIns,
    cancelOffers,
    // Last: it locks the head of the log, and no row may be waited for after that.
    appendEntry(siteId, 'user.revoked', body, context.atMs),
  )
  yield* exec(
    `INSERT INTO users (site_id, ppid, revoked, first_at, first_reason, revoked_at, reason, credential_ids, tokens_revoked, revoked_seq, revoked_position)
     VALUES ($1, $2, 1, $3, $4, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (site_id, ppid) DO UPDATE SET revoked = 1, revoked_at = excluded.revoked_at, reason = excluded.reason,
       credential_ids = excluded.credential_ids, tokens_revoked = excluded.tokens_revoked,
       revoked_seq = excluded.revoked_seq, revoked_position = excluded.revoked_position`,
    siteId,
    ppid,
    context.atMs,
    reason ?? null,
    JSON.stringify(credentialIds),
    tokensRevoked,
    seq,
    position,
  )
  yield* recordUserEntry({ siteId, ppid, seq, kind: 'user.revoked', atMs: context.atMs, reason })
  yield* recordAudit({
    siteId,
    action: 'user.revoke',
    target: ppid,
    reason,
    seq,
    detail: { tokens_revoked: tokensRevoked },
    context,
  })
  return toRevoked(credentialIds, tokensRevoked, context.atMs, { epoch, seq, position })
}

const LATEST_OF_USER = selectLatestOfUser()

function* findUserCredentials(siteId: SiteId, ppid: string): Transaction<readonly CredentialId[]> {
  const found = yield* rows(LATEST_OF_USER, siteId, ppid, CREDENTIALS_LISTED_MAX)
  return found.map((row) => text(row, 'credential_id') as CredentialId)
}

/** The answer of an earlier revocation. */
function toKnown(row: Row, credentialIds: readonly CredentialId[]): Logged<Revoked> {
  const at = { epoch: text(row, 'epoch'), seq: number(row, 'seq'), position: number(row, 'position') }
  const revoked = toRevoked(credentialIds, number(row, 'tokens_revoked'), number(row, 'at'), at)
  return { ...revoked, alreadyRevoked: true }
}

function toRevoked(
  credentialIds: readonly CredentialId[],
  tokensRevoked: number,
  revokedAtMs: number,
  at: Logged<LogPosition>,
): Logged<Revoked> {
  const credentialId = credentialIds[0] ?? null
  return { credentialId, credentialIds, alreadyRevoked: false, revokedAtMs, tokensRevoked, ...at }
}

/** The same as `revokeUser`, for one credential. */
export function* revokeCredential(
  { siteId, credentialId, reason }: CredentialAtSite,
  context: AuditContext,
  unconfirmed?: Unconfirmed,
): Transaction<Logged<Revoked>> {
  // Locks its users as well: a revocation of a user updates the same tokens in another order.
  const users = yield* rows(
    `SELECT ppid FROM credentials WHERE site_id = $1 AND credential_id = $2
     UNION SELECT t.ppid FROM token_links l JOIN tokens t ON t.sha256 = l.sha256 WHERE l.site_id = $1 AND l.link_id = $2`,
    siteId,
    credentialId,
  )
  const [, before] = yield* together(
    lock(
      credentialLock(siteId, credentialId),
      ...users.map((row) => userLock(siteId, text(row, 'ppid') as Ppid)),
    ),
    row(
      'SELECT r.*, log.epoch FROM credential_revocations r, log WHERE log.one = 1 AND r.site_id = $1 AND r.credential_id = $2',
      siteId,
      credentialId,
    ),
  )
  if (before !== undefined && number(before, 'seq') === unconfirmed?.seq)
    yield* reportForged({ table: 'credential_revocations', key: `${siteId} ${credentialId}` })
  else if (before !== undefined) {
    yield* recordAudit({
      siteId,
      action: 'credential.revoke',
      target: credentialId,
      outcome: 'unchanged',
      reason,
      context,
    })
    return toKnown(before, [credentialId])
  }
  const tokensRevoked = yield* countChanged(
    `UPDATE tokens SET revoked_at = $3 WHERE revoked_at IS NULL AND expires_at > $3
       AND sha256 IN (SELECT sha256 FROM token_links WHERE site_id = $1 AND link_id = $2)`,
    siteId,
    credentialId,
    context.atMs,
  )
  const revoked = { siteId, credentialId, type: 'credential', reason, tokensRevoked } as const
  const entry = yield* writeCredentialRevocation(revoked, context.atMs)
  yield* recordAudit({
    siteId,
    action: 'credential.revoke',
    target: credentialId,
    reason,
    seq: entry.seq,
    detail: { tokens_revoked: tokensRevoked },
    context,
  })
  return toRevoked([credentialId], tokensRevoked, context.atMs, entry)
}
