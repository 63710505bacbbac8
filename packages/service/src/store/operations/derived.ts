import type { KeyState } from '@countersign/core'
import { json, number, optionalNumber, text } from '../columns.ts'
import { RowForged } from '../errors.ts'
import { type Row, readLog, row, rows, type Transaction } from '../transaction.ts'
import { type ExpectedRows, type ReplayedLog, replayLog } from './shared/expected-rows.ts'
import { requireIntact } from './shared/mac-rows.ts'
import type { NewToken } from './tokens.ts'

/** A row of a table that is derived from the log is missing, or differs from the log. */
export interface DerivedFault {
  readonly table: string
  readonly key: string
  readonly fault: 'row_missing' | 'row_differs'
}

const PAGE = 1000
/** As in the contract, which the writer thread does not load. */
const LOG_KEPT_MS_MIN = 396 * 86_400_000

/**
 * Compares the tables that are derived from the log with it, and returns the first row that is
 * missing or differs. Skips rows that were changed by entries appended meanwhile. Rows of
 * revocations that can no longer matter may be there or not.
 */
export const derivedFault = readLog(function* (
  epoch: string,
  nowMs: number,
): Transaction<DerivedFault | undefined> {
  const log = yield* replayLog(epoch)
  const { expected, position } = log
  const beforeMs = nowMs - LOG_KEPT_MS_MIN
  return (
    (yield* findUsersFault(log, beforeMs)) ??
    (yield* findCredentialsFault(log, beforeMs)) ??
    (yield* findTokensFault(log, beforeMs)) ??
    (yield* findIssuersFault(expected, position)) ??
    (yield* findSitesFault(expected, position))
  )
})

function* findUsersFault(log: ReplayedLog, beforeMs: number): Transaction<DerivedFault | undefined> {
  const { users } = log.expected
  const left = new Set(users.keys())
  // A cut removes old cut-offs from pages and rows, but not from both at the same time.
  const toKept = (cutoffMs: number | undefined) =>
    cutoffMs !== undefined && cutoffMs < beforeMs && log.basePosition > 0 ? undefined : cutoffMs
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
        state === undefined
          ? found.revoked === 0 && isRemovable(log, at, optionalNumber(found, 'cutoff'), beforeMs)
          : found.revoked === state.revoked &&
            toKept(optionalNumber(found, 'cutoff')) === toKept(state.cutoff ?? undefined) &&
            isAt(log, at, state.position)
      if (!isRight && !(yield* isNewer(at, log.position)))
        return { table: 'users', key, fault: 'row_differs' }
    }
    if (page.length < PAGE) break
  }
  const isNeeded = (key: string) =>
    users.get(key)?.revoked === 1 || !((users.get(key)?.cutoff ?? 0) < beforeMs)
  return findMissing('users', [...left].filter(isNeeded))
}

/** Whether the row is from that entry, or from one before the checkpoint. */
function isAt({ checkpointPosition }: ReplayedLog, found: number, expected: number | undefined): boolean {
  return expected === undefined ? found <= checkpointPosition : found === expected
}

/** Whether a row that the log does not have any more may still be there. */
function isRemovable(
  { basePosition }: ReplayedLog,
  position: number,
  atMs: number | undefined,
  beforeMs: number,
): boolean {
  return position <= basePosition && atMs !== undefined && atMs < beforeMs
}

function* findCredentialsFault(log: ReplayedLog, beforeMs: number): Transaction<DerivedFault | undefined> {
  const { credentials } = log.expected
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
      const expected = credentials.get(key)
      const isRight =
        expected === undefined
          ? isRemovable(log, at, number(found, 'at'), beforeMs)
          : isAt(log, at, expected.position)
      if (!isRight && !(yield* isNewer(at, log.position)))
        return { table: 'credential_revocations', key, fault: 'row_differs' }
    }
    if (page.length < PAGE) break
  }
  const isNeeded = (key: string) => !((credentials.get(key)?.atMs ?? Infinity) < beforeMs)
  return findMissing('credential_revocations', [...left].filter(isNeeded))
}

/**
 * Only tokens that are still there: expired ones are removed. A token is revoked by itself, or with
 * its user or a credential.
 */
function* findTokensFault(
  { expected: { tokens, users, credentials }, position, basePosition }: ReplayedLog,
  beforeMs: number,
): Transaction<DerivedFault | undefined> {
  for (let after = ''; ; ) {
    const page = yield* rows('SELECT * FROM tokens WHERE sha256 > $1 ORDER BY sha256 LIMIT $2', after, PAGE)
    for (const found of page) {
      after = text(found, 'sha256')
      const site = text(found, 'site_id')
      const revokedAtMs = optionalNumber(found, 'revoked_at')
      // A cut may come before the removal, in a store that was out of use.
      const isOld = revokedAtMs !== undefined && revokedAtMs < beforeMs && basePosition > 0
      const canBeRevoked = () =>
        isOld ||
        tokens.has(after) ||
        users.has(`${site} ${text(found, 'ppid')}`) ||
        json<NewToken['chain']>(found, 'chain').some(({ credentialId }) =>
          credentials.has(`${site} ${credentialId}`),
        )
      const isRight = revokedAtMs === undefined ? !tokens.has(after) : canBeRevoked()
      if (!isRight && !(yield* hasGrown(position)))
        return { table: 'tokens', key: after, fault: 'row_differs' }
    }
    if (page.length < PAGE) return undefined
  }
}

function* findIssuersFault(
  { issuers }: ExpectedRows,
  position: number,
): Transaction<DerivedFault | undefined> {
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

function* findSitesFault({ sites }: ExpectedRows, position: number): Transaction<DerivedFault | undefined> {
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

function findMissing(table: string, left: readonly string[]): DerivedFault | undefined {
  const [key] = left
  return key === undefined ? undefined : { table, key, fault: 'row_missing' }
}
