import { json, text } from '../columns.ts'
import type { LostChanges, LostPersonChange } from '../lost-changes.ts'
import type { PersonRole } from '../operations/people.ts'
import type { Row } from '../transaction.ts'
import type { SqliteSession } from './session.ts'

type LostAccess = Pick<LostChanges, 'people' | 'passkeys' | 'sessions'>

/**
 * The access of people that `replaced` had ended, and `restored` has again. Of a store that is
 * older than people, nothing. No access is ever given because `replaced` has it: its rows are not
 * checked.
 */
export function findLostAccess(replaced: SqliteSession, restored: SqliteSession): LostAccess {
  return {
    people: findPeople(replaced, restored),
    passkeys: findRemoved(replaced, restored, 'passkeys', 'passkey_id').map((row) => ({
      personId: text(row, 'person_id'),
      passkeyId: text(row, 'passkey_id'),
    })),
    sessions: findRemoved(replaced, restored, 'console_sessions', 'session_id').map((row) => ({
      personId: text(row, 'person_id'),
      sessionId: text(row, 'session_id'),
    })),
  }
}

function findPeople(replaced: SqliteSession, restored: SqliteSession): readonly LostPersonChange[] {
  if (!hasTable(replaced, 'people')) return []
  const later = new Map(
    replaced.rows('SELECT person_id, status, roles FROM people').map((row) => [text(row, 'person_id'), row]),
  )
  return restored
    .rows(`SELECT person_id, roles FROM people WHERE status = 'active'`)
    .flatMap((row): readonly LostPersonChange[] => {
      const personId = text(row, 'person_id')
      const known = later.get(personId)
      // People whose access has ended are removed after a time.
      if (known === undefined || text(known, 'status') !== 'active') return [{ personId, roles: undefined }]
      const [before, now] = [readRoles(row), readRoles(known)]
      const left = before?.filter((role) => now === undefined || now.some((each) => includes(each, role)))
      return left === undefined || left.length === before?.length ? [] : [{ personId, roles: left }]
    })
}

/** Undefined for a row that cannot be read. */
function readRoles(row: Row): readonly PersonRole[] | undefined {
  try {
    const roles: unknown = json(row, 'roles')
    return Array.isArray(roles) ? (roles as readonly PersonRole[]) : undefined
  } catch {
    return undefined
  }
}

/** Whether a role allows everything that another allows. */
function includes(role: PersonRole, other: PersonRole): boolean {
  if (role.role === 'operator') return true
  return role.siteId === other.siteId && (role.role === other.role || role.role === 'admin')
}

/** The rows of `restored` that `replaced` no longer has. */
function findRemoved(
  replaced: SqliteSession,
  restored: SqliteSession,
  table: 'passkeys' | 'console_sessions',
  key: 'passkey_id' | 'session_id',
): readonly Row[] {
  if (!hasTable(replaced, table)) return []
  const kept = new Set(replaced.rows(`SELECT ${key} FROM ${table}`).map((row) => text(row, key)))
  return restored
    .rows(`SELECT ${key}, person_id FROM ${table} ORDER BY ${key}`)
    .filter((row) => !kept.has(text(row, key)))
}

function hasTable(session: SqliteSession, name: string): boolean {
  return session.rows('SELECT 1 AS one FROM sqlite_master WHERE name = $1', name).length > 0
}
