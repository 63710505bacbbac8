import type { SiteId } from '@countersign/core'
import type { LiveViews } from '../log/live-views.ts'
import { Problem } from '../problem.ts'
import type { Store } from '../store/store.ts'

/** A place in the log of a site. */
export interface LogPlace {
  readonly epoch: string
  readonly seq: number
}

/**
 * Throws `cursor_ahead` for a place that is not in the log: of another epoch, or beyond its end.
 * Another node may have been quicker than this one, so what counts is what stands in the store now,
 * and this node knows it when this returns.
 */
export async function requirePlace(
  { store, views }: { readonly store: Pick<Store, 'logPosition'>; readonly views: LiveViews },
  siteId: SiteId,
  { epoch, seq }: LogPlace,
): Promise<void> {
  const isThere = () => {
    const head = views.view(siteId)?.head
    return head !== undefined && head.epoch === epoch && seq <= head.seq
  }
  if (isThere()) return
  await views.reached(await store.logPosition())
  if (isThere()) return
  throw new Problem(
    'cursor_ahead',
    'There is no such place in the log of this site: it is of another epoch or beyond the end. Take a snapshot.',
  )
}
