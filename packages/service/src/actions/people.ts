import { randomBytes } from 'node:crypto'
import { isLoopback, limits } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { createId } from '../keys/ids.ts'
import { secretSha256 } from '../keys/secret-text.ts'
import { Problem } from '../problem.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Person, PersonChanges, PersonRole } from '../store/operations/people.ts'

export interface PersonOrder {
  readonly name: string
  readonly roles: readonly PersonRole[]
  readonly reason: string | undefined
}

/**
 * Adds a person. Throws `site_unknown` for a role at a site that does not exist, and
 * `role_insufficient` for a person who is no longer an operator.
 */
export async function createPerson(
  { store }: Pick<Deps, 'store'>,
  { name, roles, reason }: PersonOrder,
  context: AuditContext,
): Promise<Person> {
  await requireSites({ store }, roles)
  const person = { personId: createId('person_', context.atMs), name, roles }
  const created = await store.createPerson(person, limits.people_max, reason, context)
  if (created === 'not_operator') throw noLongerOperator()
  if (created === 'full') throw tooManyPeople()
  return created
}

/**
 * Changes a person. Throws `not_found` when there is no such person, `site_unknown` for a role at a
 * site that does not exist, and `role_insufficient` for a person who is no longer an operator.
 */
export async function changePerson(
  { store, consoleSessions }: Pick<Deps, 'store' | 'consoleSessions'>,
  personId: string,
  { reason, ...changes }: PersonChanges & { readonly reason: string | undefined },
  context: AuditContext,
): Promise<Person> {
  await requireSites({ store }, changes.roles ?? [])
  const changed = await store.changePerson(personId, changes, limits.people_max, reason, context)
  consoleSessions.forget(personId)
  if (changed === 'not_operator') throw noLongerOperator()
  if (changed === undefined) throw new Problem('not_found')
  if (changed === 'full') throw tooManyPeople()
  return changed
}

/**
 * Creates a link with which the person signs in. Its secret is in the answer and nowhere else.
 * Throws `not_found` unless there is such a person, who is active, and `role_insufficient` for an
 * actor who is no longer an operator.
 */
export async function createConsoleLink(
  { store, config }: Pick<Deps, 'store' | 'config'>,
  personId: string,
  context: AuditContext,
): Promise<{ readonly url: string; readonly expiresAtMs: number }> {
  const secret = randomBytes(32).toString('base64url')
  const expiresAtMs = context.atMs + limits.console_link_seconds * 1000
  const link = { sha256: secretSha256(secret), personId, expiresAtMs }
  const state = await store.createConsoleLink(link, context)
  if (state === 'not_operator') throw noLongerOperator()
  if (state === 'no_person') throw new Problem('not_found')
  return { url: `${toConsoleAddress(config)}/console#link=${secret}`, expiresAtMs }
}

/** On loopback the name of the host: browsers bind no passkeys to IP addresses. */
function toConsoleAddress({ consoleUrl, baseUrl }: Pick<Deps['config'], 'consoleUrl' | 'baseUrl'>): string {
  if (consoleUrl !== undefined || !isLoopback(new URL(baseUrl))) return consoleUrl ?? baseUrl
  const named = new URL(baseUrl)
  named.hostname = 'localhost'
  return named.href.replace(/\/$/, '')
}

/** A site that is created later under the same name must not be open to the person. */
async function requireSites({ store }: Pick<Deps, 'store'>, roles: readonly PersonRole[]): Promise<void> {
  for (const { siteId } of roles) {
    if (siteId !== null && (await store.site(siteId)) === undefined)
      throw new Problem('site_unknown', `There is no site ${siteId}. Create it first, or omit the role.`)
  }
}

/** For a person whose role or access was ended after the request was accepted. */
function noLongerOperator(): Problem {
  return new Problem('role_insufficient', 'You are no longer an operator. Ask another operator for the role.')
}

function tooManyPeople(): Problem {
  const message = `cannot be active: there are ${limits.people_max} active people already`
  return new Problem('validation_failed', `The person ${message}. End the access of another person first.`, {
    errors: [{ path: 'person', message }],
  })
}
