import { formatTime } from '@countersign/core'
import type { CreatedWebhook, RotatedSecret, Webhook as WebhookBody } from '@countersign/core/contract'
import {
  createWebhook as create,
  deleteWebhook as remove,
  rotateWebhookSecret as rotate,
} from '../../../actions/webhooks.ts'
import type { Route } from '../../../route.ts'
import type { Webhook } from '../../../store/operations/webhooks.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { answerPage } from '../../shared/paging.ts'
import { requireOwnPath, requireSiteInPath } from '../../shared/site-access.ts'

export const createWebhook: Route<'create_webhook'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const { webhook, secret } = await create(
    deps,
    { siteId: params.site_id, url: body.url, kinds: body.kinds },
    auditContext(request, deps),
  )
  const created: CreatedWebhook = { webhook_id: webhook.webhookId, secret }
  return { status: 201, body: created }
}

export const listWebhooks: Route<'list_webhooks'> = async (request, deps) => {
  const { siteId } = await requireSiteInPath(request, deps)
  return answerPage(
    request,
    deps,
    `webhooks ${siteId}`,
    (page) => deps.store.webhooks(siteId, page),
    ({ webhookId }) => webhookId,
    toWebhookBody,
  )
}

export const deleteWebhook: Route<'delete_webhook'> = async (request, deps) => {
  const { caller, params } = request
  requireOwnPath(caller, params.site_id)
  await remove(deps, params.site_id, params.webhook_id, auditContext(request, deps))
  return { status: 204 }
}

export const rotateWebhookSecret: Route<'rotate_webhook_secret'> = async (request, deps) => {
  const { caller, params } = request
  requireOwnPath(caller, params.site_id)
  const { secret, previousUntilMs } = await rotate(
    deps,
    params.site_id,
    params.webhook_id,
    auditContext(request, deps),
  )
  const body: RotatedSecret = {
    webhook_id: params.webhook_id,
    secret,
    previous_valid_until: formatTime(previousUntilMs),
  }
  return { status: 200, body }
}

function toWebhookBody({ webhookId, url, kinds, status, createdAtMs }: Webhook): WebhookBody {
  return {
    webhook_id: webhookId,
    url,
    kinds: kinds === undefined ? null : [...kinds],
    status,
    created_at: formatTime(createdAtMs),
  }
}
