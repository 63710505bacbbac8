import { formatTime } from '@countersign/core'
import type { AuditRow as AuditBody } from '@countersign/core/contract'
import type { Route } from '../../../route.ts'
import type { AuditRow } from '../../../store/operations/audit.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireSiteInPath } from '../../shared/site-access.ts'

export const listAudit: Route<'list_audit'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  return answerPage(
    request,
    deps,
    `audit ${siteId}`,
    (page) => deps.store.auditRows(siteId, page),
    ({ id }) => id,
    toAuditBody,
  )
}

function toAuditBody({ id, action, target, detail, context }: AuditRow): AuditBody {
  const { outcome, reason, seq } = detail
  return {
    audit_id: id,
    at: formatTime(context.atMs),
    actor: toActorBody(context.actor),
    action,
    target: target ?? null,
    outcome: outcome === 'unchanged' || outcome === 'refused' ? outcome : 'done',
    reason: typeof reason === 'string' ? reason : null,
    seq: typeof seq === 'number' ? seq : null,
    request_id: context.requestId ?? null,
  }
}

const ACTORS: Readonly<Record<string, AuditBody['actor']['type']>> = {
  operator: 'operator',
  key: 'api_key',
  holder: 'holder',
  user: 'holder',
  page: 'page',
  sender: 'sender',
}

/** As written by `auditContext`: what kind of actor and, after a colon, which. */
function toActorBody(actor: string): AuditBody['actor'] {
  const colon = actor.indexOf(':')
  const kind = colon === -1 ? actor : actor.slice(0, colon)
  return { type: ACTORS[kind] ?? 'service', id: colon === -1 ? null : actor.slice(colon + 1) }
}
