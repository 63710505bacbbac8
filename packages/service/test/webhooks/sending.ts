import { randomBytes } from 'node:crypto'
import { type EntryKind, type Ppid, parsePpid, type SiteId } from '@countersign/core'
import { expect } from 'vitest'
import { createWebhook } from '../../src/actions/webhooks.ts'
import type { Config } from '../../src/config.ts'
import type { ServiceKeys } from '../../src/keys/service-keys.ts'
import { createLogger } from '../../src/logger.ts'
import { createSealer } from '../../src/sealing/sealer.ts'
import type { AuditContext } from '../../src/store/operations/audit.ts'
import type { Delivery } from '../../src/store/operations/deliveries.ts'
import type { Store } from '../../src/store/store.ts'
import { type SenderOptions, startWebhookSender } from '../../src/webhooks/sender.ts'
import { newSiteId } from '../admin-node.ts'
import { ClockDouble } from '../log/log-double.ts'
import { createSite } from '../node.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/**
 * A site with webhooks, senders that look after them only, and a clock that goes when it is told
 * to.
 */
export interface Sending {
  readonly store: Store
  readonly siteId: SiteId
  readonly clock: ClockDouble
  readonly keys: ServiceKeys
  /** What was logged, a line each. */
  readonly logged: string[]
  readonly attempts: Record<'delivered' | 'again' | 'failed', number>
  context(): AuditContext
  /** As the administration makes one in development. */
  webhook(
    url: string,
    kinds?: readonly EntryKind[],
  ): Promise<{ readonly webhookId: string; readonly secret: string }>
  /** As it would stand in the store, whatever its URL. */
  anyWebhook(url: string): Promise<string>
  /** Appends so many entries to the log of the site. */
  revoke(times?: number): Promise<void>
  /** Starts a sender. It looks for work all the time, unless told otherwise. */
  send(
    options?: Partial<SenderOptions>,
    store?: Partial<Store>,
    keys?: Pick<ServiceKeys, 'open'>,
  ): { close(): Promise<void> }
  deliveries(webhookId: string): Promise<readonly Delivery[]>
  /** Oldest first. */
  statuses(webhookId: string): Promise<readonly string[]>
  /** Lets time pass until the next attempt is made and written down. */
  nextAttempt(webhookId: string): Promise<void>
  /** Lets time pass until a receiver has been asked so often. Fails when nothing comes of it. */
  later(ms: number, got: { readonly length: number }, count: number): Promise<void>
}

const started = new Set<{ close(): Promise<void> }>()

/** Stops all senders that still run. */
export async function stopSenders(): Promise<void> {
  await Promise.all([...started].map((sender) => sender.close()))
  started.clear()
}

export async function beginSending(shared: Store): Promise<Sending> {
  const siteId = newSiteId()
  await createSite(shared, siteId, [])
  const mine = new Set<string>()
  const store = Object.create(shared) as Store
  store.dueWebhooks = async (nowMs, limit) =>
    (await shared.dueWebhooks(nowMs, 10_000)).filter((id) => mine.has(id)).slice(0, limit)
  const clock = new ClockDouble()
  clock.wallMs = Date.now() // The verifier of receivers knows no other time.
  const keys = createSealer(randomBytes(32)) as ServiceKeys
  const logged: string[] = []
  const log = createLogger('trace', { write: (line: string) => void logged.push(line) })
  const attempts = { delivered: 0, again: 0, failed: 0 }
  const context = (): AuditContext => ({ actor: 'operator', atMs: clock.wallMs, requestId: undefined })
  const sending: Sending = {
    store,
    siteId,
    clock,
    keys,
    logged,
    attempts,
    context,
    async webhook(url, kinds) {
      const config = { mode: 'development' } as Config
      const { webhook, secret } = await createWebhook(
        { store, keys, config },
        { siteId, url, kinds },
        context(),
      )
      mine.add(webhook.webhookId)
      return { webhookId: webhook.webhookId, secret }
    },
    async anyWebhook(url) {
      const { webhookId, secret } = await sending.webhook('http://127.0.0.1:9/')
      await store.deleteWebhook(siteId, webhookId, context())
      const other = `${webhookId}x`
      const secretSealed = keys.seal(`webhook:${siteId}:${other}`, secret)
      await store.createWebhook(
        { webhookId: other, siteId, url, kinds: undefined, secretSealed },
        100,
        context(),
      )
      mine.add(other)
      return other
    },
    async revoke(times = 1) {
      for (let i = 0; i < times; i++) {
        const ppid = parsePpid(`did:service:ppid_${randomBytes(12).toString('hex')}`) as Ppid
        await store.revokeUser({ siteId, ppid, reason: undefined }, context())
      }
    },
    send(options = {}, operations = {}, opening = keys) {
      const meters = { webhookAttempt: (outcome: keyof typeof attempts) => void attempts[outcome]++ }
      const sender = startWebhookSender(
        {
          store: Object.assign(Object.create(store) as Store, operations),
          keys: opening,
          clock,
          meters,
          log,
        },
        { allowLoopback: true, pollMs: 5, random: () => 0.5, ...options },
      )
      started.add(sender)
      return sender
    },
    async deliveries(webhookId) {
      return [...(await store.deliveries(siteId, webhookId, { after: undefined, limit: 1000 }))].reverse()
    },
    async statuses(webhookId) {
      return (await sending.deliveries(webhookId)).map(({ status }) => status)
    },
    async nextAttempt(webhookId) {
      const made = async () =>
        (await sending.deliveries(webhookId)).reduce((sum, delivery) => sum + delivery.attempts, 0)
      const before = await made()
      const front = (await sending.deliveries(webhookId)).find(({ status }) => status === 'pending')
      clock.pass(Math.max(0, (front?.nextAttemptAtMs ?? 0) - clock.wallMs))
      await expect.poll(made, { interval: 2 }).toBeGreaterThan(before)
    },
    async later(ms, got, count) {
      clock.pass(ms)
      await expect.poll(() => got.length, { interval: 5 }).toBe(count)
    },
  }
  return sending
}
