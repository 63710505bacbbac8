import type { ErasedUser } from '@countersign/core/contract'
import { eraseUser as erase, previewErasure } from '../../../../actions/erase-user.ts'
import { resolveUser } from '../../../../actions/resolve-user.ts'
import type { Route } from '../../../../route.ts'
import { auditContext } from '../../../shared/audit-context.ts'
import { requireSiteInPath } from '../../../shared/site-access.ts'

export const eraseUser: Route<'erase_user'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { confirmCaller } = request
  const { dry_run: isDryRun = false } = request.body
  const user = { siteId, ppids: await resolveUser(deps, siteId, request.body) }
  const context = auditContext(request, deps)
  const end = deps.erasures.begin(siteId)
  const erasing = isDryRun ? previewErasure(deps, user) : erase(deps, user, context, confirmCaller)
  const { erased, epoch, seq } = await erasing.finally(end)
  if (isDryRun) await confirmCaller()
  const body: ErasedUser = {
    success: true,
    dry_run: isDryRun,
    site_id: siteId,
    ppids: [...user.ppids],
    credentials: erased.credentials,
    tokens: erased.tokens,
    offers: erased.offers,
    presentations: erased.presentations,
    audit_rows: erased.auditRows,
    epoch,
    seq,
  }
  return { status: 200, body }
}
