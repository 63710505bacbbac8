import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createWake } from '../log/wake.ts'
import type { Sealer } from '../sealing/sealer.ts'
import type { DueDelivery, EndedAttempt } from '../store/operations/deliveries.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type Attempted, afterAttempt, toAttempt } from './after-attempt.ts'
import { type PostOptions, postDelivery } from './post-delivery.ts'

export interface SenderDeps {
  readonly store: Pick<Store, 'dueWebhooks' | 'nextDelivery' | 'onAppend'>
  readonly keys: Pick<Sealer, 'open'>
  readonly clock: Pick<Clock, 'nowMs'>
  readonly meters: { webhookAttempt(outcome: 'delivered' | 'again' | 'failed'): void }
  readonly log: Pick<Logger, 'info' | 'warn'>
}

export interface SenderOptions extends PostOptions {
  // For tests.
  readonly pollMs?: number
  readonly leaseMs?: number
  readonly runningMax?: number
  readonly closeMsMax?: number
  readonly random?: () => number
}

/** How often the store is polled; a wake-up only makes it sooner. */
const POLL_MS = 1000
/** Longer than an attempt. When a node dies, another one takes over after this. */
const LEASE_MS = 20_000
const RUNNING_MAX = 64
/**
 * Maximum number of concurrent store operations: requests by HTTP, above all revocations, must not
 * queue behind webhooks.
 */
const AT_STORE_MAX = 4
/** After that, running attempts are aborted; the next sender repeats them. */
const CLOSE_MS_MAX = 3000
const POLL_PAUSE_MS_MIN = 20
/** Polling takes at most this fraction of the time (1 / 20), however many webhooks there are. */
const POLL_SHARE = 20

/**
 * Sends log entries to the webhooks of their site: at least once, and in the order of the log for
 * each webhook. A receiver that fails delays only itself. Of several nodes on one store, one at a
 * time sends to a webhook. The store has what is to be sent and the results, so nothing is lost
 * with a process; attempts that were running when it died are repeated.
 */
export function startWebhookSender(deps: SenderDeps, options: SenderOptions): { close(): Promise<void> } {
  const { store, keys, clock, meters, log } = deps
  const {
    pollMs = POLL_MS,
    leaseMs = LEASE_MS,
    runningMax = RUNNING_MAX,
    closeMsMax = CLOSE_MS_MAX,
    random = Math.random,
  } = options
  const owner = `sender_${randomBytes(12).toString('base64url')}`
  const wake = createWake()
  // After the feed: the next delivery is looked up without waiting.
  const unlisten = store.onAppend(() => void setImmediate(() => wake.wake()))
  const running = new Map<string, Promise<void>>()
  /** Starts no new attempts. */
  const stop = new AbortController()
  /** Aborts running attempts. */
  const abort = new AbortController()
  /** Whether other webhooks are waiting to be sent to. */
  let isCrowded = false
  let isFailing = false

  let freeAtStore = AT_STORE_MAX
  const waiting: (() => void)[] = []
  const nextDelivery: typeof store.nextDelivery = async (...args) => {
    if (freeAtStore > 0) freeAtStore--
    else await new Promise<void>((done) => waiting.push(done))
    try {
      return await store.nextDelivery(...args)
    } finally {
      const next = waiting.shift()
      if (next === undefined) freeAtStore++
      else next()
    }
  }

  const toEndedAttempt = (due: DueDelivery, attempted: Attempted): EndedAttempt => {
    if (attempted.status === undefined && abort.signal.aborted)
      return { deliveryId: due.deliveryId, end: 'aborted', lastStatus: undefined }
    const ended = afterAttempt(due, attempted, clock.nowMs(), random())
    const { end, disable } = ended
    meters.webhookAttempt(typeof end === 'object' ? 'again' : (end as 'delivered' | 'failed'))
    const about = {
      site_id: due.siteId,
      webhook_id: due.webhookId,
      seq: due.seq,
      attempt: due.attempts + 1,
      status: attempted.status,
    }
    // Without the URL, which may contain a secret of the receiver.
    if (end === 'failed')
      log.warn({ ...about, err: attempted.fault }, 'a delivery to a webhook has failed permanently')
    else if (end !== 'delivered')
      log.info(
        { ...about, err: attempted.fault },
        'a delivery to a webhook has failed; it will be tried again',
      )
    if (disable !== undefined) log.warn({ ...about, why: disable }, 'a webhook is disabled')
    return ended
  }

  const sendTo = async (webhookId: string): Promise<void> => {
    const turn = () => ({
      webhookId,
      owner,
      nowMs: clock.nowMs(),
      leaseMs,
      release: stop.signal.aborted || isCrowded,
    })
    let due = await nextDelivery({ ...turn(), release: stop.signal.aborted })
    while (due !== undefined) {
      const atMs = clock.nowMs()
      const beganMs = performance.now()
      const attempted = await postDelivery(due, keys, atMs, abort.signal, options)
      const attempt = toAttempt(due, attempted, atMs, performance.now() - beganMs)
      due = await nextDelivery(turn(), { ...toEndedAttempt(due, attempted), attempt })
    }
  }

  const startDue = async (): Promise<void> => {
    const free = runningMax - running.size
    // Webhooks that this node is sending to are not due, unless their lease has ended meanwhile.
    const found = (await store.dueWebhooks(clock.nowMs(), runningMax + 1)).filter(
      (webhookId) => !running.has(webhookId),
    )
    isCrowded = found.length > free
    for (const webhookId of found.slice(0, Math.max(free, 0))) {
      const sending = sendTo(webhookId)
        // The lease ends by itself, and then another node tries.
        .catch((err: unknown) =>
          log.warn({ err, webhook_id: webhookId }, 'sending to a webhook failed; trying again'),
        )
        .finally(() => {
          running.delete(webhookId)
          if (isCrowded) wake.wake()
        })
      running.set(webhookId, sending)
    }
  }

  const follow = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const { count } = wake // Before the poll, so that an append in between still wakes the sender.
      const beganMs = performance.now()
      try {
        await startDue()
        isFailing = false
      } catch (err) {
        if (!isFailing) log.warn({ err }, 'could not load the due webhook deliveries; trying again')
        isFailing = true
      }
      const restMs = Math.max(POLL_PAUSE_MS_MIN, (performance.now() - beganMs) * POLL_SHARE)
      await pause(restMs, undefined, { signal: stop.signal }).catch(() => {})
      await wake.sleep(count, pollMs, stop.signal)
    }
  }

  const following = follow()
  return {
    async close() {
      stop.abort()
      unlisten()
      await following
      const timer = setTimeout(() => abort.abort(), closeMsMax)
      await Promise.all(running.values())
      clearTimeout(timer)
    },
  }
}
