import type { Deps } from '../deps.ts'

/**
 * Waits until this node's own view knows what a verb of the store has answered. A verb that changed
 * nothing was answered from what stands in the log already, perhaps through another node and only
 * just now: acknowledging that, too, means denying from then on. Throws a Problem when it takes too
 * long; the change itself stands.
 */
export async function untilKnownHere(
  { store, views }: Pick<Deps, 'store' | 'views'>,
  { position }: { readonly position: number },
): Promise<void> {
  await views.reached(position > 0 ? position : await store.logPosition())
}
