import { formatTime } from '@countersign/core'
import type { ConsoleLink, Person as PersonBody } from '@countersign/core/contract'
import {
  changePerson as change,
  createPerson as create,
  createConsoleLink as createLink,
} from '../../actions/people.ts'
import type { Caller } from '../../answer.ts'
import { Problem } from '../../problem.ts'
import type { Route } from '../../route.ts'
import type { Person, PersonRole } from '../../store/operations/people.ts'
import { auditContext } from '../shared/audit-context.ts'
import { answerPage } from '../shared/paging.ts'

export const createPerson: Route<'create_person'> = async (request, deps) => {
  const { name, roles, reason } = request.body
  const order = { name, roles: roles.map(toRole), reason }
  return { status: 201, body: toPersonBody(await create(deps, order, auditContext(request, deps))) }
}

export const listPeople: Route<'list_people'> = async (request, deps) =>
  answerPage(
    request,
    deps,
    'people',
    (page) => deps.store.people(page),
    ({ personId }) => personId,
    toPersonBody,
  )

export const changePerson: Route<'change_person'> = async (request, deps) => {
  const { name, roles, status, reason } = request.body
  const changes = { name, roles: roles?.map(toRole), status, reason }
  if (roles !== undefined || status !== undefined) requireOther(request.caller, request.params.person_id)
  const person = await change(deps, request.params.person_id, changes, auditContext(request, deps))
  return { status: 200, body: toPersonBody(person) }
}

/** The only answer that ever holds the link itself. */
export const createConsoleLink: Route<'create_console_link'> = async (request, deps) => {
  requireOther(request.caller, request.params.person_id)
  const { url, expiresAtMs } = await createLink(deps, request.params.person_id, auditContext(request, deps))
  const link: ConsoleLink = { url, expires_at: formatTime(expiresAtMs) }
  return { status: 201, body: link }
}

/**
 * Throws `own_access` for people who would change their own access in the console. With a link for
 * themselves they could prolong a session, and its elevation, for as long as they like.
 */
function requireOther(caller: Caller, personId: string): void {
  if (caller.kind !== 'anonymous' && caller.person?.personId === personId) throw new Problem('own_access')
}

function toRole({ site_id, role }: PersonBody['roles'][number]): PersonRole {
  return { siteId: site_id as PersonRole['siteId'], role }
}

function toPersonBody({ personId, name, roles, status, createdAtMs }: Person): PersonBody {
  return {
    person_id: personId,
    name,
    roles: roles.map(({ siteId, role }) => ({ site_id: siteId, role })),
    status,
    created_at: formatTime(createdAtMs),
  }
}
