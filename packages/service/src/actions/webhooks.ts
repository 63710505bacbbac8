import type { EntryKind, SiteId } from '@countersign/core'
import { limits, parseWebhookUrl } from '@countersign/core/contract'
import type { Deps } from '../deps.ts'
import { createId } from '../keys/ids.ts'
import { isAllowedUrl } from '../net/guarded-request.ts'
import { Problem } from '../problem.ts'
import { webhookPurpose } from '../sealing/purposes.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Delivery, Recovered, Recovery } from '../store/operations/deliveries.ts'
import type { Webhook, WebhookChange } from '../store/operations/webhooks.ts'
import { createWebhookSecret } from '../webhooks/secret.ts'

type WebhookDeps = Pick<Deps, 'store' | 'keys'>

export interface WebhookOrder {
  readonly siteId: SiteId
  readonly url: string
  /** Undefined: all kinds. */
  readonly kinds: readonly EntryKind[] | undefined
}

/**
 * Creates a webhook, which receives the entries of a site from now on. The secret is in the answer;
 * the store has it encrypted. Throws `webhook_url_forbidden` for a URL that is not allowed. Names
 * are resolved and checked at every connection, not here: an answer here would disclose what our
 * name servers know, and the name may resolve to another address later.
 */
export async function createWebhook(
  { store, keys, config }: WebhookDeps & Pick<Deps, 'config'>,
  { siteId, url, kinds }: WebhookOrder,
  context: AuditContext,
): Promise<{ readonly webhook: Webhook; readonly secret: string }> {
  requireAllowedUrl(url, config)
  const webhookId = createId('wh_', context.atMs)
  const secret = createWebhookSecret()
  const secretSealed = keys.seal(webhookPurpose(siteId, webhookId), secret)
  const webhook = await store.createWebhook(
    { webhookId, siteId, url, kinds, secretSealed },
    limits.webhooks_per_site_max,
    context,
  )
  if (webhook === undefined) throw new Problem('not_found')
  if (webhook === 'too_many') {
    const message = `is one too many: a site has at most ${limits.webhooks_per_site_max} webhooks`
    const detail = `This site already has ${limits.webhooks_per_site_max} webhooks. Delete one first.`
    throw new Problem('validation_failed', detail, { errors: [{ path: 'url', message }] })
  }
  return { webhook, secret }
}

function requireAllowedUrl(url: string, { mode }: Pick<Deps['config'], 'mode'>): void {
  const parsed = parseWebhookUrl(url)
  if (parsed === undefined || !isAllowedUrl(parsed, { allowLoopback: mode === 'development' }))
    throw new Problem('webhook_url_forbidden')
}

/**
 * Changes a webhook. Throws `webhook_url_forbidden` for a URL that is not allowed, and `not_found`
 * when the site has no such webhook.
 */
export async function changeWebhook(
  { store, config }: Pick<Deps, 'store' | 'config'>,
  siteId: SiteId,
  webhookId: string,
  { reason, ...change }: WebhookChange & { readonly reason: string | undefined },
  context: AuditContext,
): Promise<Webhook> {
  if (change.url !== undefined) requireAllowedUrl(change.url, config)
  const webhook = await store.changeWebhook(siteId, webhookId, change, reason, context)
  if (webhook === undefined) throw new Problem('not_found')
  return webhook
}

/**
 * Sends deliveries of a webhook again that have ended. Throws `not_found` when the site has no such
 * webhook, and `rate_limited` when too many replays are pending.
 */
export async function recoverWebhook(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  webhookId: string,
  recovery: Recovery,
  context: AuditContext,
): Promise<Recovered> {
  const recovered = await store.recoverDeliveries(siteId, webhookId, recovery, context)
  if (recovered === undefined) throw new Problem('not_found')
  if (recovered === 'too_many') throw tooManyReplays()
  return recovered
}

/** Throws `not_found` when the site has no such webhook. */
export async function deleteWebhook(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  webhookId: string,
  context: AuditContext,
): Promise<void> {
  if (!(await store.deleteWebhook(siteId, webhookId, context))) throw new Problem('not_found')
}

/**
 * Creates a new secret for a webhook. For a day, deliveries are signed with the previous secret
 * too, so that the receiver has time to change. Throws `not_found` when the site has no such
 * webhook.
 */
export async function rotateWebhookSecret(
  { store, keys }: WebhookDeps,
  siteId: SiteId,
  webhookId: string,
  context: AuditContext,
): Promise<{ readonly secret: string; readonly previousUntilMs: number }> {
  const secret = createWebhookSecret()
  const secretSealed = keys.seal(webhookPurpose(siteId, webhookId), secret)
  const previousUntilMs = context.atMs + limits.webhook_secret_overlap_seconds * 1000
  if (!(await store.rotateWebhookSecret(siteId, webhookId, secretSealed, previousUntilMs, context)))
    throw new Problem('not_found')
  return { secret, previousUntilMs }
}

const TOO_MANY_RETRY_SECONDS = 60

/**
 * Throws `not_found` when the site has no such delivery, and `rate_limited` when too many replays
 * are pending.
 */
export async function replayDelivery(
  { store }: Pick<Deps, 'store'>,
  siteId: SiteId,
  deliveryId: string,
  context: AuditContext,
): Promise<Delivery> {
  const delivery = await store.replayDelivery(siteId, deliveryId, context)
  if (delivery === undefined) throw new Problem('not_found')
  if (delivery === 'too_many') throw tooManyReplays()
  return delivery
}

function tooManyReplays(): Problem {
  return new Problem(
    'rate_limited',
    'Too many deliveries of this webhook are waiting to be replayed. Wait until some have been sent.',
    { retryAfterSeconds: TOO_MANY_RETRY_SECONDS },
  )
}
