import type { Store } from '../store/store.ts'
import type { LiveViews } from './live-views.ts'

/**
 * Waits until this node's view has applied the outcome of a store operation. Position 0 means that
 * the operation changed nothing: what it found may have been committed a moment ago through another
 * node, so the view first catches up with the log. Throws a Problem when that takes too long; the
 * change itself is committed.
 */
export async function waitForLocalView(
  {
    store,
    views,
  }: { readonly store: Pick<Store, 'logPosition'>; readonly views: Pick<LiveViews, 'waitFor'> },
  { position }: { readonly position: number },
): Promise<void> {
  await views.waitFor(position > 0 ? position : await store.logPosition())
}
