import type { IncomingMessage } from 'node:http'
import { limits } from '@countersign/core/contract'
import { guardedRequest, type RequestRules } from '../net/guarded-request.ts'
import { webhookPurpose } from '../sealing/purposes.ts'
import type { Sealer } from '../sealing/sealer.ts'
import type { DueDelivery } from '../store/operations/deliveries.ts'
import { SERVICE_VERSION } from '../version.ts'
import type { Attempted } from './after-attempt.ts'
import { createWebhookMessage, type WebhookMessage } from './message.ts'

export interface PostOptions extends RequestRules {
  /** Default: 15 s. */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = limits.webhook_answer_seconds_max * 1000
const BYTES_MAX = limits.webhook_answer_bytes_max

/**
 * Posts a delivery once, as `postMessage` does. Rejects, with nothing sent, only with a
 * `SealBroken`: this node has another master key than the node that created the secret, which is no
 * failure of the receiver.
 */
export async function postDelivery(
  delivery: DueDelivery,
  keys: Pick<Sealer, 'open'>,
  nowMs: number,
  signal: AbortSignal,
  options: PostOptions,
): Promise<Attempted> {
  const { url, entry, siteId, webhookId, secretsSealed } = delivery
  const secrets = secretsSealed.map((sealed) => keys.open(webhookPurpose(siteId, webhookId), sealed))
  if (entry === undefined) return { status: undefined, fault: new Error('the entry is no longer in the log') }
  return postMessage(url, createWebhookMessage(entry, secrets, nowMs), nowMs, signal, options)
}

/**
 * Posts a message once and returns the result. Only the status of the response is used; at most 64
 * KiB of the body are read and discarded, and the connection is closed after 15 s in all. Follows
 * no redirect.
 */
export async function postMessage(
  url: string,
  { headers, body }: WebhookMessage,
  nowMs: number,
  signal: AbortSignal,
  options: PostOptions,
): Promise<Attempted> {
  const over = new AbortController()
  const end = () => over.abort()
  const timer = setTimeout(end, options.timeoutMs ?? TIMEOUT_MS)
  signal.addEventListener('abort', end)
  try {
    const answer = await guardedRequest(
      new URL(url),
      {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'accept-encoding': 'identity',
          'user-agent': `countersign/${SERVICE_VERSION}`,
        },
        body,
        signal: over.signal,
      },
      options,
    )
    await readOut(answer)
    return {
      status: knownStatus(answer.statusCode),
      retryAfterMs: retryAfterMs(answer.headers['retry-after'], nowMs),
    }
  } catch (fault) {
    return { status: undefined, fault }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

/** Reads the rest of the response within bounds, so that the receiver can finish it. */
async function readOut(answer: IncomingMessage): Promise<void> {
  let bytes = 0
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > BYTES_MAX) break
    }
  } catch {
    // The status has arrived.
  } finally {
    answer.destroy()
  }
}

function knownStatus(status: number | undefined): number | undefined {
  return status !== undefined && status >= 100 && status <= 599 ? status : undefined
}

/** RFC 9110 §10.2.3: seconds, or a date. */
function retryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - nowMs
  return ms > 0 ? ms : undefined
}
