import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { formatTime, type Ppid } from '@countersign/core'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { createSealer } from '../../src/sealing/sealer.ts'
import { StoreUnavailable } from '../../src/store/errors.ts'
import { forEachSharedStore } from '../stores.ts'
import { closeReceivers, openReceiver, type Received } from './receiver.ts'
import { beginSending, DAY, HOUR, type Sending, stopSenders } from './sending.ts'

afterEach(async () => {
  await stopSenders()
  await closeReceivers()
})

/** Long enough for anything that was going to happen. */
const aWhile = () => new Promise((done) => setTimeout(done, 150))
const until = (ask: () => unknown) => expect.poll(ask, { interval: 5 })
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)

forEachSharedStore('the sender of webhooks', (open) => {
  const begin = (): Promise<Sending> => beginSending(open())

  describe('a delivery', () => {
    it('is the entry of the log, signed so that standardwebhooks takes it', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      const { webhookId, secret } = await sending.webhook(`${receiver.url}?of=theirs`)
      sending.send()
      await sending.revoke()
      await until(() => receiver.got.length).toBe(1)
      const [received] = receiver.got as [Received]
      const [entry] = await sending.store.siteEntriesAfter(sending.siteId, 1, 10)
      expect(new Verifier(secret).verify(received.body, received.headers)).toEqual({
        type: 'user.revoked',
        timestamp: entry?.at,
        data: entry,
      })
      expect([received.method, received.path, received.headers['content-type']]).toEqual([
        'POST',
        '/in?of=theirs',
        'application/json',
      ])
      expect(received.headers['user-agent']).toMatch(/^countersign\/\d/)
      await until(() => sending.statuses(webhookId)).toEqual(['delivered'])
      expect(await sending.deliveries(webhookId)).toMatchObject([
        { attempts: 1, lastStatus: 204, deliveredAtMs: sending.clock.wallMs },
      ])
      expect(sending.attempts).toEqual({ delivered: 1, again: 0, failed: 0 })
    })

    it('control: standardwebhooks does not take it under another secret, or with another body', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      const { secret } = await sending.webhook(receiver.url)
      const other = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke()
      await until(() => receiver.got.length).toBe(2)
      const [one, two] = receiver.got as [Received, Received]
      expect(one.headers['webhook-signature']).not.toBe(two.headers['webhook-signature'])
      const holds = (received: Received, key: string, body = received.body) => {
        try {
          return new Verifier(key).verify(body, received.headers) !== undefined
        } catch {
          return false
        }
      }
      for (const received of [one, two])
        expect([holds(received, secret), holds(received, other.secret)].filter(Boolean)).toHaveLength(1)
      expect(holds(one, secret, `${one.body} `) || holds(one, other.secret, `${one.body} `)).toBe(false)
    })

    it('is made of every entry, once and in order, also of those that came while no node was sending', {
      tags: 'long',
    }, async () => {
      const sending = await begin()
      const receiver = await openReceiver((_request, response) =>
        setTimeout(() => response.writeHead(200).end('ok'), 2),
      )
      const { webhookId } = await sending.webhook(receiver.url)
      await sending.revoke(20)
      sending.send()
      await sending.revoke(20)
      await until(() => receiver.got.length).toBe(40)
      expect(receiver.seqs()).toEqual(numbers(2, 40))
      expect(receiver.most()).toBe(1)
      await until(async () => new Set(await sending.statuses(webhookId))).toEqual(new Set(['delivered']))
    })

    it('is made of every cut-off', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      await sending.webhook(receiver.url)
      sending.send()
      const { siteId, store } = sending
      const at = { actor: 'operator', atMs: sending.clock.wallMs, requestId: undefined }
      const before = formatTime(at.atMs)
      const order = { siteId, target: siteId, reason: 'secret reason' }
      const ppids = ['did:service:ppid_aaaaaaaa' as Ppid]
      await store.signOutUsers({ siteId, ppids, beforeMs: at.atMs, reason: 'secret reason' }, at)
      const thumbprint = 'a'.repeat(43)
      await store.cutOff({ ...order, kind: 'holder.revoked', body: { thumbprint, revoked_at: before } }, at)
      const issuer = 'https://idp.example'
      await store.cutOff({ ...order, kind: 'issuer.cut_off', body: { issuer, before } }, at)
      await store.cutOff({ ...order, kind: 'site.cut_off', body: { before } }, at)
      await until(() => receiver.got.map(({ body }) => JSON.parse(body).type)).toEqual([
        'user.signed_out',
        'holder.revoked',
        'issuer.cut_off',
        'site.cut_off',
      ])
      expect(receiver.got.some(({ body }) => body.includes('secret reason'))).toBe(false)
    })

    it('comes as soon as the log has it, though the next look would be long after', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      await sending.webhook(receiver.url)
      sending.send({ pollMs: HOUR })
      await aWhile()
      await sending.revoke()
      await until(() => receiver.got.length).toBe(1)
    })

    it('comes all the same without a wake-up', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      await sending.webhook(receiver.url)
      sending.send({ pollMs: 20 }, { onAppend: () => () => {} })
      await aWhile()
      await sending.revoke()
      await until(() => receiver.got.length).toBe(1)
    })

    it('is of the kinds that the webhook was made for', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      await sending.webhook(receiver.url, ['site.changed'])
      sending.send()
      await sending.revoke(2)
      await sending.store.changeSite(sending.siteId, { bearer: 'off' }, sending.context())
      await until(() => receiver.seqs()).toEqual([4])
    })
  })

  describe('a replay', () => {
    it('sends the same message once more, and keeps no other waiting', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      const { webhookId } = await sending.webhook(receiver.url)
      sending.send()
      await sending.revoke(2)
      await until(() => sending.statuses(webhookId)).toEqual(['delivered', 'delivered'])
      const [first] = await sending.deliveries(webhookId)
      receiver.answer((_request, response, { seq }) => response.writeHead(seq === 2 ? 500 : 200).end())
      await sending.store.replayDelivery(sending.siteId, first?.deliveryId ?? '', sending.context())
      await until(() => receiver.seqs()).toEqual([2, 3, 2])
      await sending.revoke()
      await until(() => receiver.seqs()).toEqual([2, 3, 2, 4])
      receiver.answer(200)
      await sending.later(5000, receiver.got, 5)
      const replayed = receiver.got.filter(({ seq }) => seq === 2)
      expect(new Set(replayed.map(({ id, body }) => `${id} ${body}`)).size).toBe(1)
      await until(() => sending.statuses(webhookId)).toEqual(['delivered', 'delivered', 'delivered'])
    })
  })

  describe('a change of secret', () => {
    it('A212: both sign for a day, then the new one alone', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      const { webhookId, secret } = await sending.webhook(receiver.url)
      const next = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
      const sealed = sending.keys.seal(`webhook:${sending.siteId}:${webhookId}`, next)
      await sending.store.rotateWebhookSecret(
        sending.siteId,
        webhookId,
        sealed,
        sending.clock.wallMs + DAY,
        sending.context(),
      )
      sending.send()
      await sending.revoke()
      await until(() => receiver.got.length).toBe(1)
      const [during] = receiver.got as [Received]
      for (const key of [secret, next])
        expect(new Verifier(key).verify(during.body, during.headers)).toBeDefined()
      expect(during.headers['webhook-signature']?.split(' ')).toHaveLength(2)

      // Its end is written with the time before, and what is due then is sent next.
      await until(() => sending.statuses(webhookId)).toEqual(['delivered'])
      sending.clock.pass(DAY)
      await sending.revoke()
      await until(() => receiver.got.length).toBe(2)
      const after = receiver.got[1] as Received
      const {
        'webhook-id': id = '',
        'webhook-timestamp': time,
        'webhook-signature': signature,
      } = after.headers
      expect(signature).toBe(new Verifier(next).sign(id, new Date(Number(time) * 1000), after.body))
    })
  })

  describe('several nodes', () => {
    it('send each entry once and in order, whichever of them does it', { tags: 'long' }, async () => {
      const sending = await begin()
      const receivers = await Promise.all(numbers(0, 6).map(() => openReceiver()))
      for (const { url } of receivers) await sending.webhook(url)
      for (let node = 0; node < 3; node++) sending.send()
      for (let i = 0; i < 10; i++) {
        await sending.revoke(2)
        await new Promise((done) => setTimeout(done, 10))
      }
      await until(() => receivers.map(({ got }) => got.length)).toEqual(receivers.map(() => 20))
      await aWhile()
      expect(receivers.map(({ seqs }) => seqs())).toEqual(receivers.map(() => numbers(2, 20)))
    })

    it('control: without leases they send things twice', async () => {
      const sending = await begin()
      // Answers nothing before a second request has come, so the first is still under way then.
      const waiting: ServerResponse[] = []
      const receiver = await openReceiver((_request, response) => {
        waiting.push(response)
        if (waiting.length >= 2)
          for (const each of waiting) if (!each.writableEnded) each.writeHead(200).end()
      })
      await sending.webhook(receiver.url)
      await sending.revoke()
      for (let node = 0; node < 2; node++) sending.send({ leaseMs: 0 })
      await until(() => receiver.seqs().slice(0, 2)).toEqual([2, 2])
    })

    it('one takes over when another has died after sending and before writing it down: the same message comes again', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      const { webhookId } = await sending.webhook(receiver.url)
      // It dies with the word on its lips: whatever it wants to write never arrives.
      const shared = sending.store
      let isDead = false
      sending.send(
        { closeMsMax: 0 },
        {
          nextDelivery: async (turn, ended) => {
            if (ended !== undefined) isDead = true
            if (isDead) throw new StoreUnavailable('dead')
            return shared.nextDelivery(turn, ended)
          },
        },
      )
      await sending.revoke(3)
      await until(() => isDead).toBe(true)
      sending.send()
      await aWhile()
      expect(receiver.seqs()).toEqual([2])
      await sending.later(20_000, receiver.got, 4)
      expect(receiver.seqs()).toEqual([2, 2, 3, 4])
      expect(receiver.got[1]?.id).toBe(receiver.got[0]?.id)
      expect(receiver.got[1]?.body).toBe(receiver.got[0]?.body)
      await until(() => sending.statuses(webhookId)).toEqual(['delivered', 'delivered', 'delivered'])
    })
  })

  describe('bounds', () => {
    it('sends to so many at a time, and lets every receiver have a turn', { tags: 'long' }, async () => {
      const sending = await begin()
      let running = 0
      let most = 0
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      const slow = await openReceiver((_request, response) => {
        most = Math.max(most, ++running)
        released.then(() => {
          running--
          response.writeHead(200).end()
        })
      })
      const made = []
      for (let i = 0; i < 8; i++) made.push(await sending.webhook(`${slow.url}/${i}`))
      await sending.revoke(4)
      sending.send({ runningMax: 3 })
      await until(() => running).toBe(3)
      await aWhile()
      release()
      await until(() => slow.got.length).toBe(32)
      expect(most).toBe(3)
      // No receiver had its last before every one had its first.
      const firsts = made.map((_, i) => slow.got.findIndex(({ path }) => path === `/in/${i}`))
      const lasts = made.map((_, i) => slow.got.findLastIndex(({ path }) => path === `/in/${i}`))
      expect(Math.max(...firsts)).toBeLessThan(Math.min(...lasts))
      for (let i = 0; i < 8; i++)
        expect(slow.got.filter(({ path }) => path === `/in/${i}`).map(({ seq }) => seq)).toEqual([2, 3, 4, 5])
    })

    it('goes on by itself when the store was away for a while', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      await sending.webhook(receiver.url)
      const shared = sending.store
      let isDown = true
      sending.send(
        {},
        {
          dueWebhooks: async (nowMs, limit) => {
            if (isDown) throw new StoreUnavailable('down')
            return shared.dueWebhooks(nowMs, limit)
          },
        },
      )
      await sending.revoke()
      const complaints = () => sending.logged.filter((line) => line.includes('could not load the due')).length
      await until(complaints).toBe(1)
      await aWhile()
      expect(complaints()).toBe(1)
      isDown = false
      await until(() => receiver.got.length).toBe(1)
    })

    it('waits while the clock is not to be believed', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      await sending.webhook(receiver.url)
      sending.clock.fault = new Error('leapt')
      sending.send()
      await sending.revoke()
      await aWhile()
      expect(receiver.got).toHaveLength(0)
      sending.clock.fault = undefined
      await until(() => receiver.got.length).toBe(1)
    })

    it('sends nothing when the secret does not open, which is not counted as tried: a node with the right key can', async () => {
      const sending = await begin()
      const receiver = await openReceiver()
      const { webhookId } = await sending.webhook(receiver.url)
      const other = sending.send({}, {}, { open: createSealer(randomBytes(32)).open })
      await sending.revoke()
      await until(() => sending.logged.join().includes('another master key')).toBe(true)
      expect(await sending.deliveries(webhookId)).toMatchObject([{ status: 'pending', attempts: 0 }])
      expect(receiver.got).toHaveLength(0)
      await other.close()
      sending.send()
      await sending.later(20_000, receiver.got, 1)
    })

    it('writes neither secrets nor URLs to the log (I-20)', async () => {
      const sending = await begin()
      const receiver = await openReceiver(500)
      const { webhookId, secret } = await sending.webhook(`${receiver.url}?token=canary`)
      sending.send()
      await sending.revoke()
      await until(async () => (await sending.deliveries(webhookId))[0]?.attempts).toBe(1)
      await receiver.close()
      await sending.nextAttempt(webhookId)
      expect(sending.logged.filter((line) => line.includes('has failed'))).toHaveLength(2)
      expect(sending.logged.join()).toContain('ECONNREFUSED')
      expect(sending.logged.join()).not.toContain('canary')
      expect(sending.logged.join()).not.toContain(secret.slice(6, 20))
    })
  })

  describe('closing', () => {
    it('lets what is under way end, and writes it down', async () => {
      const sending = await begin()
      const { promise: held, resolve: hold } = Promise.withResolvers<ServerResponse>()
      const receiver = await openReceiver((_request, response) => hold(response))
      const { webhookId } = await sending.webhook(receiver.url)
      const sender = sending.send()
      await sending.revoke(3)
      const response = await held
      const closing = sender.close()
      response.writeHead(200).end()
      await closing
      receiver.answer(200)
      expect(await sending.statuses(webhookId)).toEqual(['delivered', 'pending', 'pending'])
      // The lease was given back: the next one need not wait.
      sending.send()
      await until(() => receiver.seqs()).toEqual([2, 3, 4])
    })

    it('cuts a receiver that does not answer, without counting it as tried, and the next node sends it again', async () => {
      const sending = await begin()
      const receiver = await openReceiver(() => {})
      const { webhookId } = await sending.webhook(receiver.url)
      const sender = sending.send({ closeMsMax: 20 })
      await sending.revoke()
      await until(() => receiver.got.length).toBe(1)
      await sender.close()
      expect(await sending.deliveries(webhookId)).toMatchObject([{ status: 'pending', attempts: 0 }])
      receiver.answer(200)
      sending.send()
      await until(() => sending.statuses(webhookId)).toEqual(['delivered'])
      expect(receiver.got[1]?.id).toBe(receiver.got[0]?.id)
    })
  })

  it('stops sending to a webhook that was deleted, also to one that it is just sending to', async () => {
    const sending = await begin()
    const receiver = await openReceiver(() => {})
    const { webhookId } = await sending.webhook(receiver.url)
    const held: Parameters<Parameters<typeof receiver.answer>[0] & object>[] = []
    receiver.answer((...answer) => void held.push(answer))
    sending.send()
    await sending.revoke(3)
    await until(() => held.length).toBe(1)
    await sending.store.deleteWebhook(sending.siteId, webhookId, sending.context())
    const [, response] = held[0] as NonNullable<(typeof held)[0]>
    response.writeHead(200).end()
    await once(response, 'close')
    await aWhile()
    expect(receiver.seqs()).toEqual([2])
  })
})
