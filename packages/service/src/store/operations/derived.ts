import { type Entry, type KeyState, parseTime, type SettingsState } from '@countersign/core'
import { json, number, optionalNumber, text } from '../columns.ts'
import { RowForged } from '../errors.ts'
import { type Row, readLog, row, rows, type Transaction } from '../transaction.ts'
import { toEntry } from './shared/log-rows.ts'
import { requireIntact } from './shared/mac-rows.ts'
import type { NewToken } from './tokens.ts'

/** A row of a table that is derived from the log is missing, or differs from the log. */
export interface DerivedFault {
  readonly table: string
  readonly key: string
  readonly fault: 'row_missing' | 'row_differs'
}

const PAGE = 1000

interface UserState {
  readonly revoked: 0 | 1
  readonly cutoff: number | null
  /** Of the last entry that changed it. */
  readonly position: number
}

/** What the tables that are derived from the log must contain, by site and name. */
interface Expected {
  readonly users: Map<string, UserState>
  /** Positions of their entries. */
  readonly credentials: Map<string, number>
  readonly tokens: Set<string>
  readonly issuers: Map<
    string,
    { readonly isTrusted: boolean; readonly compromised: ReadonlySet<string>; readonly seq: number }
  >
  readonly sites: Map<string, SettingsState & { readonly seq: number }>
}

/**
 * Compares the tables that are derived from the log with it, and returns the first row that is
 * missing or differs. Skips rows that were changed by entries appended meanwhile.
 */
export const derivedFault = readLog(function* (epoch: string): Transaction<DerivedFault | undefined> {
  const { expected, position } = yield* replay(epoch)
  return (
    (yield* findUsersFault(expected, position)) ??
    (yield* findCredentialsFault(expected, position)) ??
    (yield* findTokensFault(expected, position)) ??
    (yield* findIssuersFault(expected, position)) ??
    (yield* findSitesFault(expected, position))
  )
})

function* replay(epoch: string): Transaction<{ readonly expected: Expected; readonly position: number }> {
  const expected: Expected = {
    users: new Map(),
    credentials: new Map(),
    tokens: new Set(),
    issuers: new Map(),
    sites: new Map(),
  }
  for (let position = 0; ; ) {
    const page = yield* rows(
      'SELECT * FROM entries WHERE epoch = $1 AND position > $2 ORDER BY position LIMIT $3',
      epoch,
      position,
      PAGE,
    )
    for (const found of page) {
      position = number(found, 'position')
      replayEntry(expected, toEntry(found), position)
    }
    if (page.length < PAGE) return { expected, position }
  }
}

function replayEntry(
  { users, credentials, tokens, issuers, sites }: Expected,
  entry: Entry,
  position: number,
): void {
  const { site_id: siteId, seq, kind, body } = entry
  switch (kind) {
    case 'user.revoked':
      users.set(`${siteId} ${body.ppid}`, {
        revoked: 1,
        cutoff: users.get(`${siteId} ${body.ppid}`)?.cutoff ?? null,
        position,
      })
      break
    case 'user.reinstated': {
      const cutoff = Math.max(
        users.get(`${siteId} ${body.ppid}`)?.cutoff ?? 0,
        parseTime(body.reinstated_at) ?? 0,
      )
      users.set(`${siteId} ${body.ppid}`, { revoked: 0, cutoff, position })
      break
    }
    case 'credential.revoked':
      credentials.set(`${siteId} ${body.credential_id}`, position)
      break
    case 'token.revoked':
      tokens.add(body.token_sha256)
      break
    case 'issuer.trusted':
    case 'oauth_issuer.trusted':
    case 'issuer.distrusted':
    case 'key.compromised':
    case 'key.retired': {
      const name = `${siteId} ${body.issuer}`
      const known = issuers.get(name)
      const compromised = new Set(known?.compromised)
      if (kind === 'key.compromised') compromised.add(body.key_id)
      if (kind === 'issuer.trusted' || kind === 'oauth_issuer.trusted')
        for (const { id, status } of body.keys) if (status === 'compromised') compromised.add(id)
      const isTrusted =
        kind === 'issuer.trusted' ||
        kind === 'oauth_issuer.trusted' ||
        (kind !== 'issuer.distrusted' && known?.isTrusted === true)
      issuers.set(name, { isTrusted, compromised, seq })
      break
    }
    case 'site.changed':
      sites.set(siteId, { ...body, seq })
      break
  }
}

function* findUsersFault({ users }: Expected, position: number): Transaction<DerivedFault | undefined> {
  const left = new Set(users.keys())
  for (let [site, ppid] = ['', '']; ; ) {
    const page = yield* rows(
      'SELECT * FROM users WHERE (site_id, ppid) > ($1, $2) ORDER BY site_id, ppid LIMIT $3',
      site,
      ppid,
      PAGE,
    )
    for (const found of page) {
      ;[site, ppid] = [text(found, 'site_id'), text(found, 'ppid')]
      const key = `${site} ${ppid}`
      left.delete(key)
      const at = Math.max(
        number(found, 'revoked_position'),
        optionalNumber(found, 'reinstated_position') ?? 0,
      )
      const state = users.get(key)
      const isRight =
        state !== undefined &&
        found.revoked === state.revoked &&
        found.cutoff === state.cutoff &&
        at === state.position
      if (!isRight && !(yield* isNewer(at, position))) return { table: 'users', key, fault: 'row_differs' }
    }
    if (page.length < PAGE) break
  }
  return findMissing('users', left)
}

function* findCredentialsFault(
  { credentials }: Expected,
  position: number,
): Transaction<DerivedFault | undefined> {
  const left = new Set(credentials.keys())
  for (let [site, id] = ['', '']; ; ) {
    const page = yield* rows(
      `SELECT * FROM credential_revocations WHERE (site_id, credential_id) > ($1, $2) ORDER BY site_id, credential_id LIMIT $3`,
      site,
      id,
      PAGE,
    )
    for (const found of page) {
      ;[site, id] = [text(found, 'site_id'), text(found, 'credential_id')]
      const key = `${site} ${id}`
      left.delete(key)
      const at = number(found, 'position')
      if (credentials.get(key) !== at && !(yield* isNewer(at, position)))
        return { table: 'credential_revocations', key, fault: 'row_differs' }
    }
    if (page.length < PAGE) break
  }
  return findMissing('credential_revocations', left)
}

/**
 * Only tokens that have not expired: others are removed. A token is revoked by itself, or with its
 * user or a credential.
 */
function* findTokensFault(
  { tokens, users, credentials }: Expected,
  position: number,
): Transaction<DerivedFault | undefined> {
  for (let after = ''; ; ) {
    const page = yield* rows('SELECT * FROM tokens WHERE sha256 > $1 ORDER BY sha256 LIMIT $2', after, PAGE)
    for (const found of page) {
      after = text(found, 'sha256')
      const site = text(found, 'site_id')
      const canBeRevoked = () =>
        tokens.has(after) ||
        users.has(`${site} ${text(found, 'ppid')}`) ||
        json<NewToken['chain']>(found, 'chain').some(({ credentialId }) =>
          credentials.has(`${site} ${credentialId}`),
        )
      const isRight = found.revoked_at === null ? !tokens.has(after) : canBeRevoked()
      if (!isRight && !(yield* hasGrown(position)))
        return { table: 'tokens', key: after, fault: 'row_differs' }
    }
    if (page.length < PAGE) return undefined
  }
}

function* findIssuersFault({ issuers }: Expected, position: number): Transaction<DerivedFault | undefined> {
  for (const [key, { isTrusted, compromised, seq }] of issuers) {
    const [site = '', issuer = ''] = key.split(' ')
    const found = yield* row('SELECT * FROM issuers WHERE site_id = $1 AND issuer = $2', site, issuer)
    if (found === undefined) return { table: 'issuers', key, fault: 'row_missing' }
    const isRight =
      (found.status === 'trusted') === isTrusted &&
      found.entry_seq === seq &&
      hasCompromised(found, compromised)
    if (!isRight && !(yield* hasGrown(position))) return { table: 'issuers', key, fault: 'row_differs' }
    const marked = yield* rows(
      'SELECT key_id FROM compromised_keys WHERE site_id = $1 AND issuer = $2',
      site,
      issuer,
    )
    const names = new Set(marked.map((each) => text(each, 'key_id')))
    const lost = [...compromised].find((keyId) => !names.has(keyId))
    if (lost !== undefined) return { table: 'compromised_keys', key: `${key} ${lost}`, fault: 'row_missing' }
  }
  return undefined
}

function hasCompromised(found: Row, compromised: ReadonlySet<string>): boolean {
  return json<readonly KeyState[]>(found, 'keys').every(
    ({ id, status }) => status === 'compromised' || !compromised.has(id),
  )
}

function* findSitesFault({ sites }: Expected, position: number): Transaction<DerivedFault | undefined> {
  for (const [key, { bearer, holder_proof, delegation, credential_ttl_seconds_max, seq }] of sites) {
    const found = yield* row('SELECT * FROM sites WHERE site_id = $1', key)
    if (found === undefined) return { table: 'sites', key, fault: 'row_missing' }
    const isRight =
      found.entry_seq === seq &&
      found.bearer === bearer &&
      found.holder_proof === holder_proof &&
      found.delegation === delegation &&
      found.credential_ttl_seconds_max === credential_ttl_seconds_max
    if (!isRight && !(yield* hasGrown(position))) return { table: 'sites', key, fault: 'row_differs' }
  }
  return undefined
}

/**
 * Whether a row is from an entry that was appended after the log was read. No row can be from an
 * entry beyond the end of the log.
 */
function* isNewer(rowPosition: number, position: number): Transaction<boolean> {
  return rowPosition > position && rowPosition <= (yield* readLogEnd())
}

/** If so, an entry that was not read may have changed a row. */
function* hasGrown(position: number): Transaction<boolean> {
  return (yield* readLogEnd()) !== position
}

/** Throws a `RowForged` for a log row that the service did not write. */
function* readLogEnd(): Transaction<number> {
  const log = yield* row('SELECT * FROM log WHERE one = 1')
  if (log === undefined) throw new RowForged('log', '1')
  return number(yield* requireIntact('log', log), 'position')
}

function findMissing(table: string, left: ReadonlySet<string>): DerivedFault | undefined {
  const [key] = left
  return key === undefined ? undefined : { table, key, fault: 'row_missing' }
}
