import { type CredentialId, formatTime, type LogPosition, type Ppid, type SiteId } from '@countersign/core'
import { json, number, optionalNumber, optionalText, text } from '../columns.ts'
import type { Logged } from '../logged.ts'
import { exec, lock, type Row, reportForged, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { appendEntry } from './shared/append-entry.ts'
import { credentialLock, userLock } from './shared/chain-locks.ts'
import { recordAudit } from './shared/record-audit.ts'

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

export interface Reinstated extends LogPosition {
  readonly reinstatedAtMs: number
  readonly alreadyActive: boolean
}

/** Maximum number of credentials in an answer, the newest. All are revoked, listed or not. */
const CREDENTIALS_LISTED_MAX = 1000

/** A node whose clock is further from the time on record is not ready. */
const CLOCKS_APART_MS_MAX = 60_000

export interface UserAtSite {
  readonly siteId: SiteId
  readonly ppid: Ppid
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
  { siteId, ppid, reason }: UserAtSite,
  context: AuditContext,
  unconfirmed?: Unconfirmed,
): Transaction<Logged<Revoked>> {
  yield* lock(userLock(siteId, ppid))
  const known = yield* findUserRow(siteId, ppid)
  const isRevoked = known !== undefined && number(known, 'revoked') === 1
  if (isRevoked && number(known, 'revoked_seq') === unconfirmed?.seq)
    yield* reportForged({ table: 'users', key: `${siteId} ${ppid}` })
  else if (isRevoked) {
    yield* recordAudit({ siteId, action: 'user.revoke', target: ppid, outcome: 'unchanged', reason, context })
    return toKnown(known, json(known, 'credential_ids'))
  }
  const credentialIds = yield* findUserCredentials(siteId, ppid)
  const revokedTokens = yield* rows(
    `UPDATE tokens SET revoked_at = $3 WHERE site_id = $1 AND ppid = $2 AND revoked_at IS NULL AND expires_at > $3 RETURNING 1 AS one`,
    siteId,
    ppid,
    context.atMs,
  )
  yield* cancelPending(siteId, ppid, context.atMs)
  const body = { ppid, revoked_at: formatTime(context.atMs) }
  const { epoch, seq, position } = yield* appendEntry(siteId, 'user.revoked', body, context.atMs)
  const tokensRevoked = revokedTokens.length
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

function* findUserCredentials(siteId: SiteId, ppid: string): Transaction<readonly CredentialId[]> {
  const found = yield* rows(
    'SELECT credential_id FROM credentials WHERE site_id = $1 AND ppid = $2 ORDER BY known_at DESC, credential_id DESC LIMIT $3',
    siteId,
    ppid,
    CREDENTIALS_LISTED_MAX,
  )
  return found.map((row) => text(row, 'credential_id') as CredentialId)
}

/** With the current epoch: after a restore the same entry has the same numbers in another epoch. */
function* findUserRow(siteId: SiteId, ppid: string): Transaction<Row | undefined> {
  return yield* row(
    `SELECT u.*, u.revoked_at AS at, u.revoked_seq AS seq, u.revoked_position AS position, log.epoch
     FROM users u, log WHERE log.one = 1 AND u.site_id = $1 AND u.ppid = $2`,
    siteId,
    ppid,
  )
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
  yield* lock(
    credentialLock(siteId, credentialId),
    ...users.map((row) => userLock(siteId, text(row, 'ppid') as Ppid)),
  )
  const before = yield* row(
    'SELECT r.*, log.epoch FROM credential_revocations r, log WHERE log.one = 1 AND r.site_id = $1 AND r.credential_id = $2',
    siteId,
    credentialId,
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
  const revokedTokens = yield* rows(
    `UPDATE tokens SET revoked_at = $3 WHERE revoked_at IS NULL AND expires_at > $3
       AND sha256 IN (SELECT sha256 FROM token_links WHERE site_id = $1 AND link_id = $2) RETURNING 1 AS one`,
    siteId,
    credentialId,
    context.atMs,
  )
  const revoked = {
    siteId,
    credentialId,
    type: 'credential',
    reason,
    tokensRevoked: revokedTokens.length,
  } as const
  const answer = yield* writeCredentialRevocation(revoked, context.atMs)
  const detail = { tokens_revoked: revokedTokens.length }
  yield* recordAudit({
    siteId,
    action: 'credential.revoke',
    target: credentialId,
    reason,
    seq: answer.seq,
    detail,
    context,
  })
  return answer
}

interface CredentialRevocation {
  readonly siteId: SiteId
  readonly credentialId: CredentialId
  readonly type: 'user' | 'credential'
  readonly reason: string | undefined
  readonly tokensRevoked: number
}

function* writeCredentialRevocation(
  revocation: CredentialRevocation,
  atMs: number,
): Transaction<Logged<Revoked>> {
  const { siteId, credentialId, type, reason, tokensRevoked } = revocation
  const body = { credential_id: credentialId, revoked_at: formatTime(atMs) }
  const { epoch, seq, position } = yield* appendEntry(siteId, 'credential.revoked', body, atMs)
  yield* exec(
    `INSERT INTO credential_revocations (site_id, credential_id, type, at, reason, tokens_revoked, seq, position)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (site_id, credential_id) DO UPDATE SET type = excluded.type, at = excluded.at, reason = excluded.reason,
       tokens_revoked = excluded.tokens_revoked, seq = excluded.seq, position = excluded.position`,
    siteId,
    credentialId,
    type,
    atMs,
    reason ?? null,
    tokensRevoked,
    seq,
    position,
  )
  return toRevoked([credentialId], tokensRevoked, atMs, { epoch, seq, position })
}

/**
 * Credentials that were signed up to the reinstatement stay revoked. Known credentials that were
 * signed later, by a clock that was ahead, are revoked by id before the reinstatement, so that a
 * reader of the log alone knows that all earlier credentials stay revoked permanently. In an epoch
 * that continues another, verifiers may have revocations that this log lacks. So the first
 * reinstatement in such an epoch is appended even if the user is active here.
 */
export function* reinstateUser(
  { siteId, ppid, reason }: UserAtSite,
  context: AuditContext,
): Transaction<Logged<Reinstated>> {
  yield* lock(userLock(siteId, ppid))
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
  yield* revokeSignedAhead(siteId, ppid, user, reinstatedAtMs, context)
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

/** Skips those that the log has revoked by id; a row without such an entry is not trusted. */
function* revokeSignedAhead(
  siteId: SiteId,
  ppid: string,
  user: Row | undefined,
  cutoffMs: number,
  context: AuditContext,
): Transaction<void> {
  const ahead = yield* rows(
    `SELECT c.credential_id FROM credentials c WHERE c.site_id = $1 AND c.ppid = $2 AND c.created > $3 AND c.valid_until > $4
       AND NOT EXISTS (SELECT 1 FROM credential_revocations r JOIN log ON log.one = 1
         JOIN entries e ON e.epoch = log.epoch AND e.site_id = r.site_id AND e.seq = r.seq
         WHERE r.site_id = c.site_id AND r.credential_id = c.credential_id AND e.kind = 'credential.revoked'
           AND replace(e.body, '"' || r.credential_id || '"', '') <> e.body)
     ORDER BY c.credential_id`,
    siteId,
    ppid,
    cutoffMs,
    context.atMs,
  )
  for (const found of ahead) {
    const credentialId = text(found, 'credential_id') as CredentialId
    const reason = user && optionalText(user, 'reason')
    yield* writeCredentialRevocation(
      { siteId, credentialId, type: 'user', reason, tokensRevoked: 0 },
      context.atMs,
    )
  }
}

/** Cancels sign-ins in progress, and offers that were not claimed. */
function* cancelPending(siteId: SiteId, ppid: Ppid, atMs: number): Transaction<void> {
  for (const table of ['sign_in_presentations', 'offers']) {
    yield* exec(
      `UPDATE ${table} SET killed_at = $3 WHERE site_id = $1 AND ppid = $2 AND killed_at IS NULL`,
      siteId,
      ppid,
      atMs,
    )
  }
}
