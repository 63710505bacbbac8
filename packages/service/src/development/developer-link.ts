import { createConsoleLink, createPerson } from '../actions/people.ts'
import type { Deps } from '../deps.ts'
import type { AuditContext } from '../store/operations/audit.ts'

const NAME = 'Developer'

/**
 * A link that signs the developer in to the console, once. The first start adds the developer as an
 * operator. Undefined when people were added and no one of that name is active.
 */
export async function createDeveloperLink(deps: Deps): Promise<string | undefined> {
  const context: AuditContext = { actor: 'system', atMs: deps.clock.nowMs() }
  const people = await deps.store.people({ after: undefined, limit: 200 })
  const known = people.find(({ name, status }) => name === NAME && status === 'active')
  if (known === undefined && people.length > 0) return undefined
  const order = { name: NAME, roles: [{ siteId: null, role: 'operator' }], reason: undefined } as const
  const { personId } = known ?? (await createPerson(deps, order, context))
  return (await createConsoleLink(deps, personId, context)).url
}
