import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Reinstated } from '../store/operations/revocations.ts'
import type { UserAtSite } from './revoke-user.ts'

/**
 * Lets credentials of a revoked user count that are signed from now on. Those signed before stay
 * revoked permanently, and so do their tokens.
 */
export async function reinstateUser(
  deps: Pick<Deps, 'store' | 'views'>,
  user: UserAtSite,
  context: AuditContext,
): Promise<Reinstated> {
  const reinstated = await deps.store.reinstateUser(user, context)
  await waitForLocalView(deps, reinstated)
  return reinstated
}
