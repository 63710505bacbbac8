import type { Route } from '../../route.ts'
import { answerAudit } from '../shared/answer-audit.ts'

/** Of all sites and of the service. Only operators come here. */
export const listServiceAudit: Route<'list_service_audit'> = (request, deps) => {
  const { without_site: withoutSite, ...query } = request.query
  return answerAudit({ ...request, query }, deps, withoutSite === '1' ? null : undefined)
}
