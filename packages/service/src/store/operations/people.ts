import type { PersonStatus } from '@countersign/core/contract'
import { number, text } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { consoleLock } from './shared/console-lock.ts'
import { GRANTING_LOCK, loadKeysDeleted, renewGrantingMacs } from './shared/granting-rows.ts'
import { toLogRow } from './shared/log-rows.ts'
import { createRowMac, intactPage, isIntact, requireIntact } from './shared/mac-rows.ts'
import { padList } from './shared/pad-list.ts'
import {
  loadPerson,
  mayChangePeople,
  type NewPerson,
  PERSON_AND_LOG,
  type Person,
  type PersonRole,
  toPerson,
} from './shared/person-rows.ts'
import { recordAudit } from './shared/record-audit.ts'

export type { NewPerson, Person, PersonRole }

export interface PersonChanges {
  readonly name?: string | undefined
  readonly roles?: readonly PersonRole[] | undefined
  readonly status?: PersonStatus | undefined
}

/**
 * `full` when `peopleMax` people are active already, `not_operator` when the person who acts is no
 * longer an operator.
 */
export function* createPerson(
  person: NewPerson,
  peopleMax: number,
  reason: string | undefined,
  context: AuditContext,
): Transaction<Person | 'full' | 'not_operator'> {
  yield* lock(GRANTING_LOCK)
  if (!(yield* mayChangePeople(context))) return 'not_operator'
  if (yield* isFull(peopleMax)) return 'full'
  const created: Row = {
    person_id: person.personId,
    name: person.name,
    roles: JSON.stringify(person.roles),
    status: 'active',
    ended_at: null,
    created_at: context.atMs,
  }
  const mac = yield* createRowMac('people', { ...created, keys_deleted: yield* loadKeysDeleted() })
  yield* exec(
    `INSERT INTO people (person_id, name, roles, status, ended_at, created_at, mac) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    ...Object.values(created),
    mac,
  )
  const detail = { roles: toTexts(person.roles) }
  yield* recordAudit({
    siteId: null,
    action: 'person.create',
    target: person.personId,
    reason,
    detail,
    context,
  })
  return { ...person, status: 'active', createdAtMs: context.atMs, endedAtMs: undefined }
}

/**
 * Changes a person. One who is ended loses every session, link and passkey in the same transaction.
 * Undefined when there is no such person, `full` when one more would be active than `peopleMax`,
 * `not_operator` when the person who acts is no longer an operator. Throws a `RowForged` for a row
 * that the service did not write.
 */
export function* changePerson(
  personId: string,
  changes: PersonChanges,
  peopleMax: number,
  reason: string | undefined,
  context: AuditContext,
): Transaction<Person | 'full' | 'not_operator' | undefined> {
  // A session that is opened meanwhile must not outlive the person.
  yield* lock(GRANTING_LOCK, consoleLock(personId))
  if (!(yield* mayChangePeople(context))) return 'not_operator'
  const found = yield* row(`${PERSON_AND_LOG} WHERE p.person_id = $1`, personId)
  if (found === undefined) return undefined
  yield* requireIntact('log', toLogRow(found))
  const before = toPerson(yield* requireIntact('people', found))
  const { name = before.name, roles = before.roles, status = before.status } = changes
  if (status === 'active' && before.status === 'ended' && (yield* isFull(peopleMax))) return 'full'
  const changed: Row = {
    name,
    roles: JSON.stringify(roles),
    status,
    // It stays when the person is active again: no session from before is valid then.
    ended_at: status === 'ended' && before.status === 'active' ? context.atMs : (found.ended_at ?? null),
  }
  const mac = yield* createRowMac('people', { ...found, ...changed })
  yield* exec(
    'UPDATE people SET name = $2, roles = $3, status = $4, ended_at = $5, mac = $6 WHERE person_id = $1',
    personId,
    ...Object.values(changed),
    mac,
  )
  if (status === 'ended') {
    yield* exec('DELETE FROM console_sessions WHERE person_id = $1', personId)
    yield* exec('DELETE FROM console_links WHERE person_id = $1', personId)
    yield* exec('DELETE FROM passkeys WHERE person_id = $1', personId)
  }
  // The row as it was before must not become valid again.
  const isOther = changed.roles !== found.roles || status !== before.status
  if (isOther) yield* renewGrantingMacs()
  const outcome = isOther || name !== before.name ? 'done' : 'unchanged'
  const detail = { roles: toTexts(roles), status }
  yield* recordAudit({
    siteId: null,
    action: 'person.change',
    target: personId,
    outcome,
    reason,
    detail,
    context,
  })
  return toPerson({ ...found, ...changed })
}

/** Undefined for a row that the service did not write; the list skips such rows. */
export const person = read(function* (personId: string): Transaction<Person | undefined> {
  return yield* loadPerson(personId)
})

/** Those of these people that the service wrote. */
export const peopleById = read(function* (personIds: readonly string[]): Transaction<readonly Person[]> {
  if (personIds.length === 0) return []
  const asked = padList(personIds)
  const found = yield* rows(
    `${PERSON_AND_LOG} WHERE p.person_id IN (${asked.map((_, i) => `$${i + 1}`).join(', ')})`,
    ...asked,
  )
  const known: Person[] = []
  for (const each of found) {
    yield* requireIntact('log', toLogRow(each))
    if (yield* isIntact('people', each)) known.push(toPerson(each))
  }
  return known
})

/** By id, which is the order in which they were added. */
export const people = read(function* (page: Page): Transaction<readonly Person[]> {
  const loadPage = (after: string, limit: number) =>
    rows(`${PERSON_AND_LOG} WHERE p.person_id > $1 ORDER BY p.person_id LIMIT $2`, after, limit)
  return (yield* intactPage('people', page, loadPage, (found) => text(found, 'person_id'))).map(toPerson)
})

/** At most `peopleMax` are active. */
function* isFull(peopleMax: number): Transaction<boolean> {
  const active = yield* row(`SELECT COUNT(*) AS active FROM people WHERE status = 'active'`)
  return active !== undefined && number(active, 'active') >= peopleMax
}

/** For the audit. */
function toTexts(roles: readonly PersonRole[]): readonly string[] {
  return roles.map(({ siteId, role }) => (siteId === null ? role : `${role} ${siteId}`))
}
