import { formatTime } from '@countersign/core'
import type { Delivery as DeliveryBody } from '@countersign/core/contract'
import { replayDelivery as replay } from '../../../actions/webhooks.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import type { Delivery } from '../../../store/operations/deliveries.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireOwnPath } from '../../shared/site-access.ts'

export const listDeliveries: Route<'list_deliveries'> = async (request, deps) => {
  const { site_id: siteId, webhook_id: webhookId } = request.params
  requireOwnPath(request.caller, siteId)
  if ((await deps.store.webhook(siteId, webhookId)) === undefined) throw new Problem('not_found')
  return answerPage(
    request,
    deps,
    `deliveries ${webhookId}`,
    (page) => deps.store.deliveries(siteId, webhookId, page),
    ({ seq }) => String(seq),
    toDeliveryBody,
  )
}

export const replayDelivery: Route<'replay_delivery'> = async (request, deps) => {
  const { caller, params } = request
  requireOwnPath(caller, params.site_id)
  return {
    status: 202,
    body: toDeliveryBody(await replay(deps, params.site_id, params.delivery_id, auditContext(request, deps))),
  }
}

function toDeliveryBody(delivery: Delivery): DeliveryBody {
  const { kind, epoch, seq, status, attempts } = delivery
  return {
    delivery_id: delivery.deliveryId,
    webhook_id: delivery.webhookId,
    kind,
    epoch,
    seq,
    status,
    attempts,
    created_at: formatTime(delivery.createdAtMs),
    next_attempt_at: toOptionalTime(delivery.nextAttemptAtMs),
    delivered_at: toOptionalTime(delivery.deliveredAtMs),
    last_status: delivery.lastStatus ?? null,
  }
}
