import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import { createWake } from '../log/wake.ts'
import type { Sealer } from '../sealing/sealer.ts'
import type { DueDelivery, EndedAttempt } from '../store/operations/deliveries.ts'
import type { Store } from '../store/store.ts'
import type { Clock } from '../time/clock.ts'
import { type Attempted, afterAttempt } from './after-attempt.ts'
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

/** The truth is asked for this often; a wake-up only makes it sooner. */
const POLL_MS = 1000
/**
 * Longer than an attempt and all that belongs to it. When a node dies, another one takes over after
 * this.
 */
const LEASE_MS = 20_000
const RUNNING_MAX = 64
/**
 * Of those, so many may be at the store at a time: what comes in by HTTP, revocations first of all,
 * must not queue up behind webhooks.
 */
const AT_STORE_MAX = 4
/** After that, what is still under way is cut, and sent again by the next sender. */
const CLOSE_MS_MAX = 3000
const LOOK_MS_MIN = 20
/**
 * Looking for work takes at most one part in so many of the time, however many webhooks there are.
 */
const LOOK_SHARE = 20

/**
 * Sends what is in the log to the webhooks of its site: at least once, each webhook in the order of
 * the log. A receiver that fails holds up only itself. Of several nodes on one store, one at a time
 * sends to a webhook. What is to be sent, and what became of it, is in the store, so nothing is
 * lost with a process; what was under way when it died is sent again.
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
  const unlisten = store.onAppend(() => wake.wake())
  const running = new Map<string, Promise<void>>()
  /** Takes on nothing more. */
  const stop = new AbortController()
  /** Cuts what is under way. */
  const cut = new AbortController()
  /** Whether others are waiting for a place. */
  let isCrowded = false
  let isFailing = false

  let placesAtStore = AT_STORE_MAX
  const waiting: (() => void)[] = []
  const nextDelivery: typeof store.nextDelivery = async (...args) => {
    if (placesAtStore > 0) placesAtStore--
    else await new Promise<void>((done) => waiting.push(done))
    try {
      return await store.nextDelivery(...args)
    } finally {
      const next = waiting.shift()
      if (next === undefined) placesAtStore++
      else next()
    }
  }

  const told = (due: DueDelivery, attempted: Attempted): EndedAttempt => {
    if (attempted.status === undefined && cut.signal.aborted)
      return { deliveryId: due.deliveryId, end: 'untold', lastStatus: undefined }
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
    // Without the URL: it is the receiver's, and may hold a secret of theirs.
    if (end === 'failed')
      log.warn({ ...about, err: attempted.fault }, 'a delivery to a webhook has failed for good')
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
      leave: stop.signal.aborted || isCrowded,
    })
    let due = await nextDelivery({ ...turn(), leave: stop.signal.aborted })
    while (due !== undefined) {
      const attempted = await postDelivery(due, keys, clock.nowMs(), cut.signal, options)
      due = await nextDelivery(turn(), told(due, attempted))
    }
  }

  const look = async (): Promise<void> => {
    const places = runningMax - running.size
    // Those that we are sending to do not count as due, except when a lease has ended under us.
    const found = (await store.dueWebhooks(clock.nowMs(), runningMax + 1)).filter(
      (webhookId) => !running.has(webhookId),
    )
    isCrowded = found.length > places
    for (const webhookId of found.slice(0, Math.max(places, 0))) {
      const sending = sendTo(webhookId)
        // The lease ends by itself, and then another node tries.
        .catch((err: unknown) =>
          log.warn({ err, webhook_id: webhookId }, 'a webhook could not be served; trying again'),
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
      const { count } = wake // Before the look: what is appended in between must still wake us.
      const beganMs = performance.now()
      try {
        await look()
        isFailing = false
      } catch (err) {
        if (!isFailing) log.warn({ err }, 'what is due to webhooks could not be asked; trying again')
        isFailing = true
      }
      const restMs = Math.max(LOOK_MS_MIN, (performance.now() - beganMs) * LOOK_SHARE)
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
      const timer = setTimeout(() => cut.abort(), closeMsMax)
      await Promise.all(running.values())
      clearTimeout(timer)
    },
  }
}
