import type { SiteId, SiteView } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import { RowForged } from '../store/errors.ts'
import type { Logged } from '../store/logged.ts'

type ViewDeps = Pick<Deps, 'store' | 'views'>

export interface RevocationToConfirm<T> {
  /** Revokes in the store. Given an answer that the log does not confirm, revokes again. */
  revokeInStore(unconfirmed?: T): Promise<T>
  /**
   * Whether the log has the revocation of this answer. `view` is the view of its site, caught up
   * with the log.
   */
  isInView(view: SiteView, answer: T): boolean
  readonly siteId: SiteId
  /** The table that says "already revoked", and the key of the row. */
  readonly row: { readonly table: string; readonly key: string }
}

/**
 * The row may legitimately change between two attempts, when other callers reinstate and revoke
 * the same user.
 */
const TRIES_MAX = 4

/**
 * Revokes, and returns when this node denies. The table that says "already revoked" carries no MAC,
 * so that answer is trusted only if the log of this node confirms it. Otherwise the revocation is
 * appended. Throws a `RowForged` if the table prevents even that.
 */
export async function confirmRevocation<T extends Logged<{ readonly alreadyRevoked: boolean }>>(
  deps: ViewDeps,
  { revokeInStore, isInView, siteId, row }: RevocationToConfirm<T>,
): Promise<T> {
  let answer = await revokeInStore()
  for (let tries = 1; answer.alreadyRevoked; tries++) {
    if (isInView(await loadCurrentView(deps, siteId), answer)) return answer
    if (tries === TRIES_MAX) throw new RowForged(row.table, row.key)
    answer = await revokeInStore(answer)
  }
  await waitForLocalView(deps, answer)
  return answer
}

/**
 * The view of a site after it has caught up with the log. Throws a Problem when that takes too
 * long.
 */
async function loadCurrentView({ store, views }: ViewDeps, siteId: SiteId): Promise<SiteView> {
  await views.waitFor(await store.logPosition())
  const view = views.view(siteId)
  if (view === undefined) throw new Problem('revocation_view_stale', undefined, { retryAfterSeconds: 1 })
  return view
}
