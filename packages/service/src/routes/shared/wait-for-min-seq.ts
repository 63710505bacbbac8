import type { SiteId } from '@countersign/core'
import { parseFeedCursor } from '@countersign/core/contract'
import type { Deps } from '../../deps.ts'
import { tooFarProblem } from '../../log/waiters.ts'
import type { RouteRequest } from '../../route.ts'

/**
 * Waits until this node has applied the log of the site up to `min_seq` of the query, if that is
 * given. Throws `revocation_view_stale` when that takes too long, and immediately when too many
 * requests of the caller wait already.
 */
export async function waitForMinSeq(
  {
    query,
    waitOutside,
  }: Pick<RouteRequest, 'waitOutside'> & { readonly query: { min_seq?: string | undefined } },
  { views }: Pick<Deps, 'views'>,
  siteId: SiteId,
): Promise<void> {
  const min = parseFeedCursor(query.min_seq)
  if (min === undefined || views.hasApplied(siteId, min)) return
  const waiting = waitOutside(() => views.waitForSeq(siteId, min))
  if (waiting === undefined) throw tooFarProblem()
  await waiting
}
