import type { SiteId } from '@countersign/core'
import type { Deps } from '../deps.ts'
import { waitForLocalView } from '../log/wait-for-local-view.ts'
import { Problem } from '../problem.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { ChangedSite, SiteChanges } from '../store/operations/sites.ts'

/**
 * Changes the given members. When this returns, this node decides by the new settings. Throws
 * `not_found` when there is no such site.
 */
export async function changeSite(
  deps: Pick<Deps, 'store' | 'views'>,
  siteId: SiteId,
  changes: SiteChanges,
  context: AuditContext,
): Promise<ChangedSite> {
  const knownSeq = deps.views.lastEntryAbout(siteId)
  const changed = await deps.store.changeSite(siteId, changes, context, knownSeq)
  if (changed === undefined) throw new Problem('not_found')
  await waitForLocalView(deps, changed)
  return changed
}
