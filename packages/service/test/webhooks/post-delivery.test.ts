import { randomBytes } from 'node:crypto'
import type { lookup } from 'node:dns'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createEntry, GENESIS_HASH, type SiteId } from '@countersign/core'
import { afterEach, describe, expect, it } from 'vitest'
import { AddressForbidden } from '../../src/net/public-address.ts'
import { webhookPurpose } from '../../src/sealing/purposes.ts'
import { createSealer, SealBroken } from '../../src/sealing/sealer.ts'
import type { DueDelivery } from '../../src/store/operations/deliveries.ts'
import { type PostOptions, postDelivery } from '../../src/webhooks/post-delivery.ts'
import { createWebhookSecret } from '../../src/webhooks/secret.ts'
import { certificate } from '../did-web/certificate.ts'
import { closeReceivers, openReceiver } from './receiver.ts'

const SITE = 'a.example' as SiteId
const NOW = Date.UTC(2026, 10, 14, 12)
const keys = createSealer(randomBytes(32))

const servers: Server[] = []
const sockets: Socket[] = []
afterEach(async () => {
  await closeReceivers()
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) await new Promise((done) => server.close(done))
})

/** Counts who connects, and says nothing. */
async function openSilent(host = '127.0.0.1', port = 0) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    sockets.push(socket)
  })
  servers.push(server)
  await new Promise<void>((done) => server.listen(port, host, done))
  return { port: (server.address() as AddressInfo).port, connections: () => connections }
}

async function deliveryTo(url: string, fields: Partial<DueDelivery> = {}): Promise<DueDelivery> {
  const body = {
    bearer: 'on',
    holder_proof: 'optional',
    delegation: 'on',
    credential_ttl_seconds_max: null,
  } as const
  const head = { epoch: 'epoch000', seq: 0, hash: GENESIS_HASH }
  const entry = await createEntry(
    { siteId: SITE, kind: 'site.changed', body, at: '2026-11-14T12:00:00Z' },
    head,
  )
  return {
    deliveryId: 'dlv_1',
    webhookId: 'wh_1',
    siteId: SITE,
    kind: 'site.changed',
    epoch: entry.epoch,
    seq: entry.seq,
    status: 'pending',
    attempts: 0,
    createdAtMs: NOW,
    nextAttemptAtMs: NOW,
    deliveredAtMs: undefined,
    lastStatus: undefined,
    url,
    secretsSealed: [keys.seal(webhookPurpose(SITE, 'wh_1'), createWebhookSecret())],
    failingSinceMs: undefined,
    entry,
    ...fields,
  }
}

const never = new AbortController().signal
const post = async (url: string, options: Partial<PostOptions> = {}, fields: Partial<DueDelivery> = {}) =>
  postDelivery(await deliveryTo(url, fields), keys, NOW, never, { allowLoopback: false, ...options })

/** A name server that answers one thing after the other, the last without end. */
function answering(...answers: string[]): { resolve: typeof lookup; asked: () => number } {
  let asked = 0
  const resolve = ((_name: string, _options: object, callback: (error: null, found: object[]) => void) => {
    const address = answers[Math.min(asked++, answers.length - 1)] ?? ''
    callback(null, [{ address, family: address.includes(':') ? 6 : 4 }])
  }) as unknown as typeof lookup
  return { resolve, asked: () => asked }
}

describe('where a webhook is not sent', () => {
  it.each([
    '127.0.0.1',
    '::1',
    '::ffff:127.0.0.1',
    '10.0.0.1',
    '169.254.169.254',
    'fd00:ec2::254',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
  ])('A203: no packet when the name leads to %s', async (address) => {
    const silent = await openSilent()
    const told = await post(`https://issuer.test:${silent.port}/`, {
      portsAllowed: [silent.port],
      resolve: answering(address).resolve,
    })
    expect(told).toEqual({ status: undefined, fault: expect.any(AddressForbidden) })
    expect(silent.connections()).toBe(0)
  })

  it('A203: a name that was public and is private at the next delivery gets the first and no packet of the second', async () => {
    const receiver = await openReceiver(200, { tls: true })
    const inner = await openSilent('127.0.0.2', receiver.port)
    const names = answering('127.0.0.1', '127.0.0.2')
    const rules = {
      portsAllowed: [receiver.port],
      resolve: names.resolve,
      ca: certificate,
      isPublic: (one: string) => one === '127.0.0.1',
    }
    const url = `https://issuer.test:${receiver.port}/`
    expect(await post(url, rules)).toMatchObject({ status: 200 })
    expect(await post(url, rules)).toEqual({ status: undefined, fault: expect.any(AddressForbidden) })
    expect([receiver.got.length, inner.connections(), names.asked()]).toEqual([1, 0, 2])
  })

  it('control: with a guard that takes every address, the packet arrives', async () => {
    const receiver = await openReceiver(200, { tls: true })
    const inner = await openSilent('127.0.0.2', receiver.port)
    const rules = {
      portsAllowed: [receiver.port],
      resolve: answering('127.0.0.2').resolve,
      ca: certificate,
      isPublic: () => true,
    }
    await post(`https://issuer.test:${receiver.port}/`, { ...rules, timeoutMs: 200 })
    await expect.poll(() => inner.connections()).toBe(1)
  })

  it('A203: the address that was checked is the one that is used: the name is asked for once', async () => {
    const silent = await openSilent()
    const names = answering('10.0.0.1', '127.0.0.1')
    const rules = {
      portsAllowed: [silent.port],
      resolve: names.resolve,
      isPublic: (one: string) => one === '127.0.0.1',
    }
    await post(`https://issuer.test:${silent.port}/`, rules)
    expect([names.asked(), silent.connections()]).toEqual([1, 0])
  })

  it('A200: to an inner address or this machine, though it stands in the store as an address, by http or https', async () => {
    const silent = await openSilent()
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:7f00:1]', '0.0.0.0']) {
      for (const scheme of ['http', 'https']) {
        const told = await post(`${scheme}://${host}:${silent.port}/`, { portsAllowed: [silent.port] })
        expect(told).toEqual({ status: undefined, fault: expect.any(AddressForbidden) })
      }
    }
    expect(silent.connections()).toBe(0)
  })

  it('in development: this machine, and nothing else that is not public', async () => {
    const receiver = await openReceiver()
    expect(await post(receiver.url, { allowLoopback: true })).toMatchObject({ status: 204 })
    expect(await post(`http://x.localhost:${receiver.port}/`, { allowLoopback: true })).toMatchObject({
      status: 204,
    })
    for (const url of [
      'http://10.0.0.1/',
      'https://169.254.169.254/',
      `http://issuer.test:${receiver.port}/`,
    ]) {
      expect(await post(url, { allowLoopback: true })).toEqual({
        status: undefined,
        fault: expect.any(AddressForbidden),
      })
    }
    const elsewhere = answering('8.8.8.8')
    expect(
      await post(`http://localhost:${receiver.port}/`, { allowLoopback: true, resolve: elsewhere.resolve }),
    ).toMatchObject({
      fault: expect.any(AddressForbidden),
    })
    expect(receiver.got).toHaveLength(2)
  })

  it('A206: to another port', async () => {
    const silent = await openSilent()
    const told = await post(`https://issuer.test:${silent.port}/`, {
      resolve: answering('127.0.0.1').resolve,
      isPublic: () => true,
    })
    expect(told.fault).toBeInstanceOf(AddressForbidden)
    expect(silent.connections()).toBe(0)
  })

  it('to a receiver without a good certificate for the name', async () => {
    const receiver = await openReceiver(200, { tls: true })
    const rules = {
      portsAllowed: [receiver.port],
      resolve: answering('127.0.0.1').resolve,
      isPublic: () => true,
    }
    expect((await post(`https://issuer.test:${receiver.port}/`, rules)).status).toBeUndefined()
    expect(
      (await post(`https://unlisted.test:${receiver.port}/`, { ...rules, ca: certificate })).status,
    ).toBeUndefined()
    expect(receiver.got).toHaveLength(0)
  })

  it('when the log does not have the entry any more, or the secret is not this webhook’s', async () => {
    const receiver = await openReceiver()
    const options = { allowLoopback: true }
    expect((await post(receiver.url, options, { entry: undefined })).fault).toBeInstanceOf(Error)
    const secretsSealed = [keys.seal(webhookPurpose(SITE, 'wh_2'), createWebhookSecret())]
    await expect(post(receiver.url, options, { secretsSealed })).rejects.toThrow(SealBroken)
    expect(receiver.got).toHaveLength(0)
  })
})

describe('the answer of a receiver', () => {
  const here = { allowLoopback: true }

  it.each([301, 302, 303, 307, 308])(
    'A205: a redirect with %s counts as what it is, and is not followed',
    async (status) => {
      const target = await openReceiver()
      const receiver = await openReceiver((_request, response) =>
        response.writeHead(status, { location: target.url }).end(),
      )
      expect(await post(receiver.url, here)).toMatchObject({ status })
      expect(target.connections()).toBe(0)
    },
  )

  it('A207: without end is cut after 64 KiB; its status counts', async () => {
    let written = 0
    let isCut = false
    const receiver = await openReceiver((_request, response) => {
      const block = Buffer.alloc(16 * 1024, 97)
      response.writeHead(200)
      const pour = () => {
        while (!response.destroyed && response.write(block)) written += block.length
      }
      response.on('drain', pour).on('close', () => (isCut = true))
      pour()
    })
    expect(await post(receiver.url, here)).toMatchObject({ status: 200 })
    await expect.poll(() => isCut).toBe(true)
    expect(written).toBeLessThan(16 * 1024 * 1024)
  })

  it('A207: that drips is cut when the time is over; its status counts', async () => {
    let isCut = false
    const receiver = await openReceiver((_request, response) => {
      response.writeHead(500)
      const drip = setInterval(() => response.write('x'), 10)
      response.on('close', () => {
        clearInterval(drip)
        isCut = true
      })
    })
    // On a busy machine, the status alone may take longer than the first of these times.
    let timeoutMs = 100
    const answer = () => post(receiver.url, { ...here, timeoutMs: (timeoutMs *= 2) })
    await expect.poll(answer).toMatchObject({ status: 500 })
    await expect.poll(() => isCut).toBe(true)
  })

  it('that never comes is given up when the time is over', async () => {
    const receiver = await openReceiver(() => {})
    expect(await post(receiver.url, { ...here, timeoutMs: 100 })).toEqual({
      status: undefined,
      fault: expect.any(Error),
    })
  })

  it('that never comes, of a name server, too', async () => {
    const silence = (() => {}) as unknown as typeof lookup
    const told = await post('https://issuer.test/', { resolve: silence, timeoutMs: 100 })
    expect(told).toEqual({ status: undefined, fault: expect.any(Error) })
  })

  it('is given up when we are told to stop', async () => {
    const stop = new AbortController()
    const receiver = await openReceiver(() => stop.abort())
    expect(
      (await postDelivery(await deliveryTo(receiver.url), keys, NOW, stop.signal, here)).status,
    ).toBeUndefined()
  })

  it('that is a switch of protocols, or no HTTP at all, is none', async () => {
    const switching = await openReceiver((_request, response) =>
      response.writeHead(101, { connection: 'upgrade', upgrade: 'x' }).end(),
    )
    expect((await post(switching.url, here)).status).toBeUndefined()
    const server = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => {}).end('SSH-2.0-x\r\n')
    })
    servers.push(server)
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    expect(
      (await post(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, here)).status,
    ).toBeUndefined()
  })

  it('with a status that HTTP does not know is none', async () => {
    const receiver = await openReceiver((_request, response) => response.writeHead(999).end())
    expect((await post(receiver.url, here)).status).toBeUndefined()
  })

  it.each([
    ['120', 120_000],
    [new Date(NOW + 60_000).toUTCString(), 60_000],
    [new Date(NOW - 60_000).toUTCString(), undefined],
    ['0', undefined],
    ['-5', undefined],
    ['soon', undefined],
  ])('may ask for a pause: %s', async (value, retryAfterMs) => {
    const receiver = await openReceiver((_request, response) =>
      response.writeHead(503, { 'retry-after': value }).end(),
    )
    expect(await post(receiver.url, here)).toEqual({ status: 503, retryAfterMs })
  })

  it('A211: nothing of it tells a closed port from a silent one or a forbidden address', async () => {
    const silent = await openSilent()
    const closed = await openSilent()
    await new Promise((done) => servers.pop()?.close(done))
    const statuses = [
      (await post(`http://127.0.0.1:${closed.port}/`, { ...here, timeoutMs: 100 })).status,
      (await post(`http://127.0.0.1:${silent.port}/`, { ...here, timeoutMs: 100 })).status,
      (await post(`http://127.0.0.1:${silent.port}/`)).status,
    ]
    expect(statuses).toEqual([undefined, undefined, undefined])
  })
})
