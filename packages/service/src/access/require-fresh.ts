import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'

/**
 * Throws when this node cannot say what is revoked: its view is stale, its log is in doubt, or its
 * clock is. Endpoints whose contract does not list `revocation_view_stale` pass
 * `store_unavailable`.
 */
export function requireFresh(
  views: Pick<LiveViews, 'readiness'>,
  code: 'revocation_view_stale' | 'store_unavailable' = 'revocation_view_stale',
): void {
  if (!views.readiness().ready) throw staleProblem(code)
}

export function staleProblem(
  code: 'revocation_view_stale' | 'store_unavailable' = 'revocation_view_stale',
): Problem {
  return new Problem(
    code,
    'This node has not heard from its store. Try again in a moment, or another node.',
    {
      retryAfterSeconds: 1,
    },
  )
}
