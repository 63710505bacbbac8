import { limits } from '@countersign/core/contract'
import { describe, expect, it } from 'vitest'
import type { Delivery, DueDelivery, EndedAttempt } from '../../src/store/operations/deliveries.ts'
import type { NewWebhook } from '../../src/store/operations/webhooks.ts'
import type { Store } from '../../src/store/store.ts'
import { context, DAY, failingAct, NOW, newSite, ppid } from './fixtures.ts'
import { entriesOf } from './log-reading.ts'
import type { TheStore } from './the-store.ts'

const LEASE_MS = 20_000
const ALL = { after: undefined, limit: 1000 }

let count = 0

export function webhookSuite(store: TheStore): void {
  const madeSite = async () => {
    const { siteId } = newSite()
    await store().createSite(newSite({ siteId }), context())
    return siteId
  }
  const madeWebhook = async (fields: Partial<NewWebhook> = {}) => {
    const siteId = fields.siteId ?? (await madeSite())
    const webhookId = `wh_${(++count).toString().padStart(6, '0')}`
    const webhook = {
      webhookId,
      siteId,
      url: 'https://hooks.example/in',
      kinds: undefined,
      secretSealed: `sealed ${webhookId}`,
      ...fields,
    }
    await store().createWebhook(webhook, 16, context())
    return webhook
  }
  const revoke = async (siteId: NewWebhook['siteId'], times = 1) => {
    for (let i = 0; i < times; i++)
      await store().revokeUser({ siteId, ppid: ppid(), reason: undefined }, context())
  }
  const next = (webhookId: string, nowMs = NOW, ended?: EndedAttempt, owner = 'one', release = false) =>
    store().nextDelivery({ webhookId, owner, nowMs, leaseMs: LEASE_MS, release }, ended)
  const ended = (
    due: Delivery | undefined,
    end: EndedAttempt['end'] = 'delivered',
    more: Partial<EndedAttempt> = {},
  ): EndedAttempt => ({
    deliveryId: due?.deliveryId ?? '',
    end,
    lastStatus: end === 'delivered' ? 200 : 500,
    ...more,
  })
  const isDue = async (webhookId: string, nowMs = NOW) =>
    (await store().dueWebhooks(nowMs, 1000)).includes(webhookId)
  const statuses = async ({ siteId, webhookId }: NewWebhook) =>
    (await store().deliveries(siteId, webhookId, ALL)).map(({ seq, status, attempts }) => [
      seq,
      status,
      attempts,
    ])
  const actions = async (site: Parameters<Store['auditRows']>[0]) =>
    (await store().auditRows(site, { after: undefined, limit: 100 })).map(({ action }) => action)
  /** Sends everything that is due, as a sender would whose receiver takes it all. */
  const drain = async (webhookId: string, nowMs = NOW): Promise<readonly DueDelivery[]> => {
    const sent: DueDelivery[] = []
    for (
      let due = await next(webhookId, nowMs);
      due !== undefined;
      due = await next(webhookId, nowMs, ended(due))
    )
      sent.push(due)
    return sent
  }

  describe('webhooks', () => {
    it('keeps one as it was made, and never tells its secret', async () => {
      const made = await madeWebhook({ kinds: ['user.revoked', 'token.revoked'] })
      const { secretSealed: _, ...shown } = made
      expect(await store().webhook(made.siteId, made.webhookId)).toEqual({
        ...shown,
        status: 'on',
        createdAtMs: NOW,
      })
      expect(await store().webhooks(made.siteId, ALL)).toEqual([{ ...shown, status: 'on', createdAtMs: NOW }])
      expect(await store().webhook(await madeSite(), made.webhookId)).toBeUndefined()
      expect(await actions(made.siteId)).toEqual(['webhook.create', 'site.create'])
    })

    it('makes at most as many as a site may have, also for concurrent requests', async () => {
      const siteId = await madeSite()
      const make = (i: number) =>
        store().createWebhook(
          { webhookId: `wh_${siteId}_${i}`, siteId, url: 'x', kinds: undefined, secretSealed: 's' },
          3,
          context(),
        )
      const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => make(i)))
      expect(answers.filter((answer) => answer === 'too_many')).toHaveLength(5)
      const [first] = await store().webhooks(siteId, ALL)
      await store().deleteWebhook(siteId, first?.webhookId ?? '', context())
      expect(await make(8)).toMatchObject({ status: 'on' })
    })

    it('makes none at a site that does not exist', async () => {
      const webhook = {
        webhookId: 'wh_nowhere',
        siteId: newSite().siteId,
        url: 'x',
        kinds: undefined,
        secretSealed: 's',
      }
      expect(await store().createWebhook(webhook, 16, context())).toBeUndefined()
    })

    it('is gone when it was deleted, with its deliveries, and nothing is due to it', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      const due = await next(made.webhookId)
      expect(await store().deleteWebhook(await madeSite(), made.webhookId, context())).toBe(false)
      expect(await store().deleteWebhook(made.siteId, made.webhookId, context())).toBe(true)
      expect(await store().deleteWebhook(made.siteId, made.webhookId, context())).toBe(false)
      expect(await store().webhook(made.siteId, made.webhookId)).toBeUndefined()
      expect(await store().webhooks(made.siteId, ALL)).toEqual([])
      expect(await isDue(made.webhookId, NOW + DAY)).toBe(false)
      expect(await next(made.webhookId, NOW, ended(due))).toBeUndefined()
      expect(await store().replayDelivery(made.siteId, due?.deliveryId ?? '', context())).toBeUndefined()
      await store().purgeExpired(NOW)
      expect(await store().deliveries(made.siteId, made.webhookId, ALL)).toEqual([])
      expect(await actions(made.siteId)).toContain('webhook.delete')
    })

    it('writes nothing when its audit row cannot be written', async () => {
      const made = await madeWebhook()
      await expect(store().deleteWebhook(made.siteId, made.webhookId, failingAct())).rejects.toThrow()
      await expect(
        store().rotateWebhookSecret(made.siteId, made.webhookId, 'new', NOW + DAY, failingAct()),
      ).rejects.toThrow()
      expect(await store().webhook(made.siteId, made.webhookId)).toBeDefined()
      await revoke(made.siteId)
      expect((await next(made.webhookId))?.secretsSealed).toEqual([made.secretSealed])
    })
  })

  describe('secrets of webhooks', () => {
    it('A212: the one before signs until its time has come, and not a moment longer', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      expect(
        await store().rotateWebhookSecret(made.siteId, made.webhookId, 'second', NOW + DAY, context()),
      ).toBe(true)
      const secretsAt = async (nowMs: number) => {
        const due = await next(made.webhookId, nowMs)
        await next(made.webhookId, nowMs, ended(due, 'aborted'), 'one', true)
        return due?.secretsSealed
      }
      expect(await secretsAt(NOW + DAY - 1)).toEqual(['second', made.secretSealed])
      expect(await secretsAt(NOW + DAY)).toEqual(['second'])
    })

    it('a second rotation keeps the one that the receiver may still have, and never more than three', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      for (const [i, name] of ['second', 'third', 'fourth'].entries()) {
        await store().rotateWebhookSecret(made.siteId, made.webhookId, name, NOW + DAY + i, context(NOW + i))
      }
      expect((await next(made.webhookId, NOW + 3))?.secretsSealed).toEqual(['fourth', 'third', 'second'])
    })

    it('are not rotated at another site, nor after the end', async () => {
      const made = await madeWebhook()
      expect(await store().rotateWebhookSecret(await madeSite(), made.webhookId, 'x', NOW, context())).toBe(
        false,
      )
      await store().deleteWebhook(made.siteId, made.webhookId, context())
      expect(await store().rotateWebhookSecret(made.siteId, made.webhookId, 'x', NOW, context())).toBe(false)
    })
  })

  describe('deliveries', () => {
    it('are the entries of the log since the webhook was made, each once and in their order', async () => {
      const siteId = await madeSite()
      await revoke(siteId, 3)
      const made = await madeWebhook({ siteId })
      expect(await isDue(made.webhookId)).toBe(false)
      await revoke(siteId, 5)
      expect(await isDue(made.webhookId)).toBe(true)
      const sent = await drain(made.webhookId)
      expect(sent.map(({ entry }) => entry)).toEqual((await entriesOf(store(), siteId)).slice(4))
      expect(sent.map(({ url, epoch }) => [url, epoch])).toEqual(sent.map(() => [made.url, store().epoch]))
      expect(await isDue(made.webhookId, NOW + DAY)).toBe(false)
      expect(await drain(made.webhookId)).toEqual([])
      expect(await statuses(made)).toEqual([9, 8, 7, 6, 5].map((seq) => [seq, 'delivered', 1]))
    })

    it('are of the kinds that were asked for only', async () => {
      const made = await madeWebhook({ kinds: ['user.reinstated', 'site.changed'] })
      const user = { siteId: made.siteId, ppid: ppid(), reason: undefined }
      await store().revokeUser(user, context())
      await store().reinstateUser(user, context())
      await store().changeSite(made.siteId, { bearer: 'off' }, context())
      expect((await drain(made.webhookId)).map(({ kind, seq }) => [kind, seq])).toEqual([
        ['user.reinstated', 3],
        ['site.changed', 4],
      ])
      await store().revokeUser(user, context())
      expect(await drain(made.webhookId)).toEqual([])
      expect(await isDue(made.webhookId)).toBe(false)
    })

    it('go on after very many entries', { tags: 'long' }, async () => {
      const made = await madeWebhook()
      await Promise.all(Array.from({ length: 230 }, () => revoke(made.siteId)))
      expect((await drain(made.webhookId)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 230 }, (_, i) => i + 2),
      )
    })

    it('wait in bounded numbers while the first of them fails', { tags: 'long' }, async () => {
      const made = await madeWebhook()
      await Promise.all(Array.from({ length: 230 }, () => revoke(made.siteId)))
      let due = await next(made.webhookId)
      for (let i = 0; i < 6; i++) {
        await next(made.webhookId, NOW, ended(due, { againAtMs: NOW }), 'one', true)
        due = await next(made.webhookId)
        expect(due?.seq).toBe(2)
      }
      await next(made.webhookId, NOW, ended(due, { againAtMs: NOW + 5000 }))
      expect((await store().deliveries(made.siteId, made.webhookId, ALL)).length).toBe(200)
      expect(await isDue(made.webhookId, NOW + 4999)).toBe(false)
      expect((await drain(made.webhookId, NOW + 5000)).map(({ seq }) => seq)).toEqual(
        Array.from({ length: 230 }, (_, i) => i + 2),
      )
    })

    it('that failed are tried again at their time, and those behind them wait', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      expect(await next(made.webhookId, NOW, ended(due, { againAtMs: NOW + 5000 }))).toBeUndefined()
      expect(await isDue(made.webhookId, NOW + 4999)).toBe(false)
      expect(await next(made.webhookId, NOW + 4999)).toBeUndefined()
      expect(await isDue(made.webhookId, NOW + 5000)).toBe(true)
      const again = await next(made.webhookId, NOW + 5000)
      expect(again).toMatchObject({
        deliveryId: due?.deliveryId,
        seq: 2,
        attempts: 1,
        lastStatus: 500,
        failingSinceMs: NOW,
      })
      const second = await next(made.webhookId, NOW + 5001, ended(again))
      expect(second).toMatchObject({ seq: 3, attempts: 0, failingSinceMs: undefined })
      expect(await statuses(made)).toEqual([
        [3, 'pending', 0],
        [2, 'delivered', 2],
      ])
    })

    it('that have failed for good let the next one go', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      const second = await next(made.webhookId, NOW + 1, ended(due, 'failed', { lastStatus: undefined }))
      expect(second).toMatchObject({ seq: 3, failingSinceMs: NOW + 1 })
      expect(await statuses(made)).toEqual([
        [3, 'pending', 0],
        [2, 'failed', 1],
      ])
    })

    it('that were cut short by us are made again and do not count as tried', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      const due = await next(made.webhookId)
      expect(await next(made.webhookId, NOW, ended(due, 'aborted'), 'one', true)).toBeUndefined()
      expect(await next(made.webhookId, NOW, undefined, 'two')).toMatchObject({
        deliveryId: due?.deliveryId,
        attempts: 0,
        failingSinceMs: undefined,
      })
    })

    it('are listed page by page, the newest first', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 5)
      await drain(made.webhookId)
      const page = async (after: string | undefined) =>
        (await store().deliveries(made.siteId, made.webhookId, { after, limit: 2 })).map(({ seq }) => seq)
      expect([await page(undefined), await page('5'), await page('3'), await page('2')]).toEqual([
        [6, 5],
        [4, 3],
        [2],
        [],
      ])
      expect(await store().deliveries(await madeSite(), made.webhookId, ALL)).toEqual([])
    })

    it('of one webhook do not wait for those of another', async () => {
      const made = await madeWebhook()
      const other = await madeWebhook({ siteId: made.siteId })
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      await next(made.webhookId, NOW, ended(due, { againAtMs: NOW + DAY }))
      expect((await drain(other.webhookId)).map(({ seq }) => seq)).toEqual([2, 3])
    })
  })

  describe('the lease of a webhook', () => {
    it('is held by exactly one of all who want it at once', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      const given = await Promise.all(
        Array.from({ length: 20 }, (_, i) => next(made.webhookId, NOW, undefined, `node ${i}`)),
      )
      expect(given.filter((due) => due !== undefined)).toHaveLength(1)
      expect(await isDue(made.webhookId)).toBe(false)
    })

    it('ends when its holder says nothing more, and what he says later counts for nothing', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId, NOW, undefined, 'dead')
      expect([
        await isDue(made.webhookId, NOW + LEASE_MS - 1),
        await isDue(made.webhookId, NOW + LEASE_MS),
      ]).toEqual([false, true])
      expect(await next(made.webhookId, NOW + LEASE_MS - 1, undefined, 'heir')).toBeUndefined()
      const again = await next(made.webhookId, NOW + LEASE_MS, undefined, 'heir')
      expect(again).toMatchObject({ deliveryId: due?.deliveryId, seq: 2 })
      expect(await next(made.webhookId, NOW + LEASE_MS, ended(due), 'dead')).toBeUndefined()
      expect((await statuses(made)).at(-1)).toEqual([2, 'pending', 0])
      expect(await next(made.webhookId, NOW + LEASE_MS, ended(again), 'heir')).toMatchObject({ seq: 3 })
    })

    it('is not believed when its end is further ahead than a lease can be: the clock was set back since', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId, NOW + 10 * DAY)
      await next(made.webhookId, NOW + 10 * DAY, ended(due, { againAtMs: NOW + 10 * DAY + 5000 }))
      expect(await isDue(made.webhookId)).toBe(true)
      expect(await next(made.webhookId)).toMatchObject({ seq: 2, attempts: 1 })
      const other = await madeWebhook()
      await revoke(other.siteId)
      await next(other.webhookId, NOW + 10 * DAY)
      expect(await isDue(other.webhookId)).toBe(true)
      expect(await next(other.webhookId, NOW, undefined, 'two')).toMatchObject({ seq: 2 })
    })

    it('is longer with every delivery', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      await next(made.webhookId, NOW + LEASE_MS - 1, ended(due))
      expect(await next(made.webhookId, NOW + LEASE_MS, undefined, 'two')).toBeUndefined()
    })

    it('is given back by a node that leaves, with what has ended written down', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      expect(await next(made.webhookId, NOW, ended(due), 'one', true)).toBeUndefined()
      expect(await isDue(made.webhookId)).toBe(true)
      expect(await next(made.webhookId, NOW, undefined, 'two')).toMatchObject({ seq: 3 })
    })

    it('goes first to those who have waited longest', async () => {
      const made = [await madeWebhook(), await madeWebhook()]
      for (const { siteId } of made) await revoke(siteId, 3)
      const order = async () => {
        const ids = made.map(({ webhookId }) => webhookId)
        return (await store().dueWebhooks(NOW + DAY, 1000))
          .filter((id) => ids.includes(id))
          .map((id) => ids.indexOf(id))
      }
      expect(await order()).toEqual([0, 1])
      const [first] = made
      const due = await next(first?.webhookId ?? '')
      await next(first?.webhookId ?? '', NOW, ended(due), 'one', true)
      expect(await order()).toEqual([1, 0])
    })
  })

  describe('a replay', () => {
    it('makes an ended delivery pending again, beside the others', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      const [sent] = await drain(made.webhookId)
      const replayed = await store().replayDelivery(made.siteId, sent?.deliveryId ?? '', context(NOW + 10))
      expect(replayed).toMatchObject({
        seq: 2,
        status: 'pending',
        attempts: 0,
        nextAttemptAtMs: NOW + 10,
        deliveredAtMs: undefined,
      })
      expect(await isDue(made.webhookId, NOW + 10)).toBe(true)
      const due = await next(made.webhookId, NOW + 10)
      expect(due).toMatchObject({ deliveryId: sent?.deliveryId, entry: sent?.entry })
      // It fails, and is not awaited.
      await next(made.webhookId, NOW + 10, ended(due, { againAtMs: NOW + DAY }))
      await revoke(made.siteId)
      expect((await drain(made.webhookId, NOW + 20)).map(({ seq }) => seq)).toEqual([3])
      expect((await drain(made.webhookId, NOW + DAY)).map(({ seq }) => seq)).toEqual([2])
      expect(await actions(made.siteId)).toContain('webhook.replay')
    })

    it('makes a pending delivery due at once, in its place', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      await next(made.webhookId, NOW, ended(due, { againAtMs: NOW + DAY }))
      const [second] = await store().deliveries(made.siteId, made.webhookId, ALL)
      await store().replayDelivery(made.siteId, second?.deliveryId ?? '', context(NOW + 1))
      expect(await next(made.webhookId, NOW + 1)).toBeUndefined()
      expect(
        await store().replayDelivery(made.siteId, due?.deliveryId ?? '', context(NOW + 2)),
      ).toMatchObject({
        attempts: 1,
        status: 'pending',
      })
      expect((await drain(made.webhookId, NOW + 2)).map(({ seq }) => seq)).toEqual([2, 3])
    })

    it('is refused when a thousand of them wait, and taken again when one has ended', {
      tags: 'long',
    }, async () => {
      const made = await madeWebhook()
      for (let i = 0; i < 10; i++) await Promise.all(Array.from({ length: 101 }, () => revoke(made.siteId)))
      const sent = await drain(made.webhookId)
      const replay = (delivery: DueDelivery | undefined) =>
        store().replayDelivery(made.siteId, delivery?.deliveryId ?? '', context())
      for (let i = 0; i < 1000; i += 100) await Promise.all(sent.slice(i, i + 100).map(replay))
      expect(await replay(sent[1000])).toBe('too_many')
      const due = await next(made.webhookId)
      expect(due).toMatchObject({ seq: 2 })
      await next(made.webhookId, NOW, ended(due), 'one', true)
      expect(await replay(sent[1000])).toMatchObject({ status: 'pending' })
    })

    it('is not to be had at another site', async () => {
      const made = await madeWebhook()
      await revoke(made.siteId)
      const [sent] = await drain(made.webhookId)
      expect(
        await store().replayDelivery(await madeSite(), sent?.deliveryId ?? '', context()),
      ).toBeUndefined()
      expect(await store().replayDelivery(made.siteId, 'dlv_unknown', context())).toBeUndefined()
      expect(await statuses(made)).toEqual([[2, 'delivered', 1]])
    })
  })

  describe('a webhook that is disabled', () => {
    const disabled = async () => {
      const made = await madeWebhook()
      await revoke(made.siteId, 3)
      const due = await next(made.webhookId)
      await next(made.webhookId, NOW, ended(due, { againAtMs: NOW + 1 }, { disable: 'because' }))
      return made
    }

    it('is sent nothing more, what waited has failed, and the audit says why', async () => {
      const made = await disabled()
      await revoke(made.siteId)
      expect(await isDue(made.webhookId, NOW + DAY)).toBe(false)
      expect(await store().webhook(made.siteId, made.webhookId)).toMatchObject({ status: 'disabled' })
      expect(await statuses(made)).toEqual([
        [4, 'failed', 0],
        [3, 'failed', 0],
        [2, 'failed', 1],
      ])
      const row = (await store().auditRows(made.siteId, ALL)).find(
        ({ action }) => action === 'webhook.disable',
      )
      expect(row).toMatchObject({
        target: made.webhookId,
        detail: { outcome: 'done', reason: 'because' },
        context: { actor: 'system', atMs: NOW },
      })
    })

    it('can still be sent a delivery by hand, and stays disabled', async () => {
      const made = await disabled()
      const [newest] = await store().deliveries(made.siteId, made.webhookId, ALL)
      await store().replayDelivery(made.siteId, newest?.deliveryId ?? '', context(NOW + 5))
      expect((await drain(made.webhookId, NOW + 5)).map(({ seq }) => seq)).toEqual([4])
      expect(await store().webhook(made.siteId, made.webhookId)).toMatchObject({ status: 'disabled' })
    })
  })

  describe('old deliveries', () => {
    it('are removed when the contract says, once they have ended, and pending ones are not', async () => {
      const keptMs = limits.webhook_deliveries_kept_seconds * 1000
      const made = await madeWebhook()
      await revoke(made.siteId, 2)
      const due = await next(made.webhookId)
      await next(made.webhookId, NOW, ended(due), 'one', true)
      await store().purgeExpired(NOW + keptMs - 1)
      expect(await statuses(made)).toHaveLength(2)
      await store().purgeExpired(NOW + keptMs)
      expect(await statuses(made)).toEqual([[3, 'pending', 0]])
    })

    it('are counted, those of all sites together', async () => {
      const before = await store().webhookLoad()
      const made = await madeWebhook()
      await revoke(made.siteId, 3)
      const due = await next(made.webhookId, NOW - DAY)
      await next(made.webhookId, NOW - DAY, ended(due, 'failed'), 'one', true)
      const after = await store().webhookLoad()
      expect([
        after.pending - before.pending,
        after.failed - before.failed,
        after.disabled - before.disabled,
      ]).toEqual([2, 1, 0])
      expect(after.oldestPendingAtMs).toBeLessThanOrEqual(NOW - DAY)
    })
  })
}
