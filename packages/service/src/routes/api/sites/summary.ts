import { loadSummary } from '../../../actions/load-summary.ts'
import type { Route } from '../../../route.ts'
import { requireKeyId } from '../../shared/require-key-id.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

/** Limited like other queries about verifiers, because it reads them and many counts. */
export const readSummary: Route<'read_summary'> = async (request, deps) => {
  const site = await requireSiteInPath(request, deps)
  const load = () => loadSummary(deps, site, request.query.window)
  const body = await deps.verifiers.query(requireKeyId(request.caller), site.siteId, load)
  return { status: 200, body }
}
