import type { CredentialId, SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Checkpoint, CheckpointSite } from '../checkpoint.ts'
import { number, text } from '../columns.ts'
import { countChanged, exec, lock, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { checkpoint, replaceCheckpoint } from './checkpoints.ts'
import { formerEpochs } from './shared/former-epochs.ts'
import { requireIntact } from './shared/mac-rows.ts'
import { padList } from './shared/pad-list.ts'
import { recordAudit } from './shared/record-audit.ts'

/** The base of a site: its entries up to there may have been removed. */
export interface SiteBase {
  readonly seq: number
  readonly hash: string
}

/**
 * The base of a site in this epoch; undefined when there is none. Its row has no MAC of its own, so
 * this must not excuse that an entry is missing: `loadCheckpoint` gives the one that is proven.
 */
export const siteBase = read(function* (siteId: SiteId): Transaction<SiteBase | undefined> {
  const found = yield* row(
    `SELECT s.base_seq, s.base_hash FROM checkpoint_sites s
       JOIN checkpoint c ON c.one = 1 JOIN log ON log.one = 1 AND log.epoch = c.epoch
       JOIN heads h ON h.site_id = s.site_id AND h.seq >= s.base_seq
     WHERE s.site_id = $1 AND s.base_seq > 0`,
    siteId,
  )
  return found && { seq: number(found, 'base_seq'), hash: text(found, 'base_hash') }
})

/**
 * Moves the base of the log forward: `next` is `current` with a later base, and `sites` are the
 * rows whose base differs. From then on every reader ignores the entries up to the base. False, and
 * nothing is written, when the checkpoint is no longer `current`.
 */
export function* moveBase(
  current: Checkpoint,
  next: Checkpoint,
  sites: readonly CheckpointSite[],
  context: AuditContext,
): Transaction<boolean> {
  yield* lock('checkpoint')
  const log = yield* row('SELECT * FROM log WHERE one = 1')
  if (log === undefined) return false
  yield* requireIntact('log', log)
  const isForward = next.basePosition > current.basePosition && next.basePosition <= next.position
  // The last entry always stays: nodes compare it whenever they read the log.
  if (!isForward || next.basePosition >= number(log, 'position'))
    throw new TypeError(`the base of the log cannot move to ${next.basePosition}`)
  if (!(yield* replaceCheckpoint(current, next, { sites }))) return false
  yield* recordAudit({
    siteId: null,
    action: 'log.cut',
    target: next.epoch,
    detail: { from: current.basePosition, to: next.basePosition },
    context,
  })
  return true
}

/**
 * Removes a batch of entries up to the base, and returns their number. Throws a `RowForged` for a
 * checkpoint with a wrong MAC, before anything is removed.
 */
export function* removeCutEntries(limit: number): Transaction<number> {
  yield* lock('checkpoint')
  const current = yield* checkpoint()
  if (current === undefined || current.basePosition === 0) return 0
  return yield* removeEntries(current.epoch, current.basePosition, limit)
}

/** How many entries of an epoch are after `after`, up to the position `to`. */
export const countEntries = read(function* (epoch: string, after: number, to: number): Transaction<number> {
  const found = yield* row(
    'SELECT COUNT(*) AS count FROM entries WHERE epoch = $1 AND position > $2 AND position <= $3',
    epoch,
    after,
    to,
  )
  return found === undefined ? 0 : number(found, 'count')
})

/** How long the entries of a former epoch are kept: deliveries to webhooks may refer to them. */
const FORMER_EPOCHS_KEPT_MS = 30 * 86_400_000

/**
 * Removes a batch of entries of epochs that ended 30 days ago, and returns their number. The
 * current epoch has their content: in its pages, or as entries of its own.
 */
export function* removeFormerEntries(nowMs: number, limit: number): Transaction<number> {
  yield* lock('checkpoint')
  let removed = 0
  for (const epoch of yield* epochsToRemove(nowMs)) {
    if (removed >= limit) break
    removed += yield* removeEntries(epoch, Number.MAX_SAFE_INTEGER, limit - removed)
  }
  return removed
}

/** How many entries `removeFormerEntries` would remove in all its batches. */
export const countFormerEntries = read(function* (nowMs: number): Transaction<number> {
  let count = 0
  for (const epoch of yield* epochsToRemove(nowMs))
    count += yield* countEntries(epoch, 0, Number.MAX_SAFE_INTEGER)
  return count
})

/** The former epochs that have entries and ended long enough ago. */
function* epochsToRemove(nowMs: number): Transaction<readonly string[]> {
  const log = yield* row('SELECT * FROM log WHERE one = 1')
  if (log === undefined) return []
  yield* requireIntact('log', log)
  const found: string[] = []
  for (const epoch of yield* formerEpochs()) {
    const endedAtMs = yield* findEnd(epoch, text(log, 'epoch'))
    if (endedAtMs !== undefined && endedAtMs <= nowMs - FORMER_EPOCHS_KEPT_MS) found.push(epoch)
  }
  return found
}

/** When the epoch that followed this one began; if that is not known, when the current one did. */
function* findEnd(epoch: string, current: string): Transaction<number | undefined> {
  for (const [column, name] of [
    ['previous_epoch', epoch],
    ['epoch', current],
  ] as const) {
    const link = yield* row(`SELECT * FROM epochs WHERE ${column} = $1 ORDER BY at DESC LIMIT 1`, name)
    if (link !== undefined) return number(yield* requireIntact('epochs', link), 'at')
  }
  return undefined
}

function* removeEntries(epoch: string, position: number, limit: number): Transaction<number> {
  const found = yield* row(
    `SELECT COUNT(*) AS count, MAX(position) AS last FROM
       (SELECT position FROM entries WHERE epoch = $1 AND position <= $2 ORDER BY position LIMIT $3) e`,
    epoch,
    position,
    limit,
  )
  const count = found === undefined ? 0 : number(found, 'count')
  if (found === undefined || count === 0) return 0
  yield* exec('DELETE FROM entries WHERE epoch = $1 AND position <= $2', epoch, number(found, 'last'))
  return count
}

const BASE_POSITION = `(SELECT base_position FROM checkpoint WHERE one = 1)`
/**
 * A credential that was revoked before `$1` has expired after this time, unless it was signed by a
 * clock that was ahead.
 */
const LAST_END = `$1 + ${limits.credential_lifetime_seconds_max * 1000}`
// With a plain JOIN, SQLite reads all credentials that have not expired for each revocation.
const toOldCredential = (basePosition: string) => `at < $1 AND position <= ${basePosition} AND NOT EXISTS (
  SELECT 1 FROM credentials c WHERE c.site_id = credential_revocations.site_id
    AND c.credential_id = credential_revocations.credential_id AND c.valid_until >= ${LAST_END}) AND NOT EXISTS (
  SELECT 1 FROM credential_links l CROSS JOIN credentials c
  WHERE l.site_id = credential_revocations.site_id AND l.link_id = credential_revocations.credential_id
    AND c.site_id = l.site_id AND c.credential_id = l.credential_id AND c.valid_until >= ${LAST_END})`
/** Reinstated, and everything that was signed before has expired. */
const toOldUser = (basePosition: string) =>
  `revoked = 0 AND cutoff < $1 AND revoked_at < $1 AND revoked_position <= ${basePosition} AND reinstated_position <= ${basePosition}`

/**
 * How many rows `removeOldRevocations` would remove in all its batches, if the base of the log were
 * at this position.
 */
export const countOldRevocations = read(function* (
  beforeMs: number,
  basePosition: number,
): Transaction<number> {
  const found = yield* row(
    `SELECT (SELECT COUNT(*) FROM credential_revocations WHERE ${toOldCredential('$2')}) + (SELECT COUNT(*) FROM users WHERE ${toOldUser('$2')}) AS count`,
    beforeMs,
    basePosition,
  )
  return found === undefined ? 0 : number(found, 'count')
})

/**
 * Those of these credentials that may still be valid when a revocation before `beforeMs` is
 * removed, or that are parents of one: they were signed by a clock that was ahead.
 */
export const credentialsBeyond = read(function* (
  siteId: SiteId,
  ids: readonly CredentialId[],
  beforeMs: number,
): Transaction<readonly CredentialId[]> {
  const asked = padList(ids)
  if (asked.length === 0) return []
  const list = asked.map((_, i) => `$${i + 3}`).join(', ')
  // With `+`, SQLite does not read all credentials that end so late.
  const found = yield* rows(
    `SELECT c.credential_id AS link_id FROM credentials c
     WHERE c.site_id = $2 AND c.credential_id IN (${list}) AND +c.valid_until >= ${LAST_END}
     UNION SELECT l.link_id FROM credential_links l CROSS JOIN credentials c
     WHERE l.site_id = $2 AND l.link_id IN (${list})
       AND c.site_id = l.site_id AND c.credential_id = l.credential_id AND c.valid_until >= ${LAST_END}`,
    beforeMs,
    siteId,
    ...asked,
  )
  return found.map((each) => text(each, 'link_id') as CredentialId)
})

/**
 * Removes a batch of rows that are derived from entries up to the base, of revocations before
 * `beforeMs`, and returns their number.
 */
export function* removeOldRevocations(beforeMs: number, limit: number): Transaction<number> {
  yield* checkpoint()
  let removed = 0
  for (const [table, key, isOld] of [
    ['credential_revocations', 'credential_id', toOldCredential(BASE_POSITION)],
    ['users', 'ppid', toOldUser(BASE_POSITION)],
  ] as const) {
    const gone = yield* countChanged(
      // The condition is repeated for a row that another transaction changes at this moment.
      `DELETE FROM ${table} WHERE (site_id, ${key}) IN (SELECT site_id, ${key} FROM ${table} WHERE ${isOld} LIMIT $2) AND ${isOld}`,
      beforeMs,
      limit,
    )
    removed += gone
  }
  return removed
}
