import { number, optionalNumber, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { type Person, person } from './people.ts'
import { consoleLock } from './shared/console-lock.ts'
import {
  type ConsoleSession,
  insertSession,
  type NewConsoleSession,
  toSession,
} from './shared/console-rows.ts'
import { GRANTING_LOCK, LOG_COLUMNS, loadKeysDeleted, renewGrantingMacs } from './shared/granting-rows.ts'
import { toLogRow } from './shared/log-rows.ts'
import {
  createRowMac,
  insertRow,
  intact,
  intactPage,
  isIntact,
  requireIntact,
  updateRow,
} from './shared/mac-rows.ts'
import { recordAudit } from './shared/record-audit.ts'
import { consumeOnce } from './single-use.ts'

export interface NewPasskey {
  /** The public name of the passkey. */
  readonly passkeyId: string
  /** The id that the authenticator has given it, in base64url. */
  readonly credentialId: string
  readonly personId: string
  /** The host name that it is bound to. */
  readonly rpId: string
  readonly name: string
  /** A COSE key, in base64url. */
  readonly publicKey: string
  /** How often the authenticator says that it has signed. Zero when it does not count. */
  readonly counter: number
}

export interface Passkey extends NewPasskey {
  readonly createdAtMs: number
  readonly usedAtMs: number | undefined
}

/** A response of an authenticator whose signature the caller has verified. */
export interface PasskeyUse {
  readonly passkeyId: string
  readonly counter: number
  readonly challenge: UsedChallenge
}

export interface UsedChallenge {
  readonly sha256: string
  readonly expiresAtMs: number
}

export interface OpenSession {
  readonly session: ConsoleSession
  readonly person: Person
}

const PASSKEY_AND_LOG = `SELECT k.*, ${LOG_COLUMNS} FROM passkeys k JOIN log ON log.one = 1`

/**
 * Adds a passkey, and uses up its challenge. `full` when the person has `passkeysMax` already,
 * `exists` when the authenticator has given the id before, `used` when the challenge was used.
 * Undefined unless there is such a person, who is active.
 */
export function* addPasskey(
  passkey: NewPasskey,
  challenge: UsedChallenge,
  passkeysMax: number,
  context: AuditContext,
): Transaction<Passkey | 'full' | 'exists' | 'used' | undefined> {
  const { passkeyId, credentialId, personId } = passkey
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  if (!(yield* useChallenge(challenge))) return 'used'
  if ((yield* person(personId))?.status !== 'active') return undefined
  const counted = yield* row('SELECT COUNT(*) AS passkeys FROM passkeys WHERE person_id = $1', personId)
  if (counted !== undefined && number(counted, 'passkeys') >= passkeysMax) return 'full'
  const taken = yield* row('SELECT 1 AS one FROM passkeys WHERE credential_id = $1', credentialId)
  if (taken !== undefined) return 'exists'
  const created: Row = {
    passkey_id: passkeyId,
    credential_id: credentialId,
    person_id: personId,
    rp_id: passkey.rpId,
    name: passkey.name,
    public_key: passkey.publicKey,
    counter: passkey.counter,
    created_at: context.atMs,
    used_at: null,
  }
  const mac = yield* createRowMac('passkeys', { ...created, keys_deleted: yield* loadKeysDeleted() })
  yield* exec(
    `INSERT INTO passkeys (passkey_id, credential_id, person_id, rp_id, name, public_key, counter, created_at, used_at, mac)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    ...Object.values(created),
    mac,
  )
  const detail = { person: personId, rp_id: passkey.rpId }
  yield* recordAudit({ siteId: null, action: 'passkey.add', target: passkeyId, detail, context })
  return toPasskey(created)
}

/** Changes the name. Undefined when the person has no such passkey. */
export function* renamePasskey(
  personId: string,
  passkeyId: string,
  name: string,
  context: AuditContext,
): Transaction<Passkey | undefined> {
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  const found = yield* findIntact('passkey_id', passkeyId)
  if (found?.person_id !== personId) return undefined
  const outcome = found.name === name ? 'unchanged' : 'done'
  yield* updateRow('passkeys', found, { name })
  const detail = { person: personId }
  yield* recordAudit({ siteId: null, action: 'passkey.rename', target: passkeyId, outcome, detail, context })
  return toPasskey({ ...found, name })
}

/**
 * Removes a passkey, and ends the sessions that were opened with it. Other sessions of the person
 * lose their elevation, except `keptSessionId`, which asks. False when the person has no such
 * passkey.
 */
export function* removePasskey(
  personId: string,
  passkeyId: string,
  keptSessionId: string,
  context: AuditContext,
): Transaction<boolean> {
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  const gone = yield* row(
    'DELETE FROM passkeys WHERE passkey_id = $1 AND person_id = $2 RETURNING passkey_id',
    passkeyId,
    personId,
  )
  if (gone === undefined) return false
  yield* exec(
    'DELETE FROM console_sessions WHERE person_id = $1 AND door = $2',
    personId,
    toPasskeyDoor(passkeyId),
  )
  const others = yield* rows(
    'SELECT * FROM console_sessions WHERE person_id = $1 AND session_id <> $2 AND elevated_until > $3',
    personId,
    keptSessionId,
    context.atMs,
  )
  for (const other of others) {
    if (yield* isIntact('console_sessions', other))
      yield* updateRow('console_sessions', other, { elevated_until: context.atMs })
  }
  // The row must not become valid again when it is put back.
  yield* renewGrantingMacs()
  const detail = { person: personId }
  yield* recordAudit({ siteId: null, action: 'passkey.remove', target: passkeyId, detail, context })
  return true
}

/**
 * Opens a session for the person of a passkey, and uses up the challenge. `replaced` is the session
 * that the browser had before, which ends. With more than `sessionsMax` sessions of the person, the
 * oldest ends. Undefined when the challenge was used, the passkey was removed or has counted
 * further since, or its person was ended. `provider`: the person signs in at the identity provider,
 * which could otherwise not end their access.
 */
export function* openPasskeySession(
  use: PasskeyUse,
  session: NewConsoleSession,
  replaced: string | undefined,
  sessionsMax: number,
  { atMs, requestId }: Pick<AuditContext, 'atMs' | 'requestId'>,
): Transaction<OpenSession | 'provider' | undefined> {
  const named = yield* row('SELECT person_id FROM passkeys WHERE passkey_id = $1', use.passkeyId)
  if (named === undefined) return undefined
  const personId = text(named, 'person_id')
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  const owner = yield* usePasskey(use, personId, atMs)
  if (owner === undefined) return undefined
  const identity = yield* row('SELECT 1 AS one FROM person_identities WHERE person_id = $1 LIMIT 1', personId)
  if (identity !== undefined) return 'provider'
  const door = toPasskeyDoor(use.passkeyId)
  const context = { actor: `person:${personId}`, atMs, requestId }
  const created = yield* insertSession(
    { ...session, personId, door, createdAtMs: atMs, seenAtMs: atMs },
    { replaced, sessionsMax, context },
  )
  const detail = { door: 'passkey', passkey: use.passkeyId }
  yield* recordAudit({ siteId: null, action: 'session.open', target: session.sessionId, detail, context })
  return { session: created, person: owner }
}

/**
 * Replaces a session by one of another name and secret that is elevated, and uses up the challenge.
 * It keeps how and when it was opened, and its end. Undefined when the session has ended, and as
 * `openPasskeySession` says. A passkey of another person is not accepted.
 */
export function* raiseConsoleSession(
  before: Pick<ConsoleSession, 'sha256' | 'personId'>,
  use: PasskeyUse,
  raised: Pick<NewConsoleSession, 'sha256' | 'sessionId' | 'elevatedUntilMs'>,
  { atMs, requestId }: Pick<AuditContext, 'atMs' | 'requestId'>,
): Transaction<OpenSession | undefined> {
  const { personId } = before
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  const found = yield* row(
    'SELECT * FROM console_sessions WHERE sha256 = $1 AND person_id = $2',
    before.sha256,
    personId,
  )
  const kept = yield* intact('console_sessions', found)
  if (kept === undefined) return undefined
  const owner = yield* usePasskey(use, personId, atMs)
  if (owner === undefined) return undefined
  yield* exec('DELETE FROM console_sessions WHERE sha256 = $1', before.sha256)
  const { mac: _, ...members } = kept
  const created: Row = {
    ...members,
    sha256: raised.sha256,
    session_id: raised.sessionId,
    seen_at: atMs,
    elevated_until: raised.elevatedUntilMs,
  }
  yield* insertRow('console_sessions', created)
  const context = { actor: `person:${personId}`, atMs, requestId }
  const detail = { passkey: use.passkeyId, before: text(kept, 'session_id') }
  yield* recordAudit({ siteId: null, action: 'session.step_up', target: raised.sessionId, detail, context })
  return { session: toSession(created), person: owner }
}

/**
 * By the id that the authenticator has given it. Undefined for a row that the service did not
 * write.
 */
export const passkeyByCredentialId = read(function* (credentialId: string): Transaction<Passkey | undefined> {
  const found = yield* findIntact('credential_id', credentialId)
  return found && toPasskey(found)
})

/** The passkeys of a person by id, which is the order in which they were added. */
export const passkeys = read(function* (personId: string, page: Page): Transaction<readonly Passkey[]> {
  const loadPage = (after: string, limit: number) =>
    rows(
      `${PASSKEY_AND_LOG} WHERE k.person_id = $1 AND k.passkey_id > $2 ORDER BY k.passkey_id LIMIT $3`,
      personId,
      after,
      limit,
    )
  const toName = (found: Row) => text(found, 'passkey_id')
  return (yield* intactPage('passkeys', page, loadPage, toName)).map(toPasskey)
})

/**
 * Records a use, and returns the active person of the passkey. Undefined when the challenge was
 * used before, the passkey is not one of that person, or it has counted as far already: then there
 * are two of it.
 */
function* usePasskey(
  { passkeyId, counter, challenge }: PasskeyUse,
  personId: string,
  atMs: number,
): Transaction<Person | undefined> {
  if (!(yield* useChallenge(challenge))) return undefined
  const found = yield* findIntact('passkey_id', passkeyId)
  if (found?.person_id !== personId) return undefined
  const before = number(found, 'counter')
  if ((counter > 0 || before > 0) && counter <= before) return undefined
  const owner = yield* person(personId)
  if (owner?.status !== 'active') return undefined
  yield* updateRow('passkeys', found, { counter, used_at: atMs })
  return owner
}

function* useChallenge({ sha256, expiresAtMs }: UsedChallenge): Transaction<boolean> {
  return yield* consumeOnce('challenge', sha256, expiresAtMs)
}

function* findIntact(column: 'passkey_id' | 'credential_id', value: string): Transaction<Row | undefined> {
  const found = yield* row(`${PASSKEY_AND_LOG} WHERE k.${column} = $1`, value)
  if (found === undefined) return undefined
  // Without the true number of removals it is unknown whether this is the current row.
  yield* requireIntact('log', toLogRow(found))
  return yield* intact('passkeys', found)
}

/** What a session that was opened with a passkey has as its door, so that it ends with it. */
function toPasskeyDoor(passkeyId: string): string {
  return `passkey:${passkeyId}`
}

function toPasskey(found: Row): Passkey {
  return {
    passkeyId: text(found, 'passkey_id'),
    credentialId: text(found, 'credential_id'),
    personId: text(found, 'person_id'),
    rpId: text(found, 'rp_id'),
    name: text(found, 'name'),
    publicKey: text(found, 'public_key'),
    counter: number(found, 'counter'),
    createdAtMs: number(found, 'created_at'),
    usedAtMs: optionalNumber(found, 'used_at'),
  }
}
