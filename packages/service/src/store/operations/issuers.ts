import { formatTime, type KeyState, type Scope, type SiteId } from '@countersign/core'
import type { SignalSender } from '@countersign/core/contract'
import { number } from '../columns.ts'
import { isIssuerId } from '../issuer-id.ts'
import { toKeySource } from '../key-source.ts'
import type { Logged, SiteEntryPosition } from '../logged.ts'
import type { Page } from '../page.ts'
import { type Appended, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { appendEntry } from './shared/append-entry.ts'
import { markCompromisedKeys } from './shared/compromised-keys.ts'
import { requireCurrentIssuer, requireNewIssuer } from './shared/current-rows.ts'
import {
  appendTrusted,
  hasSameState,
  type Issuer,
  type IssuerKey,
  type NewIssuer,
  type OAuthSettings,
  toIssuer,
  toSettings,
} from './shared/issuer-rows.ts'
import { insertNewRow, requireIntact, updateRow } from './shared/mac-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

export type { Issuer, IssuerKey, NewIssuer, OAuthSettings } from './shared/issuer-rows.ts'

export interface ChangedIssuer extends Issuer {
  /** The entry of the change; undefined when it does not concern verifiers. */
  readonly entry: SiteEntryPosition | undefined
}

export interface IssuerChanges {
  readonly status?: 'trusted' | 'distrusted'
  /**
   * A known key keeps its status: the author of the list may not know what the site has said of the
   * key since.
   */
  readonly keys?: readonly IssuerKey[]
  /** For keys from a document: changes nothing once an administrator has pinned the keys. */
  readonly whileFetched?: true
  /** Changes nothing once an administrator has named another source of the keys. */
  readonly fromSource?: string
  /** False once an administrator has pinned the keys. */
  readonly fetched?: boolean
  readonly scope?: readonly Scope[] | null
  readonly credentialTtlSecondsMax?: number | null
  readonly label?: string | null
  /** Only for an OAuth issuer. */
  readonly oauth?: OAuthSettings
}

/** `too_many`: the site has `issuersMax` issuers already, trusted or not. */
export function* addIssuer(
  issuer: NewIssuer,
  context: AuditContext,
  issuersMax?: number,
  knownSeq = 0,
): Transaction<Logged<Issuer> | 'exists' | 'too_many'> {
  const { siteId } = issuer
  yield* lock(toIssuersLock(siteId))
  if (issuersMax !== undefined) {
    const [counted] = yield* rows('SELECT COUNT(*) AS issuers FROM issuers WHERE site_id = $1', siteId)
    if (counted === undefined || number(counted, 'issuers') >= issuersMax) return 'too_many'
  }
  const created = {
    site_id: siteId,
    issuer: issuer.issuer,
    distrusted_at: null,
    created_at: context.atMs,
    entry_seq: 0,
  }
  if (!(yield* insertNewRow('issuers', { ...created, ...toSettings({ ...issuer, status: 'trusted' }) })))
    return 'exists'
  yield* requireNewIssuer(siteId, issuer.issuer, knownSeq)
  const { entry, ...added } = yield* appendState(issuer, context, (after) =>
    appendTrusted(after, context.atMs),
  )
  const { issuer: target } = issuer
  yield* recordAudit({ siteId, action: 'issuer.add', target, seq: entry?.seq, context })
  return added
}

/**
 * As `changeIssuer`, for changes that were resolved from `read`, possibly a while ago. Changes
 * nothing and returns `outdated` when the status, the settings or the origin of the keys have
 * changed since: the changes would undo that.
 */
export function* changeReadIssuer(
  read: Issuer,
  changes: IssuerChanges,
  context: AuditContext,
  knownSeq = 0,
): Transaction<Logged<ChangedIssuer> | undefined | 'outdated'> {
  const { siteId, issuer: name } = read
  yield* lock(toIssuersLock(siteId))
  const found = yield* findIssuerRow(siteId, name)
  if (found !== undefined && !hasSameSettings(toIssuer(found), read)) return 'outdated'
  return yield* changeIssuer(siteId, name, changes, context, knownSeq)
}

/**
 * Replaces what is given. A change of status appends `issuer.trusted` or `issuer.distrusted`. A
 * compromised key stays compromised.
 */
export function* changeIssuer(
  siteId: SiteId,
  name: string,
  changes: IssuerChanges,
  context: AuditContext,
  knownSeq = 0,
): Transaction<Logged<ChangedIssuer> | undefined> {
  yield* lock(toIssuersLock(siteId))
  const found = yield* findIssuerRow(siteId, name)
  if (found === undefined) return undefined
  yield* requireCurrentIssuer(found, knownSeq)
  const before = toIssuer(found)
  const { whileFetched = false, fromSource, ...named } = changes
  const unchanged = { ...before, position: 0, entry: undefined }
  if (whileFetched && !before.fetched) return unchanged
  if (fromSource !== undefined && fromSource !== toKeySource(before)) return unchanged
  const {
    status = before.status,
    keys = before.keys,
    fetched = before.fetched,
    scope,
    credentialTtlSecondsMax,
    label,
    oauth = before.oauth,
  } = named
  const wanted = {
    ...before,
    status,
    keys: keys.map((key) => keepStatus(key, before.keys)),
    fetched,
    scope: applyChange(before.scope, scope),
    credentialTtlSecondsMax: applyChange(before.credentialTtlSecondsMax, credentialTtlSecondsMax),
    label: applyChange(before.label, label),
    oauth,
  }
  // Snapshots state since when.
  const isDistrustedNow = status === 'distrusted' && before.status === 'trusted'
  yield* updateRow('issuers', found, {
    ...toSettings(wanted),
    ...(isDistrustedNow && { distrusted_at: context.atMs }),
    ...(named.keys !== undefined && !whileFetched && { keys_at: context.atMs }),
  })
  const after = yield* appendState(before, context, (state) => appendChange(before, state, context))
  const isChanged = JSON.stringify(after) !== JSON.stringify(unchanged)
  // A periodic fetch without a change needs no audit row.
  if (isChanged || context.actor !== 'system') {
    const detail = { changed: Object.keys(named) }
    const outcome = isChanged ? 'done' : 'unchanged'
    const seq = after.entry?.seq
    yield* recordAudit({ siteId, action: 'issuer.change', target: name, outcome, seq, detail, context })
  }
  return after
}

/** `final`: the key is compromised, which is permanent. */
export function* changeIssuerKey(
  siteId: SiteId,
  name: string,
  keyId: string,
  status: KeyState['status'],
  context: AuditContext,
  knownSeq = 0,
): Transaction<Logged<ChangedIssuer> | undefined | 'final'> {
  yield* lock(toIssuersLock(siteId))
  const found = yield* findIssuerRow(siteId, name)
  if (found === undefined) return undefined
  yield* requireCurrentIssuer(found, knownSeq)
  const before = toIssuer(found)
  const key = before.keys.find(({ id }) => id === keyId)
  if (key === undefined) return undefined
  if (key.status === 'compromised' && status !== 'compromised') return 'final'
  const audited = {
    siteId,
    action: 'issuer_key.change',
    target: name,
    detail: { key_id: keyId, status },
    context,
  }
  if (key.status === status) {
    yield* recordAudit({ ...audited, outcome: 'unchanged' })
    return { ...before, position: 0, entry: undefined }
  }
  const { retired_at, ...rest } = key
  const next =
    status === 'retired' ? { ...rest, status, retired_at: formatTime(context.atMs) } : { ...rest, status }
  const keys = before.keys.map((other) => (other === key ? next : other))
  yield* updateRow('issuers', found, { keys: JSON.stringify(keys) })
  const after = yield* appendState(before, context, (state) => appendKeyChange(state, keyId, status, context))
  yield* recordAudit({ ...audited, seq: after.entry?.seq })
  return after
}

/**
 * Appends what `append` says of an issuer that was just written, and stores the number of the entry
 * in its row.
 */
function* appendState(
  { siteId, issuer: name }: NewIssuer,
  { atMs }: AuditContext,
  append: (after: Issuer) => Transaction<Appended | undefined>,
): Transaction<Logged<ChangedIssuer>> {
  yield* markCompromisedKeys(siteId, name, atMs)
  const found = yield* findIssuerRow(siteId, name)
  if (found === undefined) throw new Error('an issuer that was just written is missing')
  const after = toIssuer(found)
  const appended = yield* append(after)
  if (appended === undefined) return { ...after, position: 0, entry: undefined }
  const { epoch, seq, position } = appended
  yield* updateRow('issuers', found, { entry_seq: seq })
  return { ...after, position, entry: { siteId, epoch, seq, atMs } }
}

/**
 * Appends what changes for verifiers. Changes of a distrusted issuer do not concern them: when it
 * is trusted again, the entry has its whole state.
 */
function* appendChange(
  before: Issuer,
  after: Issuer,
  context: AuditContext,
): Transaction<Appended | undefined> {
  const { siteId, issuer } = after
  if (after.status === 'distrusted') {
    return before.status === 'distrusted'
      ? undefined
      : yield* appendEntry(siteId, 'issuer.distrusted', { issuer }, context.atMs)
  }
  if (before.status === 'trusted' && hasSameState(before, after)) return undefined
  return yield* appendTrusted(after, context.atMs)
}

/** A compromised key is always appended, because it concerns every issuer. */
function* appendKeyChange(
  after: Issuer,
  keyId: string,
  status: KeyState['status'],
  context: AuditContext,
): Transaction<Appended | undefined> {
  const { siteId, issuer } = after
  const body = { issuer, key_id: keyId, at: formatTime(context.atMs) }
  if (status === 'compromised') return yield* appendEntry(siteId, 'key.compromised', body, context.atMs)
  if (after.status === 'distrusted') return undefined
  if (status === 'retired') return yield* appendEntry(siteId, 'key.retired', body, context.atMs)
  return yield* appendTrusted(after, context.atMs)
}

/**
 * Throws a `RowForged` for a row that the service did not write, as the lists do: the next change
 * would append what it says to the log. `name` may also be the `issuerId`.
 */
export const issuer = read(function* (siteId: SiteId, name: string): Transaction<Issuer | undefined> {
  const found = yield* findIssuerRow(siteId, name)
  return found && toIssuer(found)
})

function* findIssuerRow(siteId: SiteId, name: string): Transaction<Row | undefined> {
  const column = isIssuerId(name) ? 'issuer_id' : 'issuer'
  const found = yield* row(`SELECT * FROM issuers WHERE site_id = $1 AND ${column} = $2`, siteId, name)
  return found && (yield* requireIntact('issuers', found))
}

/** By name. */
export const issuers = read(function* (
  siteId: SiteId,
  { after, limit }: Page,
): Transaction<readonly Issuer[]> {
  const found = yield* rows(
    'SELECT * FROM issuers WHERE site_id = $1 AND issuer > $2 ORDER BY issuer LIMIT $3',
    siteId,
    after ?? '',
    limit,
  )
  for (const each of found) yield* requireIntact('issuers', each)
  return found.map(toIssuer)
})

/** A sender of signals, with the OAuth issuer whose users and sessions it reports. */
export interface RegisteredSender {
  readonly issuer: Issuer
  readonly sender: SignalSender
}

/** The senders of signals of a site. Those of distrusted issuers are left out. */
export const signalSenders = read(function* (siteId: SiteId): Transaction<readonly RegisteredSender[]> {
  const found = yield* rows(
    `SELECT * FROM issuers WHERE site_id = $1 AND status = 'trusted' AND oauth IS NOT NULL ORDER BY issuer`,
    siteId,
  )
  for (const each of found) yield* requireIntact('issuers', each)
  return found
    .map(toIssuer)
    .flatMap((issuer) => (issuer.oauth?.signals ?? []).map((sender) => ({ issuer, sender })))
})

/**
 * One lock for all issuers of a site: a key that is compromised at one may be listed by another.
 */
function toIssuersLock(siteId: SiteId): string {
  return `issuers ${siteId}`
}

/** Not the keys, which may be refreshed at any time: a known key keeps its status. */
function hasSameSettings(one: Issuer, other: Issuer): boolean {
  const toText = ({ status, fetched, oauth }: Issuer) => JSON.stringify([status, fetched, oauth])
  return toText(one) === toText(other)
}

/** The thumbprint of an OAuth key says which key it is; its name and algorithm may change. */
function keepStatus(key: IssuerKey, known: readonly IssuerKey[]): IssuerKey {
  const same = known.find(
    ({ id, kid, key: text }) => id === key.id && (kid !== undefined || text === key.key),
  )
  if (same?.kid === undefined) return same ?? key
  return { ...same, key: key.key, kid: key.kid ?? null }
}

/** Undefined keeps the value, null removes it. */
function applyChange<T>(before: T | undefined, change: T | null | undefined): T | undefined {
  return change === undefined ? before : (change ?? undefined)
}
