import { createHmac } from 'node:crypto'
import { type Entry, formatTime, type SiteId } from '@countersign/core'
import { webhookKey } from './secret.ts'

/** A signed request to a receiver. */
export interface WebhookMessage {
  readonly headers: Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>>
  readonly body: string
}

/**
 * Creates the message of an entry, signed as in Standard Webhooks under each of the secrets. Its id
 * and its body are the same in every attempt; the time is that of the attempt, so that a receiver
 * can reject a replay.
 */
export function createWebhookMessage(
  entry: Entry,
  secrets: readonly string[],
  nowMs: number,
): WebhookMessage {
  const body = JSON.stringify({ type: entry.kind, timestamp: entry.at, data: entry })
  return signMessage(`${entry.site_id}.${entry.epoch}.${entry.seq}`, body, secrets, nowMs)
}

/** A message that is no entry of the log. `testId` names it once. */
export function createTestMessage(
  {
    testId,
    siteId,
    webhookId,
  }: { readonly testId: string; readonly siteId: SiteId; readonly webhookId: string },
  secrets: readonly string[],
  nowMs: number,
): WebhookMessage {
  const data = { site_id: siteId, webhook_id: webhookId }
  const body = JSON.stringify({ type: 'webhook.test', timestamp: formatTime(nowMs), data })
  return signMessage(testId, body, secrets, nowMs)
}

function signMessage(id: string, body: string, secrets: readonly string[], nowMs: number): WebhookMessage {
  const timestamp = String(Math.floor(nowMs / 1000))
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', webhookKey(secret))
      .update(`${id}.${timestamp}.${body}`)
      .digest('base64')
    return `v1,${signature}`
  })
  return {
    headers: { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') },
    body,
  }
}
