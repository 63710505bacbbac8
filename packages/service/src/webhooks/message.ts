import { createHmac } from 'node:crypto'
import type { Entry } from '@countersign/core'
import { webhookKey } from './secret.ts'

/** The request for one entry of the log. */
interface WebhookMessage {
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
  const id = `${entry.site_id}.${entry.epoch}.${entry.seq}`
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
