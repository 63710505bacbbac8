import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Reinstated, ReinstatedUser } from '../store/operations/reinstatements.ts'
import type { UsersAtSite } from '../store/operations/revocations.ts'

/** All ids of one user together, and each of them. */
export interface ReinstatedIds extends Reinstated {
  readonly users: readonly ReinstatedUser[]
}

/**
 * Reinstates a revoked user, under all ids in one transaction: credentials that are signed from now
 * on are valid. Earlier credentials and their tokens stay revoked permanently.
 */
export async function reinstateUser(
  deps: Pick<Deps, 'store' | 'views'>,
  user: UsersAtSite,
  context: AuditContext,
): Promise<ReinstatedIds> {
  const reinstated = await deps.store.reinstateUsers(user, context)
  await waitForLocalView(deps, reinstated)
  const { users } = reinstated
  const last = users.reduce((latest, each) => (each.seq > latest.seq ? each : latest))
  return {
    users,
    reinstatedAtMs: Math.max(...users.map(({ reinstatedAtMs }) => reinstatedAtMs)),
    alreadyActive: users.every(({ alreadyActive }) => alreadyActive),
    epoch: last.epoch,
    seq: last.seq,
  }
}
