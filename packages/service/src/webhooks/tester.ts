import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import type { Logger } from 'pino'
import { BoundedMap } from '../bounded-map.ts'
import type { RequestRules } from '../net/guarded-request.ts'
import { Problem } from '../problem.ts'
import { RunningQuota } from '../running-quota.ts'
import { webhookPurpose } from '../sealing/purposes.ts'
import type { Sealer } from '../sealing/sealer.ts'
import type { AuditContext } from '../store/operations/audit.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { createTestMessage } from './message.ts'
import { postMessage } from './post-delivery.ts'

/** How a receiver answered a test. */
interface WebhookTested {
  readonly sentAtMs: number
  /** Undefined when there was no response. */
  readonly answer: { readonly status: number; readonly ms: number } | undefined
}

export interface WebhookTester {
  /**
   * Sends one signed test to a webhook. It does not say why there was no response, and takes the
   * same time whatever the reason is, because both would show which addresses answer (A211).
   * Throws a Problem: `not_found`; `rate_limited` when another test of the site is running, or
   * there were too many.
   */
  test(siteId: SiteId, webhookId: string, context: AuditContext): Promise<WebhookTested>
}

export interface TesterParts {
  readonly store: Pick<Store, 'startWebhookTest'>
  readonly keys: Pick<Sealer, 'open'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly log: Pick<Logger, 'info'>
}

export interface TesterOptions extends RequestRules {
  // For tests.
  readonly answerMs?: number
  readonly monotonicMs?: () => number
}

const ANSWER_MS = limits.webhook_test_seconds * 1000
/** Of the time, for the response of the receiver; the rest hides how a connection failed. */
const WAITED_SHARE = 0.9
const PER_NODE_MAX = 8
const WINDOW_MS = 60_000
const SITES_MAX = 1000

export function createWebhookTester(
  { store, keys, clock, log }: TesterParts,
  { answerMs = ANSWER_MS, monotonicMs = () => performance.now(), ...rules }: TesterOptions,
): WebhookTester {
  const running = new RunningQuota({
    name: 'webhook_tests',
    perKeyMax: 1,
    perNodeMax: PER_NODE_MAX,
    detail: 'Another test of a webhook is running. Try again when it has ended.',
  })
  /** When the last tests of each site were sent. */
  const recent = new BoundedMap<SiteId, readonly number[]>(SITES_MAX)
  const findRecent = (siteId: SiteId, nowMs: number) =>
    (recent.get(siteId) ?? []).filter((sentMs) => nowMs - sentMs < WINDOW_MS)

  const send = async (siteId: SiteId, webhookId: string, context: AuditContext): Promise<WebhookTested> => {
    const beganMs = monotonicMs()
    const sent = findRecent(siteId, beganMs)
    if (sent.length >= limits.webhook_tests_per_minute_max) throw tooManyTests(beganMs - (sent[0] ?? 0))
    const found = await store.startWebhookTest(siteId, webhookId, context)
    if (found === undefined) throw new Problem('not_found')
    recent.set(siteId, [...sent, beganMs])
    const secrets = found.secretsSealed.map((sealed) => keys.open(webhookPurpose(siteId, webhookId), sealed))
    const testId = `test_${randomBytes(12).toString('base64url')}`
    const sentAtMs = clock.nowMs()
    const message = createTestMessage({ testId, siteId, webhookId }, secrets, sentAtMs)
    const timeoutMs = answerMs * WAITED_SHARE
    const startedMs = monotonicMs()
    const { status, fault } = await postMessage(found.url, message, sentAtMs, NEVER, { ...rules, timeoutMs })
    const ms = Math.round(monotonicMs() - startedMs)
    if (status !== undefined) return { sentAtMs, answer: { status, ms } }
    // Without the URL, which may contain a secret of the receiver.
    log.info({ site_id: siteId, webhook_id: webhookId, err: fault }, 'a test of a webhook had no response')
    await pause(Math.max(0, answerMs - (monotonicMs() - startedMs)), undefined, { ref: false })
    return { sentAtMs, answer: undefined }
  }

  return {
    async test(siteId, webhookId, context) {
      const end = running.begin(siteId)
      try {
        return await send(siteId, webhookId, context)
      } finally {
        end()
      }
    },
  }
}

const NEVER = new AbortController().signal

function tooManyTests(sinceFirstMs: number): Problem {
  const quota = limits.webhook_tests_per_minute_max
  return new Problem('rate_limited', `This site has tested webhooks ${quota} times in the last minute.`, {
    retryAfterSeconds: Math.max(1, Math.ceil((WINDOW_MS - sinceFirstMs) / 1000)),
    policy: { name: 'webhook_tests', quota, windowSeconds: WINDOW_MS / 1000 },
  })
}
