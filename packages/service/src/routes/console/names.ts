import type { PersonName } from '@countersign/core/contract'
import type { Route } from '../../route.ts'
import type { Person } from '../../store/operations/people.ts'
import { loadPage } from '../shared/paging.ts'
import { requireSignedIn } from './signed-in.ts'

/** So that audit rows and receipts show who did something, also to people who are no operators. */
export const listPersonNames: Route<'list_person_names'> = async (request, { keys, store }) => {
  const { roles } = requireSignedIn(request).person
  const isOperator = roles.some(({ role }) => role === 'operator')
  const ownSites = new Set(roles.map(({ siteId }) => siteId))
  const isShown = (each: Person) =>
    isOperator || each.roles.some(({ siteId, role }) => role === 'operator' || ownSites.has(siteId))
  const { items, next_cursor } = await loadPage(
    keys,
    { ...request.query, list: 'person names' },
    (page) => store.people(page),
    ({ personId }: Person) => personId,
    (each: Person) => each,
    isShown,
  )
  const toName = ({ personId, name }: Person): PersonName => ({ person_id: personId, name })
  return { status: 200, body: { items: items.map(toName), next_cursor } }
}
