import { formatTime } from '@countersign/core'
import type { Delivery as DeliveryBody, DeliveryPage } from '@countersign/core/contract'
import { replayDelivery as replay } from '../../../actions/webhooks.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import type { Delivery } from '../../../store/operations/deliveries.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { loadPage } from '../../shared/paging.ts'
import { requireOwnPath } from '../../shared/site-access.ts'

export const listDeliveries: Route<'list_deliveries'> = async (request, deps) => {
  const { site_id: siteId, webhook_id: webhookId } = request.params
  requireOwnPath(request.caller, siteId)
  if ((await deps.store.webhook(siteId, webhookId)) === undefined) throw new Problem('not_found')
  const { limit, cursor } = request.query
  const body: DeliveryPage = await loadPage(
    deps.keys,
    { list: `deliveries ${webhookId}`, limit, cursor },
    (page) => deps.store.deliveries(siteId, webhookId, page),
    ({ seq }) => String(seq),
    toDeliveryBody,
  )
  return { status: 200, body }
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
  const {
    deliveryId,
    webhookId,
    kind,
    epoch,
    seq,
    status,
    attempts,
    createdAtMs,
    nextAttemptAtMs,
    deliveredAtMs,
    lastStatus,
  } = delivery
  return {
    delivery_id: deliveryId,
    webhook_id: webhookId,
    kind,
    epoch,
    seq,
    status,
    attempts,
    created_at: formatTime(createdAtMs),
    next_attempt_at: nextAttemptAtMs === undefined ? null : formatTime(nextAttemptAtMs),
    delivered_at: deliveredAtMs === undefined ? null : formatTime(deliveredAtMs),
    last_status: lastStatus ?? null,
  }
}
