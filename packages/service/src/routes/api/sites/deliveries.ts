import { formatTime } from '@countersign/core'
import type { Delivery as DeliveryBody, DeliveryDetails } from '@countersign/core/contract'
import { replayDelivery as replay } from '../../../actions/webhooks.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import { toDeliveryName } from '../../../store/delivery-name.ts'
import type { Delivery, DeliveryColumn } from '../../../store/operations/deliveries.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { toOptionalTime } from '../../shared/optional-time.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'

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

export const listSiteDeliveries: Route<'list_site_deliveries'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  const { status, kind, webhook_id: webhookId } = request.query
  if (webhookId !== undefined && (await deps.store.webhook(siteId, webhookId)) === undefined)
    throw new Problem('not_found')
  // One of them comes from an index, and the page is filtered by the others.
  const columns: readonly (readonly [DeliveryColumn['column'], string | undefined])[] = [
    ['webhook_id', webhookId],
    ['status', status === 'delivered' ? undefined : status],
    ['kind', kind],
  ]
  const found = columns.find(([, value]) => value !== undefined)
  const by = found && { column: found[0], value: found[1] as string }
  const asked = [status, kind, webhookId].filter((each) => each !== undefined)
  const isListed = (item: DeliveryBody) =>
    (status === undefined || item.status === status) &&
    (kind === undefined || item.kind === kind) &&
    (webhookId === undefined || item.webhook_id === webhookId)
  return answerPage(
    request,
    deps,
    `site deliveries ${siteId} ${JSON.stringify([status, kind, webhookId])}`,
    (page) => deps.store.siteDeliveries(siteId, by, page),
    toDeliveryName,
    toDeliveryBody,
    asked.length === (by === undefined ? 0 : 1) ? undefined : isListed,
  )
}

export const readDelivery: Route<'read_delivery'> = async ({ caller, params }, { store }) => {
  requireOwnPath(caller, params.site_id)
  const found = await store.delivery(params.site_id, params.delivery_id)
  if (found === undefined) throw new Problem('not_found')
  const body: DeliveryDetails = {
    ...toDeliveryBody(found.delivery),
    attempt_history: found.attempts.map(({ atMs, ms, status, failure }) => ({
      at: formatTime(atMs),
      ms,
      status,
      failure,
    })),
  }
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
