import type { SiteId, SiteView } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { loadCurrentView } from '../log/load-current-view.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { RowForged } from '../store/errors.ts'
import type { Logged } from '../store/logged.ts'

type ViewDeps = Pick<Deps, 'store' | 'views'>

export interface RevocationToConfirm<T, Unconfirmed = T> {
  /** Revokes in the store. Given what the log does not confirm of an answer, revokes that again. */
  revokeInStore(unconfirmed?: Unconfirmed): Promise<T>
  /**
   * What the log does not confirm of this answer, or undefined. `view` is the view of its site,
   * caught up with the log.
   */
  findUnconfirmed(view: SiteView, answer: T): Unconfirmed | undefined
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
export async function confirmRevocation<
  T extends Logged<{ readonly alreadyRevoked: boolean }>,
  Unconfirmed = T,
>(
  deps: ViewDeps,
  { revokeInStore, findUnconfirmed, siteId, row }: RevocationToConfirm<T, Unconfirmed>,
): Promise<T> {
  let answer = await revokeInStore()
  for (let tries = 1; answer.alreadyRevoked; tries++) {
    const unconfirmed = findUnconfirmed(await loadCurrentView(deps, siteId), answer)
    if (unconfirmed === undefined) return answer
    if (tries === TRIES_MAX) throw new RowForged(row.table, row.key)
    answer = await revokeInStore(unconfirmed)
  }
  await waitForLocalView(deps, answer)
  return answer
}
