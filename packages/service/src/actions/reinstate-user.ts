import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Reinstated, UserAtSite } from '../store/operations/revocations.ts'

/**
 * Reinstates a revoked user: credentials that are signed from now on are valid. Earlier credentials
 * and their tokens stay revoked permanently.
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
