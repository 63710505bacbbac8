import type { CredentialId, Ppid, SiteId } from '@countersign/core'
import type { Page } from '../page.ts'
import {
  countChanged,
  exec,
  read,
  row,
  rows,
  type SqlValue,
  type Transaction,
  together,
} from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { mayClassify } from './shared/classifiers.ts'
import {
  CREDENTIAL_COLUMNS,
  CREDENTIAL_TABLES,
  type CredentialRow,
  type ListedStatus,
  type RecordedCredential,
  type SeenCredential,
  selectLatestOfUser,
  toCredential,
} from './shared/credential-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

export type {
  CredentialRow,
  ListedStatus,
  RecordedCredential,
  SeenCredential,
} from './shared/credential-rows.ts'

/**
 * Which credentials of a site. There is an index for a user, alone or with a status; and one for
 * each of issuer, issuer key and source, only with a status and without the others.
 */
export interface CredentialFilter {
  readonly ppid?: Ppid | undefined
  readonly status?: ListedStatus | 'new' | undefined
  readonly issuer?: string | undefined
  /** The verificationMethod. */
  readonly issuerKey?: string | undefined
  readonly source?: SeenCredential['source'] | undefined
}

/**
 * Records credentials that have been seen. Skips known ones, and those of sites that do not exist.
 * With a context, the actor has issued them here, and each new one gets its audit row,
 * `credential.issue`.
 */
export function* recordCredentials(
  seen: readonly RecordedCredential[],
  atMs: number,
  context?: AuditContext,
): Transaction<void> {
  const bySite = Map.groupBy(seen, ({ siteId }) => siteId)
  // In a fixed order, so that two batches with the same credentials do not wait for each other.
  for (const siteId of [...bySite.keys()].sort()) {
    const ofSite = bySite.get(siteId) ?? []
    const inOrder = ofSite.sort((a, b) => (a.credentialId < b.credentialId ? -1 : 1))
    const [isThere, status] = yield* together(hasSite(siteId), findStatus(siteId, ofSite))
    if (!isThere) continue
    for (const group of context === undefined ? toGroups(inOrder) : toSingles(inOrder)) {
      const [first] = group as [RecordedCredential]
      if (group.length === 1) yield* recordCredential(first, status, atMs, context)
      else yield* exec(INSERT_GROUP, ...group.flatMap((credential) => toValues(credential, status, atMs)))
    }
  }
}

/**
 * So many rows are inserted by one statement. With PostgreSQL on the same machine, 500 take 45
 * instead of 105 ms.
 */
const GROUP = 32

/**
 * Whole groups in the given order, and each of the others alone. A delegated credential gets its
 * links only if it was not known, so it is never in a group.
 */
function toGroups(inOrder: readonly RecordedCredential[]): RecordedCredential[][] {
  const groups: RecordedCredential[][] = []
  let open: RecordedCredential[] = []
  for (const credential of inOrder) {
    if (credential.chain.length > 1) {
      groups.push(...toSingles(open), [credential])
      open = []
    } else if (open.push(credential) === GROUP) {
      groups.push(open)
      open = []
    }
  }
  return [...groups, ...toSingles(open)]
}

function toSingles(credentials: readonly RecordedCredential[]): RecordedCredential[][] {
  return credentials.map((credential) => [credential])
}

/**
 * `active` for what a view has just accepted: to classify it later would take as long as to record
 * it. `new` when a node with a later view has begun to classify.
 */
function* findStatus(
  siteId: SiteId,
  ofSite: readonly RecordedCredential[],
): Transaction<ListedStatus | 'new'> {
  const viewSeq = Math.min(...ofSite.map((credential) => credential.viewSeq ?? -1))
  return viewSeq >= 0 && (yield* mayClassify(siteId, viewSeq)) ? 'active' : 'new'
}

function* hasSite(siteId: SiteId): Transaction<boolean> {
  return (yield* row('SELECT 1 AS one FROM sites WHERE site_id = $1', siteId)) !== undefined
}

/** The same for one credential. The caller knows that there is such a site. */
export function* recordCredential(
  seen: SeenCredential,
  status: ListedStatus | 'new',
  atMs: number,
  context?: AuditContext,
): Transaction<void> {
  const { siteId, credentialId } = seen
  const learned = yield* countChanged(INSERT_ONE, ...toValues(seen, status, atMs))
  if (learned === 0) return
  for (const linkId of listLinks(seen)) {
    yield* exec(
      'INSERT INTO credential_links (site_id, credential_id, link_id) VALUES ($1, $2, $3)',
      siteId,
      credentialId,
      linkId,
    )
  }
  if (context === undefined) return
  const detail = { ppid: seen.ppid }
  yield* recordAudit({ siteId, action: 'credential.issue', target: credentialId, detail, context })
}

const COLUMNS = [
  ...['site_id', 'credential_id', 'ppid', 'issuer', 'scope', 'permission_id', 'chain', 'created'],
  ...['valid_from', 'valid_until', 'holder_bound', 'source', 'known_at', 'issuer_key', 'status'],
]
const INSERT_ONE = insertText(1)
const INSERT_GROUP = insertText(GROUP)

function insertText(count: number): string {
  const toRow = (at: number) => `(${COLUMNS.map((_, i) => `$${at * COLUMNS.length + i + 1}`).join(', ')})`
  const values = Array.from({ length: count }, (_, at) => toRow(at)).join(', ')
  return `INSERT INTO credentials (${COLUMNS.join(', ')}) VALUES ${values} ON CONFLICT (site_id, credential_id) DO NOTHING`
}

/** The values of the columns. */
function toValues(seen: SeenCredential, status: ListedStatus | 'new', atMs: number): SqlValue[] {
  const { siteId, credentialId, chain } = seen
  return [
    siteId,
    credentialId,
    seen.ppid,
    seen.issuer,
    JSON.stringify(seen.scope),
    seen.permissionId,
    JSON.stringify(chain),
    Math.min(...chain.map(({ createdMs }) => createdMs)),
    seen.validFromMs,
    seen.validUntilMs,
    seen.holderBound ? 1 : 0,
    seen.source,
    atMs,
    seen.issuerKey ?? null,
    status,
  ]
}

/** The ids of the credentials that this one was delegated from. */
function listLinks({ credentialId, chain }: SeenCredential): string[] {
  return [...new Set(chain.map((link) => link.credentialId))].filter((linkId) => linkId !== credentialId)
}

/**
 * The newest first. A row is named by `toCredentialName`. With a status, those that were classified
 * so; `new` are those that were not classified yet. Reads only the rows that it returns.
 */
export const credentials = read(function* (
  siteId: SiteId,
  { ppid, status, issuer, issuerKey, source }: CredentialFilter,
  { after, limit }: Page,
): Transaction<readonly CredentialRow[]> {
  const isOfUser = [status, issuer, issuerKey, source].every((each) => each === undefined)
  if (ppid !== undefined && isOfUser) return yield* ofUser(siteId, ppid, { after, limit })
  const [knownAt = '', credentialId = ''] = after?.split(' ') ?? []
  // No `OR` over the cases, and no subquery for the last row: an index would then be read from its
  // beginning for every page.
  const found = yield* rows(
    `SELECT ${CREDENTIAL_COLUMNS} FROM ${CREDENTIAL_TABLES} WHERE c.site_id = $1
       AND ${ppid === undefined ? 'CAST($2 AS TEXT) IS NULL' : 'c.ppid = $2'}
       AND ${status === undefined ? 'CAST($3 AS TEXT) IS NULL' : 'c.status = $3'}
       AND ${issuer === undefined ? 'CAST($7 AS TEXT) IS NULL' : 'c.issuer = $7'}
       AND ${issuerKey === undefined ? 'CAST($8 AS TEXT) IS NULL' : 'c.issuer_key = $8'}
       AND ${source === undefined ? 'CAST($9 AS TEXT) IS NULL' : 'c.source = $9'}
       AND ${
         after === undefined
           ? 'CAST($4 AS BIGINT) IS NULL AND CAST($5 AS TEXT) IS NULL'
           : '(c.known_at, c.credential_id) < ($4, $5)'
       }
     ORDER BY c.known_at DESC, c.credential_id DESC LIMIT $6`,
    siteId,
    ppid ?? null,
    status ?? null,
    after === undefined ? null : Number(knownAt),
    after === undefined ? null : credentialId,
    limit,
    issuer ?? null,
    issuerKey ?? null,
    source ?? null,
  )
  return found.map(toCredential)
})

/** A page of `credentials` of a user with any status. */
function* ofUser(siteId: SiteId, ppid: Ppid, { after, limit }: Page): Transaction<readonly CredentialRow[]> {
  const [knownAt = '', credentialId = ''] = after?.split(' ') ?? []
  const latest = selectLatestOfUser(after === undefined ? '' : 'AND (known_at, credential_id) < ($4, $5)')
  // The ids first, as in `BY_ID_FIRST`.
  const found = yield* rows(
    `SELECT ${CREDENTIAL_COLUMNS} FROM ${CREDENTIAL_TABLES} WHERE CAST(c.site_id AS TEXT) = $1
       AND c.credential_id IN (SELECT credential_id FROM (${latest}) latest)
     ORDER BY c.known_at DESC, c.credential_id DESC`,
    siteId,
    ppid,
    limit,
    ...(after === undefined ? [] : [Number(knownAt), credentialId]),
  )
  return found.map(toCredential)
}

/**
 * Those that expire at `fromMs` or later, and before `beforeMs`: the first to expire first, and of
 * those that expire together the first to be known. A row is named by `toEndName`. Reads only the
 * rows that it returns.
 */
export const credentialsByEnd = read(function* (
  siteId: SiteId,
  { fromMs, beforeMs }: { readonly fromMs: number; readonly beforeMs: number },
  { after, limit }: Page,
): Transaction<readonly CredentialRow[]> {
  const [endMs = '', knownAtMs = '', credentialId = ''] = after?.split(' ') ?? [String(fromMs), '0']
  // Without the other bound: a store must not choose it for the index in place of this one.
  const found = yield* rows(
    `SELECT ${CREDENTIAL_COLUMNS} FROM ${CREDENTIAL_TABLES} WHERE c.site_id = $1
       AND (c.valid_until, c.known_at, c.credential_id) > ($2, $3, $4)
     ORDER BY c.valid_until, c.known_at, c.credential_id LIMIT $5`,
    siteId,
    Number(endMs),
    Number(knownAtMs),
    credentialId,
    limit,
  )
  return found.map(toCredential).filter(({ validUntilMs }) => validUntilMs < beforeMs)
})

/**
 * What is known of each id; with a site, only what that site knows. An id that several sites know
 * has several rows; one that was never presented or issued has none.
 */
export const statuses = read(function* (
  ids: readonly CredentialId[],
  siteId: SiteId | undefined,
): Transaction<readonly CredentialRow[]> {
  if (ids.length === 0) return []
  const list = ids.map((_, i) => `$${i + 2}`).join(', ')
  const found = yield* rows(
    `SELECT ${CREDENTIAL_COLUMNS} FROM ${CREDENTIAL_TABLES} WHERE c.credential_id IN (${list})
       AND ${siteId === undefined ? 'CAST($1 AS TEXT) IS NULL' : 'c.site_id = $1'} ORDER BY c.credential_id, c.site_id`,
    siteId ?? null,
    ...ids,
  )
  return found.map(toCredential)
})
