import { afterEach, describe, expect, it } from 'vitest'
import { forEachSharedStore } from '../stores.ts'
import { closeReceivers, openReceiver } from './receiver.ts'
import { beginSending, DAY, HOUR, MINUTE, type Sending, stopSenders } from './sending.ts'

afterEach(async () => {
  await stopSenders()
  await closeReceivers()
})

/** Long enough for anything that was going to happen. */
const aWhile = () => new Promise((done) => setTimeout(done, 150))
const until = (ask: () => unknown) => expect.poll(ask, { interval: 5 })

forEachSharedStore('webhooks and their receivers', (open) => {
  const begin = (): Promise<Sending> => beginSending(open())

  describe('a receiver that fails', () => {
    it('is tried 8 times over about a day; then the delivery has failed, and the next one is sent', {
      tags: 'long',
    }, async () => {
      const sending = await begin()
      const receiver = await openReceiver(500)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      const beganMs = sending.clock.wallMs
      await sending.revoke()
      await until(() => receiver.got.length).toBe(1)
      for (const [i, ms] of [
        5000,
        5 * MINUTE,
        30 * MINUTE,
        2 * HOUR,
        4.25 * HOUR,
        7 * HOUR,
        10 * HOUR,
      ].entries()) {
        await until(() => sending.deliveries(webhookId)).toMatchObject([
          { attempts: i + 1, status: 'pending', lastStatus: 500 },
        ])
        sending.clock.pass(ms - 1)
        await aWhile()
        expect(receiver.got).toHaveLength(i + 1)
        await sending.later(1, receiver.got, i + 2)
      }
      await until(() => sending.deliveries(webhookId)).toMatchObject([
        { attempts: 8, status: 'failed', nextAttemptAtMs: undefined },
      ])
      expect(sending.clock.wallMs - beganMs).toBeGreaterThan(23 * HOUR)
      expect(sending.clock.wallMs - beganMs).toBeLessThan(25 * HOUR)
      expect(new Set(receiver.got.map(({ id, body }) => `${id} ${body}`)).size).toBe(1)
      expect(new Set(receiver.got.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(8)
      expect(sending.attempts).toEqual({ delivered: 0, again: 7, failed: 1 })

      receiver.answer(200)
      await sending.revoke()
      await until(() => sending.statuses(webhookId)).toEqual(['failed', 'delivered'])
      await sending.later(2 * DAY, receiver.got, 9)
    })

    it('holds up what comes after, in order, and no other', { tags: 'long' }, async () => {
      const sending = await begin()
      const [failing, healthy] = [await openReceiver(503), await openReceiver()]
      const { webhookId } = await sending.webhook(failing.url)
      await sending.webhook(healthy.url)
      sending.send()
      await sending.revoke(5)
      await until(() => healthy.seqs()).toEqual([2, 3, 4, 5, 6])
      await until(async () => (await sending.deliveries(webhookId))[0]?.attempts).toBe(1)
      await aWhile()
      expect(failing.seqs()).toEqual([2])
      failing.answer(200)
      await sending.later(5000, failing.got, 6)
      expect(failing.seqs()).toEqual([2, 2, 3, 4, 5, 6])
    })

    it.each([301, 400, 404, 429, 500, 504, 199 + 400])('is one that answers %s', async (status) => {
      const sending = await begin()
      const receiver = await openReceiver(status)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke()
      await until(() => sending.deliveries(webhookId)).toMatchObject([
        { status: 'pending', attempts: 1, lastStatus: status },
      ])
    })

    it.each([200, 201, 202, 204, 299])('is not one that answers %s', async (status) => {
      const sending = await begin()
      const receiver = await openReceiver(status)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke()
      await until(() => sending.deliveries(webhookId)).toMatchObject([
        { status: 'delivered', attempts: 1, lastStatus: status },
      ])
    })

    it('is left alone for as long as it asks to be', async () => {
      const sending = await begin()
      const receiver = await openReceiver((_request, response) =>
        response.writeHead(503, { 'retry-after': '600' }).end(),
      )
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke()
      await until(async () => (await sending.deliveries(webhookId))[0]?.nextAttemptAtMs).toBe(
        sending.clock.wallMs + 600_000,
      )
    })

    it('is disabled after five days, with an audit row, and nothing more is sent', {
      tags: 'long',
    }, async () => {
      const sending = await begin()
      const receiver = await openReceiver(500)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke(20)
      const beganMs = sending.clock.wallMs
      const isOn = async () => (await sending.store.webhook(sending.siteId, webhookId))?.status === 'on'
      while (await isOn()) await sending.nextAttempt(webhookId)
      const days = (sending.clock.wallMs - beganMs) / DAY
      expect(days).toBeGreaterThanOrEqual(5)
      expect(days).toBeLessThan(6)
      const asked = receiver.got.length
      expect(asked).toBeLessThanOrEqual(6 * 8)
      receiver.answer(200)
      await sending.revoke()
      sending.clock.pass(2 * DAY)
      await aWhile()
      expect(receiver.got).toHaveLength(asked)
      expect(new Set(await sending.statuses(webhookId))).toEqual(new Set(['failed']))
      const audit = await sending.store.auditRows(sending.siteId, { after: undefined, limit: 100 })
      expect(audit.filter(({ action }) => action === 'webhook.disable')).toMatchObject([
        {
          target: webhookId,
          detail: { reason: 'nothing could be delivered for five days' },
          context: { actor: 'system' },
        },
      ])
      expect(sending.logged.join()).toContain('a webhook is disabled')
    })

    it('control: stays on when it took one delivery in between', { tags: 'long' }, async () => {
      const sending = await begin()
      const receiver = await openReceiver(500)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke(20)
      const beganMs = sending.clock.wallMs
      while (sending.clock.wallMs < beganMs + 3 * DAY) await sending.nextAttempt(webhookId)
      receiver.answer((_request, response) => {
        receiver.answer(500)
        response.writeHead(200).end()
      })
      while (sending.clock.wallMs < beganMs + 7 * DAY) await sending.nextAttempt(webhookId)
      expect(await sending.statuses(webhookId)).toContain('delivered')
      expect(await sending.store.webhook(sending.siteId, webhookId)).toMatchObject({ status: 'on' })
    })

    it('is not disabled for one failure long after another', async () => {
      const sending = await begin()
      const receiver = await openReceiver(500)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke()
      while ((await sending.statuses(webhookId))[0] !== 'failed') await sending.nextAttempt(webhookId)
      sending.clock.pass(10 * DAY)
      await sending.revoke()
      await until(async () => (await sending.deliveries(webhookId))[1]?.attempts).toBe(1)
      expect(await sending.store.webhook(sending.siteId, webhookId)).toMatchObject({ status: 'on' })
    })

    it('that answers 410 is disabled at once', async () => {
      const sending = await begin()
      const receiver = await openReceiver(410)
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke(3)
      await until(async () => (await sending.store.webhook(sending.siteId, webhookId))?.status).toBe(
        'disabled',
      )
      expect(receiver.got).toHaveLength(1)
      expect(new Set(await sending.statuses(webhookId))).toEqual(new Set(['failed']))
      const audit = await sending.store.auditRows(sending.siteId, { after: undefined, limit: 100 })
      expect(audit.find(({ action }) => action === 'webhook.disable')?.detail).toMatchObject({
        reason: 'the receiver answered 410 Gone',
      })
    })
  })
})
