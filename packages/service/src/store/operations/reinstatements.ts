import { formatTime, type LogPosition, type Ppid, type SiteId } from '@countersign/core'
import { number, optionalNumber, optionalText, text } from '../columns.ts'
import type { Logged } from '../logged.ts'
import { lock, type Row, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import type { UserAtSite, UsersAtSite } from './revocations.ts'
import { appendEntry } from './shared/append-entry.ts'
import { userLock } from './shared/chain-locks.ts'
import { recordAudit } from './shared/record-audit.ts'
import { recordUserEntry } from './shared/record-user-entry.ts'
import { revokeSignedAhead } from './shared/revoke-signed-ahead.ts'
import { findUserRow, toPosition, type UsersAnswer } from './shared/user-rows.ts'

export interface Reinstated extends LogPosition {
  readonly reinstatedAtMs: number
  readonly alreadyActive: boolean
}

export interface ReinstatedUser extends Reinstated {
  readonly ppid: Ppid
}

/** A node whose clock is further from the time on record is not ready. */
const CLOCKS_APART_MS_MAX = 60_000

/**
 * Credentials that were signed up to the reinstatement stay revoked. Known credentials that were
 * signed later, by a clock that was ahead, are revoked by id before the reinstatement, so that a
 * reader of the log alone knows that all earlier credentials stay revoked permanently. In an epoch
 * that continues another, verifiers may have revocations that this log lacks. So the first
 * reinstatement in such an epoch is appended even if the user is active here.
 */
export function* reinstateUser(user: UserAtSite, context: AuditContext): Transaction<Logged<Reinstated>> {
  yield* lock(userLock(user.siteId, user.ppid))
  return yield* reinstateLockedUser(user, context)
}

/** The same for all ids of one user, in one transaction. */
export function* reinstateUsers(
  { siteId, ppids, reason }: UsersAtSite,
  context: AuditContext,
): Transaction<UsersAnswer<ReinstatedUser>> {
  yield* lock(...ppids.map((ppid) => userLock(siteId, ppid)))
  const users: Logged<ReinstatedUser>[] = []
  for (const ppid of ppids)
    users.push({ ppid, ...(yield* reinstateLockedUser({ siteId, ppid, reason }, context)) })
  return { users, position: toPosition(users) }
}

/** The caller holds the lock of the user. */
function* reinstateLockedUser(
  { siteId, ppid, reason }: UserAtSite,
  context: AuditContext,
): Transaction<Logged<Reinstated>> {
  const user = yield* findUserRow(siteId, ppid)
  // Times in credentials are whole seconds, so this is rounded up.
  const reinstatedAtMs = Math.ceil(toReinstatedAt(user, context.atMs) / 1000) * 1000
  if ((user === undefined || number(user, 'revoked') === 0) && !(yield* mayBeCarried(siteId, user))) {
    yield* recordAudit({
      siteId,
      action: 'user.reinstate',
      target: ppid,
      outcome: 'unchanged',
      reason,
      context,
    })
    return yield* alreadyActive(siteId, user, reinstatedAtMs)
  }
  yield* revokeSignedAhead(
    { siteId, ppid, signedAfterMs: reinstatedAtMs, reason: user && optionalText(user, 'reason') },
    context,
  )
  const body = { ppid, reinstated_at: formatTime(reinstatedAtMs) }
  const { epoch, seq, position } = yield* appendEntry(siteId, 'user.reinstated', body, context.atMs)
  yield* rows(
    `INSERT INTO users (site_id, ppid, revoked, first_at, revoked_at, credential_ids, tokens_revoked, revoked_seq, revoked_position,
       cutoff, reinstated_seq, reinstated_position)
     VALUES ($1, $2, 0, $3, $3, '[]', 0, $5, $6, $4, $5, $6)
     ON CONFLICT (site_id, ppid) DO UPDATE SET revoked = 0, cutoff = excluded.cutoff, reinstated_seq = excluded.reinstated_seq,
       reinstated_position = excluded.reinstated_position`,
    siteId,
    ppid,
    reinstatedAtMs,
    Math.max(reinstatedAtMs, (user && optionalNumber(user, 'cutoff')) ?? 0),
    seq,
    position,
  )
  yield* recordUserEntry({ siteId, ppid, seq, kind: 'user.reinstated', atMs: context.atMs, reason })
  yield* recordAudit({ siteId, action: 'user.reinstate', target: ppid, reason, seq, context })
  return { reinstatedAtMs, alreadyActive: false, epoch, seq, position }
}

/**
 * Whether a verifier may have a revocation of an active user from an earlier epoch: until a
 * reinstatement was appended in this one.
 */
function* mayBeCarried(siteId: SiteId, user: Row | undefined): Transaction<boolean> {
  const link = yield* row(
    'SELECT e.previous_seq FROM epochs e JOIN log ON log.epoch = e.epoch WHERE log.one = 1 AND e.site_id = $1',
    siteId,
  )
  if (link === undefined) return false
  return user === undefined || (optionalNumber(user, 'reinstated_seq') ?? 0) <= number(link, 'previous_seq')
}

/**
 * Never before the revocation, which may come from a node whose clock is ahead. A revocation
 * further ahead than clocks may differ was made at a time that was reset since, and is ignored.
 */
function toReinstatedAt(user: Row | undefined, atMs: number): number {
  const revokedAtMs = user === undefined ? 0 : number(user, 'revoked_at')
  return revokedAtMs - atMs <= CLOCKS_APART_MS_MAX ? Math.max(atMs, revokedAtMs) : atMs
}

function* alreadyActive(
  siteId: SiteId,
  user: Row | undefined,
  reinstatedAtMs: number,
): Transaction<Logged<Reinstated>> {
  if (user !== undefined) {
    return {
      reinstatedAtMs: number(user, 'cutoff'),
      alreadyActive: true,
      epoch: text(user, 'epoch'),
      seq: number(user, 'reinstated_seq'),
      position: number(user, 'reinstated_position'),
    }
  }
  // Never revoked: true up to the end of the log.
  const head = yield* row(
    'SELECT h.seq, log.epoch FROM heads h, log WHERE log.one = 1 AND h.site_id = $1',
    siteId,
  )
  if (head === undefined) throw new Error('there is no such site')
  return {
    reinstatedAtMs,
    alreadyActive: true,
    epoch: text(head, 'epoch'),
    seq: number(head, 'seq'),
    position: 0,
  }
}
