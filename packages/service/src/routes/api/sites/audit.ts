import type { Route } from '../../../route.ts'
import { answerAudit } from '../../shared/answer-audit.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listAudit: Route<'list_audit'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  return answerAudit(request, deps, siteId)
}
