import type { EntryKind, SiteId } from '@countersign/core'
import { json, number, optionalJson, optionalText, text, toSiteId } from '../columns.ts'
import type { Page } from '../page.ts'
import { exec, lock, type Row, read, row, rows, type Transaction } from '../transaction.ts'
import type { AuditContext } from './audit.ts'
import { requireMasterKey } from './shared/master-key.ts'
import { recordAudit } from './shared/record-audit.ts'
import { findSigning, type KeptSecret } from './shared/webhook-secrets.ts'

export interface NewWebhook {
  readonly webhookId: string
  readonly siteId: SiteId
  readonly url: string
  /** Undefined: all. */
  readonly kinds: readonly EntryKind[] | undefined
  /** Sealed by the caller, for this webhook. */
  readonly secretSealed: string
}

export interface Webhook extends Omit<NewWebhook, 'secretSealed'> {
  readonly status: WebhookStatus
  readonly createdAtMs: number
}

export type WebhookStatus = 'on' | 'paused' | 'disabled'

/** What to change; undefined members stay. */
export interface WebhookChange {
  readonly url?: string | undefined
  /** Null: all. */
  readonly kinds?: readonly EntryKind[] | null | undefined
  readonly status?: 'on' | 'paused' | undefined
}

/** Maximum number of signatures on a delivery. */
const SECRETS_MAX = 3

/**
 * Entries appended from now on will be sent to it. `too_many`: the site has as many as it may have.
 * Undefined: there is no such site.
 */
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
  yield* recordAudit({ siteId, action: 'webhook.create', target: webhookId, context })
  return toWebhook(made)
}

/**
 * Nothing more is sent to it, except what is being sent at this moment. Its deliveries are purged
 * later, in batches, because there may be very many of them.
 */
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
  yield* recordAudit({ siteId, action: 'webhook.delete', target: webhookId, context })
  return true
}

/**
 * The earlier secrets sign until `previousUntilMs`, or until their own end. False when there is no
 * such webhook.
 */
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
  yield* recordAudit({ siteId, action: 'webhook.rotate_secret', target: webhookId, context })
  return true
}

/**
 * Records that a webhook is tested, and returns what the test needs: the newest secret first, then
 * earlier ones that still sign. Undefined when there is no such webhook.
 */
export function* startWebhookTest(
  siteId: SiteId,
  webhookId: string,
  context: AuditContext,
): Transaction<{ readonly url: string; readonly secretsSealed: readonly string[] } | undefined> {
  const found = yield* row(
    'SELECT url, secrets FROM webhooks WHERE webhook_id = $1 AND site_id = $2 AND deleted_at IS NULL',
    webhookId,
    siteId,
  )
  if (found === undefined) return undefined
  yield* recordAudit({ siteId, action: 'webhook.test', target: webhookId, context })
  return { url: text(found, 'url'), secretsSealed: findSigning(found, context.atMs) }
}

/**
 * Changes a webhook. One that is on again continues where it stopped. With a new URL, an attempt
 * that is running has no effect: it is repeated there. Undefined when there is no such webhook.
 */
export function* changeWebhook(
  siteId: SiteId,
  webhookId: string,
  change: WebhookChange,
  reason: string | undefined,
  context: AuditContext,
): Transaction<Webhook | undefined> {
  // Locks the row first: the sender writes the status that it has read.
  const found = yield* row(
    'UPDATE webhooks SET turn_at = turn_at WHERE webhook_id = $1 AND site_id = $2 AND deleted_at IS NULL RETURNING *',
    webhookId,
    siteId,
  )
  if (found === undefined) return undefined
  const before = toWebhook(found)
  const { url = before.url, status = before.status } = change
  const kinds = change.kinds === undefined ? optionalText(found, 'kinds') : toStoredKinds(change.kinds)
  const isElsewhere = url !== before.url
  const isOnAgain = status === 'on' && before.status !== 'on'
  const changed = [
    ...(isElsewhere ? ['url'] : []),
    ...(kinds === optionalText(found, 'kinds') ? [] : ['kinds']),
    ...(status === before.status ? [] : ['status']),
  ]
  // Without the URL, which may contain a secret of the receiver.
  const detail = { changed, status }
  const outcome = changed.length === 0 ? 'unchanged' : 'done'
  yield* recordAudit({
    siteId,
    action: 'webhook.change',
    target: webhookId,
    outcome,
    reason,
    detail,
    context,
  })
  if (isElsewhere || isOnAgain)
    yield* exec(
      `UPDATE deliveries SET next_attempt_at = $2 WHERE webhook_id = $1 AND status = 'pending'`,
      webhookId,
      context.atMs,
    )
  const written = yield* row(
    `UPDATE webhooks SET url = $2, kinds = $3, status = $4,
       failing_since = CASE WHEN $5 = 1 THEN NULL ELSE failing_since END,
       due_at = CASE WHEN $5 = 1 THEN $6 ELSE due_at END,
       lease_owner = CASE WHEN $7 = 1 THEN NULL ELSE lease_owner END,
       lease_until = CASE WHEN $7 = 1 THEN NULL ELSE lease_until END WHERE webhook_id = $1 RETURNING *`,
    webhookId,
    url,
    kinds ?? null,
    status,
    isElsewhere || isOnAgain ? 1 : 0,
    context.atMs,
    isElsewhere ? 1 : 0,
  )
  return written && toWebhook(written)
}

function toStoredKinds(kinds: readonly EntryKind[] | null): string | undefined {
  return kinds === null ? undefined : JSON.stringify(kinds)
}

export const webhook = read(function* (siteId: SiteId, webhookId: string): Transaction<Webhook | undefined> {
  const found = yield* row(
    'SELECT * FROM webhooks WHERE webhook_id = $1 AND site_id = $2 AND deleted_at IS NULL',
    webhookId,
    siteId,
  )
  return found && toWebhook(found)
})

/** By id, which is the order in which they were created. */
export const webhooks = read(function* (
  siteId: SiteId,
  { after, limit }: Page,
): Transaction<readonly Webhook[]> {
  const found = yield* rows(
    'SELECT * FROM webhooks WHERE site_id = $3 AND webhook_id > $1 AND deleted_at IS NULL ORDER BY webhook_id LIMIT $2',
    after ?? '',
    limit,
    siteId,
  )
  return found.map(toWebhook)
})

function toWebhook(row: Row): Webhook {
  return {
    webhookId: text(row, 'webhook_id'),
    siteId: toSiteId(row),
    url: text(row, 'url'),
    kinds: optionalJson(row, 'kinds'),
    status: text(row, 'status') as Webhook['status'],
    createdAtMs: number(row, 'created_at'),
  }
}
