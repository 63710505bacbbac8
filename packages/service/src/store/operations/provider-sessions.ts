import { optionalText, text } from '../columns.ts'
import { exec, lock, type Row, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { changePerson, createPerson, type Person, type PersonRole, person } from './people.ts'
import { consoleLock } from './shared/console-lock.ts'
import { type ConsoleSession, insertSession, type NewConsoleSession } from './shared/console-rows.ts'
import { insertRow, intact, requireIntact } from './shared/mac-rows.ts'
import { AUDIT_REJECTED, recordAudit } from './shared/record-audit.ts'

/** What the identity provider says about a person who signs in. */
export interface ProviderSignIn {
  readonly issuer: string
  /** `sub`, which never names another account of that issuer. */
  readonly subject: string
  /** `sid`, if the provider sends one. */
  readonly sid: string | undefined
  /** When the provider made the statement, by its own clock. */
  readonly issuedAtMs: number
  /** Undefined: the name stays as it is. */
  readonly name: string | undefined
  /** For a new person without a name. */
  readonly nameOtherwise: string
  /** The roles that the groups of the person have. */
  readonly roles: readonly PersonRole[]
  /** The only person who may sign in. Undefined: anyone. */
  readonly expectedPersonId: string | undefined
  /** The id of the person, if they sign in for the first time. */
  readonly newPersonId: string
}

/** A session to be opened; see `insertSession`. */
export interface ProviderSessionOrder {
  readonly session: NewConsoleSession
  readonly replaced: string | undefined
  readonly sessionsMax: number
  readonly peopleMax: number
}

/**
 * Why a person gets no session. `no_role`: no group has a role. `ended`: an operator has ended the
 * access. `full`: there are too many people. `logged_out`: the provider has ended this sign-in
 * meanwhile. `other_person`: it is not the expected one.
 */
export type ProviderRejection = 'no_role' | 'ended' | 'full' | 'logged_out' | 'other_person'

export type ProviderSession =
  | { readonly state: 'opened'; readonly session: ConsoleSession; readonly person: Person }
  | { readonly state: ProviderRejection; readonly personId: string | undefined }

/** A logout that the identity provider has signed. */
export interface ProviderLogout {
  readonly issuer: string
  readonly jti: string
  /** At least one of the two. */
  readonly subject: string | undefined
  readonly sid: string | undefined
  readonly bodySha256: string
  readonly issuedAtMs: number
  /** Until when it is kept to recognize repetitions. */
  readonly expiresAtMs: number
}

export type EndedByLogout =
  | { readonly state: 'ended'; readonly personIds: readonly string[] }
  | { readonly state: 'repeated' | 'other_body' }

/** Sign-ins and logouts follow each other, so that no session is opened beside its logout. */
const PROVIDER_LOCK = 'console provider'
const REASON = 'sign-in with the identity provider'

/**
 * Opens a session for a person after the identity provider has confirmed the account. The first
 * time, the person is added. The name and the roles follow what the provider says.
 */
export function* openProviderSession(
  signIn: ProviderSignIn,
  order: ProviderSessionOrder,
  { atMs, requestId }: Pick<AuditContext, 'atMs' | 'requestId'>,
): Transaction<ProviderSession> {
  yield* lock(PROVIDER_LOCK)
  const context: AuditContext = { actor: `sender:${signIn.issuer}`, atMs, requestId, reason: REASON }
  const known = yield* findIdentity(signIn.issuer, signIn.subject)
  const before = known === undefined ? undefined : yield* person(known)
  const rejection = yield* findRejection(signIn, known, before)
  const found = rejection ?? (yield* bringUpToDate(signIn, before, order.peopleMax, context))
  const current = typeof found === 'string' ? found : yield* lockActive(found.personId)
  if (typeof current === 'string') {
    yield* recordAudit({
      siteId: null,
      action: 'session.open',
      target: known ?? signIn.subject,
      outcome: AUDIT_REJECTED,
      detail: { door: 'oidc', code: current },
      context,
    })
    return { state: current, personId: known }
  }
  const { personId } = current
  const { session, replaced, sessionsMax } = order
  const asPerson = { actor: `person:${personId}`, atMs, requestId }
  const created = yield* insertSession(
    { ...session, personId, door: 'oidc', createdAtMs: atMs, seenAtMs: atMs },
    { replaced, sessionsMax, providerSid: signIn.sid, context: asPerson },
  )
  yield* recordAudit({
    siteId: null,
    action: 'session.open',
    target: session.sessionId,
    detail: { door: 'oidc' },
    context: asPerson,
  })
  return { state: 'opened', session: created, person: current }
}

/** Ends the sessions that a logout names, and records it. A repeated one changes nothing. */
export function* endProviderSessions(
  logout: ProviderLogout,
  context: AuditContext,
): Transaction<EndedByLogout> {
  const { issuer, jti, subject, sid, bodySha256 } = logout
  yield* lock(PROVIDER_LOCK)
  const before = yield* row('SELECT * FROM provider_logouts WHERE issuer = $1 AND jti = $2', issuer, jti)
  if (before !== undefined) {
    yield* requireIntact('provider_logouts', before)
    return { state: text(before, 'body_sha256') === bodySha256 ? 'repeated' : 'other_body' }
  }
  yield* insertRow('provider_logouts', {
    issuer,
    jti,
    subject: subject ?? null,
    sid: sid ?? null,
    body_sha256: bodySha256,
    issued_at: logout.issuedAtMs,
    expires_at: logout.expiresAtMs,
  })
  const personIds = [...new Set((yield* findSessions(logout)).map((found) => text(found, 'person_id')))]
  if (personIds.length === 0) return { state: 'ended', personIds }
  yield* lock(...personIds.map(consoleLock))
  // Again: a step-up may have replaced a session by one with another id until the lock was there.
  for (const found of yield* findSessions(logout)) {
    const [target, personId] = [text(found, 'session_id'), text(found, 'person_id')]
    yield* exec('DELETE FROM console_sessions WHERE session_id = $1', target)
    const detail = { person: personId, door: 'oidc' }
    yield* recordAudit({ siteId: null, action: 'session.end', target, reason: 'logout', detail, context })
  }
  return { state: 'ended', personIds }
}

/** The person of an account. Throws a `RowForged` for a row that the service did not write. */
function* findIdentity(issuer: string, subject: string): Transaction<string | undefined> {
  const found = yield* row(
    'SELECT * FROM person_identities WHERE issuer = $1 AND subject = $2',
    issuer,
    subject,
  )
  return found === undefined ? undefined : text(yield* requireIntact('person_identities', found), 'person_id')
}

function* findRejection(
  signIn: ProviderSignIn,
  known: string | undefined,
  before: Person | undefined,
): Transaction<ProviderRejection | undefined> {
  const { expectedPersonId } = signIn
  if (expectedPersonId !== undefined && expectedPersonId !== known) return 'other_person'
  // A person whose row is missing or forged does not come back as a new one.
  if (known !== undefined && before?.status !== 'active') return 'ended'
  if (yield* isLoggedOut(signIn)) return 'logged_out'
  return known === undefined && signIn.roles.length === 0 ? 'no_role' : undefined
}

/** Adds the person, or follows what the provider says now. */
function* bringUpToDate(
  { issuer, subject, name, nameOtherwise, roles, newPersonId }: ProviderSignIn,
  before: Person | undefined,
  peopleMax: number,
  context: AuditContext,
): Transaction<Person | 'no_role' | 'full'> {
  if (before === undefined) {
    const order = { personId: newPersonId, name: name ?? nameOtherwise, roles }
    const created = yield* createPerson(order, peopleMax, undefined, context)
    if (created === 'not_operator') throw new Error('the provider could not add a person')
    if (created === 'full') return created
    yield* insertRow('person_identities', {
      issuer,
      subject,
      person_id: newPersonId,
      created_at: context.atMs,
    })
    return created
  }
  const { personId } = before
  const isSame =
    (name ?? before.name) === before.name && JSON.stringify(roles) === JSON.stringify(before.roles)
  const changed = isSame
    ? before
    : yield* changePerson(personId, { name, roles }, peopleMax, undefined, context)
  if (changed === undefined || typeof changed === 'string')
    throw new Error('an active person could not be changed')
  if (roles.length > 0) return changed
  yield* lock(consoleLock(personId))
  yield* exec('DELETE FROM console_sessions WHERE person_id = $1', personId)
  return 'no_role'
}

/** An operator may have ended the person until the lock was there. */
function* lockActive(personId: string): Transaction<Person | 'ended'> {
  yield* lock(consoleLock(personId))
  const found = yield* person(personId)
  return found?.status === 'active' ? found : 'ended'
}

/** The times of both are by the clock of the provider. */
function* isLoggedOut({ issuer, subject, sid, issuedAtMs }: ProviderSignIn): Transaction<boolean> {
  const bySubject = yield* rows(
    'SELECT * FROM provider_logouts WHERE issuer = $1 AND subject = $2 AND issued_at >= $3',
    issuer,
    subject,
    issuedAtMs,
  )
  const bySid =
    sid === undefined
      ? []
      : yield* rows('SELECT * FROM provider_logouts WHERE issuer = $1 AND sid = $2', issuer, sid)
  for (const found of [...bySubject, ...bySid]) {
    const kept = yield* intact('provider_logouts', found)
    if (kept === undefined) continue
    const [ofSubject, ofSid] = [optionalText(kept, 'subject'), optionalText(kept, 'sid')]
    const isOfAccount = ofSubject === undefined || ofSubject === subject
    if (isOfAccount && (ofSid === undefined || sid === undefined || ofSid === sid)) return true
  }
  return false
}

/** A session without a `sid` may be any session of its account, so it ends too. */
function* findSessions({ issuer, subject, sid }: ProviderLogout): Transaction<readonly Row[]> {
  const personId = subject === undefined ? undefined : yield* findIdentity(issuer, subject)
  if (personId !== undefined)
    return yield* rows(
      `SELECT session_id, person_id FROM console_sessions WHERE person_id = $1 AND door = 'oidc'
         AND (CAST($2 AS TEXT) IS NULL OR provider_sid IS NULL OR provider_sid = $2)`,
      personId,
      sid ?? null,
    )
  if (subject !== undefined || sid === undefined) return []
  return yield* rows(
    `SELECT session_id, person_id FROM console_sessions WHERE provider_sid = $1 AND door = 'oidc'`,
    sid,
  )
}
