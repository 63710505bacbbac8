import { formatTime, parseTime } from '@countersign/core'
import type {
  CreatedWebhook,
  RecoveredDeliveries,
  RotatedSecret,
  Webhook as WebhookBody,
  WebhookTest,
} from '@countersign/core/contract'
import {
  changeWebhook as change,
  createWebhook as create,
  recoverWebhook as recover,
  deleteWebhook as remove,
  rotateWebhookSecret as rotate,
} from '../../../actions/webhooks.ts'
import { Problem } from '../../../problem.ts'
import type { Route } from '../../../route.ts'
import type { Webhook } from '../../../store/operations/webhooks.ts'
import { auditContext } from '../../shared/audit-context.ts'
import { answerPage, createCursor, parseCursor } from '../../shared/paging.ts'
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

export const changeWebhook: Route<'change_webhook'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const { url, kinds, status, reason } = body
  const wanted = { url, kinds, status, reason }
  const context = auditContext(request, deps)
  const webhook = await change(deps, params.site_id, params.webhook_id, wanted, context)
  return { status: 200, body: toWebhookBody(webhook) }
}

export const recoverWebhook: Route<'recover_webhook'> = async (request, deps) => {
  const { body, caller, params } = request
  requireOwnPath(caller, params.site_id)
  const isAll = body.deliveries === 'all'
  // A cursor is valid only for the same recovery.
  const list = `recover ${params.webhook_id} ${body.since} ${isAll}`
  const after = body.cursor === undefined ? undefined : parseCursor(deps.keys, list, body.cursor)
  if (body.cursor !== undefined && after === undefined) throw new Problem('cursor_malformed')
  const { count, next } = await recover(
    deps,
    params.site_id,
    params.webhook_id,
    { sinceMs: parseTime(body.since) ?? 0, isAll, after, reason: body.reason },
    auditContext(request, deps),
  )
  const recovered: RecoveredDeliveries = {
    webhook_id: params.webhook_id,
    recovered: count,
    next_cursor: next === undefined ? null : createCursor(deps.keys, list, next),
  }
  return { status: 202, body: recovered }
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

/** The class of the status says what an administrator needs; a receiver has its own log. */
export const testWebhook: Route<'test_webhook'> = async (request, deps) => {
  const { caller, params, waitOutside } = request
  requireOwnPath(caller, params.site_id)
  const context = auditContext(request, deps)
  const send = () => deps.webhookTester.test(params.site_id, params.webhook_id, context)
  const { sentAtMs, answer } = await (waitOutside(send) ?? send())
  const statusClass = answer === undefined ? null : toStatusClass(answer.status)
  const body: WebhookTest = {
    webhook_id: params.webhook_id,
    sent_at: formatTime(sentAtMs),
    status_class: statusClass,
    ms: answer?.ms ?? null,
    failure: statusClass === null ? 'no_answer' : statusClass === '2xx' ? null : 'status',
  }
  return { status: 200, body }
}

function toStatusClass(status: number): WebhookTest['status_class'] {
  return status < 300 ? '2xx' : status < 400 ? '3xx' : status < 500 ? '4xx' : '5xx'
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
