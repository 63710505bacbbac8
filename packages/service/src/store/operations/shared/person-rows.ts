import type { SiteId } from '@countersign/core'
import type { ConsoleRole, PersonStatus } from '@countersign/core/contract'
import { json, number, optionalNumber, text } from '../../columns.ts'
import { type Row, row, type Transaction } from '../../transaction.ts'
import type { AuditContext } from '../audit.ts'
import { LOG_COLUMNS } from './granting-rows.ts'
import { toLogRow } from './log-rows.ts'
import { isIntact, requireIntact } from './mac-rows.ts'

export interface PersonRole {
  /** Null for an operator. */
  readonly siteId: SiteId | null
  readonly role: ConsoleRole
}

export interface NewPerson {
  readonly personId: string
  readonly name: string
  readonly roles: readonly PersonRole[]
}

/** A person who may use the console. */
export interface Person extends NewPerson {
  readonly status: PersonStatus
  readonly createdAtMs: number
  /** When the access of the person was last ended, also of one who is active again. */
  readonly endedAtMs: number | undefined
}

export const PERSON_AND_LOG = `SELECT p.*, ${LOG_COLUMNS} FROM people p JOIN log ON log.one = 1`

/** Undefined for a row that the service did not write. */
export function* loadPerson(personId: string): Transaction<Person | undefined> {
  const found = yield* row(`${PERSON_AND_LOG} WHERE p.person_id = $1`, personId)
  if (found === undefined) return undefined
  // Without the true number of changes it is unknown whether this is the current row.
  yield* requireIntact('log', toLogRow(found))
  return (yield* isIntact('people', found)) ? toPerson(found) : undefined
}

/**
 * Whether the actor may change people: a person must be an operator now, since another operator may
 * have ended their access after the request was accepted. Other actors may. The caller has locked
 * `GRANTING_LOCK`.
 */
export function* mayChangePeople({ actor }: Pick<AuditContext, 'actor'>): Transaction<boolean> {
  const [, personId] = /^person:(.*)$/.exec(actor) ?? []
  if (personId === undefined) return true
  const acting = yield* loadPerson(personId)
  return acting?.status === 'active' && acting.roles.some(({ role }) => role === 'operator')
}

export function toPerson(found: Row): Person {
  return {
    personId: text(found, 'person_id'),
    name: text(found, 'name'),
    roles: json(found, 'roles'),
    status: text(found, 'status') === 'active' ? 'active' : 'ended',
    createdAtMs: number(found, 'created_at'),
    endedAtMs: optionalNumber(found, 'ended_at'),
  }
}
