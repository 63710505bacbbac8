import { formatTime } from '@countersign/core'
import type { ResolvedUser } from '@countersign/core/contract'
import { requireFresh } from '../../../../access/require-fresh.ts'
import { resolveUser as resolve } from '../../../../actions/resolve-user.ts'
import { loadCurrentView } from '../../../../log/load-current-view.ts'
import type { Route } from '../../../../route.ts'
import { requireSiteInPath } from '../../../shared/site-access.ts'

/** The ids are computed from the name, so the answer does not show whether a user exists. */
export const resolveUser: Route<'resolve_user'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const ppids = await resolve(deps, siteId, request.body)
  const view = await loadCurrentView(deps, siteId)
  requireFresh(deps.views)
  const body: ResolvedUser = {
    site_id: siteId,
    users: ppids.map((ppid) => {
      // Of what is issued in the future: a user who was signed out or reinstated is active.
      const revocation = view.userRevocation(ppid, Infinity)
      return revocation === undefined
        ? { ppid, status: 'active' }
        : { ppid, status: 'revoked', revoked_at: formatTime(revocation.sinceMs) }
    }),
    epoch: view.head.epoch,
    seq: view.head.seq,
  }
  return { status: 200, body }
}
