import type { LogPosition, SiteId } from '@countersign/core'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/**
 * Throws `cursor_ahead` for a position that is not in the log: in another epoch, or after the head.
 * Another node may be ahead of this one, so the view first catches up with the log.
 */
export async function requirePosition(
  { store, views }: { readonly store: Pick<Store, 'logPosition'>; readonly views: LiveViews },
  siteId: SiteId,
  position: LogPosition,
): Promise<void> {
  const isThere = () => views.hasApplied(siteId, position)
  if (isThere()) return
  await views.waitFor(await store.logPosition())
  if (isThere()) return
  throw new Problem(
    'cursor_ahead',
    'The log of this site has no such position: it is in another epoch or after the head. Take a snapshot.',
  )
}
