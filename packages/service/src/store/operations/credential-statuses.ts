import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import { number, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { countChanged, read, row, rows, type Transaction } from '../transaction.ts'
import type { CredentialRow, ListedStatus } from './credentials.ts'
import { lockClassification, mayClassify } from './shared/classifiers.ts'
import { BY_ID_FIRST, CREDENTIAL_COLUMNS, CREDENTIAL_TABLES, toCredential } from './shared/credential-rows.ts'
import { padList } from './shared/pad-list.ts'

/** The status that a list shows for a credential. */
export interface ClassifiedCredential {
  readonly credentialId: CredentialId
  readonly status: ListedStatus
}

/** Credentials that entries of the log may have revoked. */
export interface NamedCredentials {
  readonly ppids: readonly Ppid[]
  /** Of the credentials themselves, or of their parents. */
  readonly linkIds: readonly CredentialId[]
}

/** Sites that have credentials to classify, by id. Reads a few index entries for each site. */
export const sitesToClassify = read(function* (
  nowMs: number,
  { after, limit }: Page,
): Transaction<readonly SiteId[]> {
  const found = yield* rows(
    `SELECT h.site_id FROM heads h LEFT JOIN credential_statuses s ON s.site_id = h.site_id WHERE h.site_id > $2
       AND (s.seq IS NULL OR s.seq < h.seq
         OR EXISTS (SELECT 1 FROM credentials c WHERE c.site_id = h.site_id AND c.status = 'new')
         OR EXISTS (SELECT 1 FROM credentials c WHERE c.site_id = h.site_id AND c.status = 'active' AND c.valid_until <= $1))
     ORDER BY h.site_id LIMIT $3`,
    nowMs,
    after ?? '',
    limit,
  )
  return found.map(toSiteId)
})

/**
 * Says that the caller is about to apply the entries of the site up to `seq`. Returns the seq up to
 * which they have been applied. From now on, no node with an older view can classify: it could
 * overwrite what the caller is about to write. Returns undefined, and claims nothing, when the log
 * does not go that far: the view of the caller is of another epoch.
 */
export function* claimClassification(siteId: SiteId, seq: number): Transaction<number | undefined> {
  yield* lockClassification(siteId)
  // A site without a row has only credentials that are new, so no earlier entry has to be applied.
  const claimed = yield* row(
    `INSERT INTO credential_statuses (site_id, seq, claimed_seq)
     SELECT site_id, CAST($2 AS BIGINT), CAST($2 AS BIGINT) FROM heads WHERE site_id = $1 AND seq >= $2
     ON CONFLICT (site_id) DO UPDATE SET claimed_seq =
       CASE WHEN credential_statuses.claimed_seq < excluded.claimed_seq THEN excluded.claimed_seq ELSE credential_statuses.claimed_seq END
     RETURNING seq`,
    siteId,
    seq,
  )
  return claimed && number(claimed, 'seq')
}

/** Says that all entries of the site up to `seq` have been applied. */
export function* finishClassification(siteId: SiteId, seq: number): Transaction<void> {
  yield* lockClassification(siteId)
  yield* rows('UPDATE credential_statuses SET seq = $2 WHERE site_id = $1 AND seq < $2', siteId, seq)
}

/** By id, after the one named `after`. */
export const credentialsNamed = read(function* (
  siteId: SiteId,
  { ppids, linkIds }: NamedCredentials,
  { after, limit }: Page,
): Transaction<readonly CredentialRow[]> {
  const [users, links] = [padList(ppids), padList(linkIds)]
  const names = [...users, ...links]
  if (names.length === 0) return []
  const parameters = names.map((_, i) => `$${i + 4}`)
  const [ofUsers, ofLinks] = [parameters.slice(0, users.length), parameters.slice(users.length)]
  const selects = [
    ...(users.length === 0
      ? []
      : [`SELECT credential_id FROM credentials WHERE site_id = $1 AND ppid IN (${ofUsers.join(', ')})`]),
    ...(links.length === 0
      ? []
      : [
          `SELECT credential_id FROM credentials WHERE site_id = $1 AND credential_id IN (${ofLinks.join(', ')})`,
          `SELECT credential_id FROM credential_links WHERE site_id = $1 AND link_id IN (${ofLinks.join(', ')})`,
        ]),
  ]
  const found = yield* rows(
    `SELECT ${CREDENTIAL_COLUMNS} FROM ${CREDENTIAL_TABLES} WHERE c.site_id = $1 AND c.credential_id > $2
       AND c.credential_id IN (${selects.join(' UNION ALL ')}) ORDER BY c.credential_id LIMIT $3`,
    siteId,
    after ?? '',
    limit,
    ...names,
  )
  return found.map(toCredential)
})

/**
 * Writes the statuses that a view of the site at `viewSeq` gives. False, and nothing is written,
 * when a node with a later view has begun to classify.
 */
export function* classifyCredentials(
  siteId: SiteId,
  viewSeq: number,
  classified: readonly ClassifiedCredential[],
): Transaction<boolean> {
  if (!(yield* mayClassify(siteId, viewSeq))) return false
  for (const status of ['active', 'expired', 'revoked'] satisfies ListedStatus[]) {
    const those = classified.filter((each) => each.status === status)
    const ids = padList(those.map(({ credentialId }) => credentialId))
    if (ids.length === 0) continue
    yield* rows(
      `UPDATE credentials SET status = $2 WHERE ${BY_ID_FIRST} AND status <> $2
         AND credential_id IN (${ids.map((_, i) => `$${i + 3}`).join(', ')})`,
      siteId,
      status,
      ...ids,
    )
  }
  return true
}

/**
 * Gives a batch of active credentials that have expired their status, and takes it back if the
 * clock was set back since. Returns how many were changed, at most twice `limit`.
 */
export function* classifyExpired(siteId: SiteId, nowMs: number, limit: number): Transaction<number> {
  let changed = 0
  for (const [from, to, comparison] of [
    ['active', 'expired', '<='],
    ['expired', 'active', '>'],
  ]) {
    const done = yield* countChanged(
      // Without the order of its index, PostgreSQL expects to find some soon in another one, and
      // reads all credentials.
      `UPDATE credentials SET status = '${to}' WHERE ${BY_ID_FIRST} AND status = '${from}' AND credential_id IN
         (SELECT credential_id FROM credentials WHERE site_id = $1 AND status = '${from}' AND valid_until ${comparison} $2
          ORDER BY valid_until, known_at LIMIT $3)`,
      siteId,
      nowMs,
      limit,
    )
    changed += done
  }
  return changed
}
