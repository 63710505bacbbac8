import type { EntryKind, SiteId } from '@countersign/core'
import { json, number, text } from '../columns.ts'
import type { AuditContext, NewWebhook, Page, Webhook } from '../store.ts'
import { exec, lock, type Row, row, rows, type Transaction } from '../transaction.ts'
import { auditDone } from './audit.ts'
import { requireMasterKey } from './master-key.ts'

/** A secret and until when it signs; the newest has no end. */
export interface KeptSecret {
  readonly sealed: string
  readonly untilMs: number | null
}

/** Signatures a delivery carries at most, however often they are rotated. */
const SECRETS_MAX = 3

export function* createWebhook(
  webhook: NewWebhook,
  perSiteMax: number,
  context: AuditContext,
): Transaction<Webhook | 'too_many' | undefined> {
  const { siteId, webhookId, url, kinds, secretSealed } = webhook
  yield* lock(`webhooks ${siteId}`)
  const counted = yield* row(
    'SELECT COUNT(*) AS count FROM webhooks WHERE site_id = $1 AND deleted_at IS NULL',
    siteId,
  )
  if (counted !== undefined && number(counted, 'count') >= perSiteMax) return 'too_many'
  const secrets: readonly KeptSecret[] = [{ sealed: secretSealed, untilMs: null }]
  const made = yield* row(
    `INSERT INTO webhooks (webhook_id, site_id, url, kinds, secrets, status, created_at, cursor_seq, waiting, turn_at)
     SELECT $1, h.site_id, $3, $4, $5, 'on', $6, h.seq, 0, 0 FROM heads h WHERE h.site_id = $2 RETURNING *`,
    webhookId,
    siteId,
    url,
    kinds === undefined ? null : JSON.stringify(kinds),
    JSON.stringify(secrets),
    context.atMs,
  )
  if (made === undefined) return undefined
  yield* requireMasterKey(secretSealed)
  yield* auditDone({ siteId, action: 'webhook.create', target: webhookId, outcome: 'done', context })
  return toWebhook(made)
}

/** Its deliveries are swept away later, some at a time: there may be very many of them. */
export function* deleteWebhook(
  siteId: SiteId,
  webhookId: string,
  context: AuditContext,
): Transaction<boolean> {
  const gone = yield* row(
    `UPDATE webhooks SET deleted_at = $3, secrets = '[]', url = '', due_at = NULL, lease_owner = NULL, lease_until = NULL
     WHERE webhook_id = $1 AND site_id = $2 AND deleted_at IS NULL RETURNING webhook_id`,
    webhookId,
    siteId,
    context.atMs,
  )
  if (gone === undefined) return false
  yield* auditDone({ siteId, action: 'webhook.delete', target: webhookId, outcome: 'done', context })
  return true
}

export function* rotateWebhookSecret(
  siteId: SiteId,
  webhookId: string,
  secretSealed: string,
  previousUntilMs: number,
  context: AuditContext,
): Transaction<boolean> {
  yield* lock(`webhook ${webhookId}`)
  const found = yield* row(
    'SELECT secrets FROM webhooks WHERE webhook_id = $1 AND site_id = $2 AND deleted_at IS NULL',
    webhookId,
    siteId,
  )
  if (found === undefined) return false
  const before = json<readonly KeptSecret[]>(found, 'secrets').filter(
    ({ untilMs }) => untilMs === null || untilMs > context.atMs,
  )
  const secrets: readonly KeptSecret[] = [
    { sealed: secretSealed, untilMs: null },
    ...before.map(({ sealed, untilMs }) => ({ sealed, untilMs: untilMs ?? previousUntilMs })),
  ]
  yield* exec(
    'UPDATE webhooks SET secrets = $2 WHERE webhook_id = $1',
    webhookId,
    JSON.stringify(secrets.slice(0, SECRETS_MAX)),
  )
  yield* requireMasterKey(secretSealed)
  yield* auditDone({ siteId, action: 'webhook.rotate_secret', target: webhookId, outcome: 'done', context })
  return true
}

export function* webhook(siteId: SiteId, webhookId: string): Transaction<Webhook | undefined> {
  const found = yield* row(
    'SELECT * FROM webhooks WHERE webhook_id = $1 AND site_id = $2 AND deleted_at IS NULL',
    webhookId,
    siteId,
  )
  return found && toWebhook(found)
}

/** By name, which is the order in which they were made. */
export function* webhooks(siteId: SiteId, { after, limit }: Page): Transaction<readonly Webhook[]> {
  const found = yield* rows(
    'SELECT * FROM webhooks WHERE site_id = $3 AND webhook_id > $1 AND deleted_at IS NULL ORDER BY webhook_id LIMIT $2',
    after ?? '',
    limit,
    siteId,
  )
  return found.map(toWebhook)
}

function toWebhook(row: Row): Webhook {
  return {
    webhookId: text(row, 'webhook_id'),
    siteId: text(row, 'site_id') as SiteId,
    url: text(row, 'url'),
    kinds: row.kinds === null ? undefined : json<readonly EntryKind[]>(row, 'kinds'),
    status: text(row, 'status') as Webhook['status'],
    createdAtMs: number(row, 'created_at'),
  }
}
