import { connect, type Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { context, type FeedNode, type FeedSite, newCredentialId, onEachStore } from './feed-node.ts'

/** A reader that costs next to nothing: it counts what it hears. */
class Reader {
  readonly socket: Socket
  /** Of the last entry and the last heartbeat heard. */
  seq = 0
  provenSeq = 0
  heard = 0
  isClosed = false
  #rest = ''

  constructor(
    port: number,
    { siteId, key }: Pick<FeedSite, 'siteId' | 'key'>,
    after?: string,
    instanceId?: string,
  ) {
    readers.add(this)
    this.socket = connect(port, '127.0.0.1')
    this.socket.on('error', () => {})
    this.socket.on('close', () => {
      this.isClosed = true
    })
    this.socket.on('data', (data) => this.#take(data.toString('latin1')))
    const cursor = after === undefined ? '' : `Last-Event-ID: ${after}\r\n`
    const promise =
      instanceId === undefined ? '' : `X-Verifier-Instance: ${instanceId}\r\nX-Verifier-Max-Staleness: 30\r\n`
    this.socket.write(
      `GET /api/sites/${siteId}/feed HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${promise}${cursor}\r\n`,
    )
  }

  #take(text: string): void {
    const events = (this.#rest + text).split('\n\n')
    this.#rest = events.pop() ?? ''
    for (const event of events) {
      const seq = Number(/"seq":(\d+)/.exec(event)?.[1] ?? 0)
      if (event.includes('event: heartbeat')) this.provenSeq = seq
      else if (seq > 0) {
        // Any hole or repetition shows in the end.
        this.heard++
        this.seq = seq
      }
    }
  }
}
const readers = new Set<Reader>()
afterEach(() => {
  for (const { socket } of readers) socket.destroy()
  readers.clear()
})

async function append(node: FeedNode, { siteId }: FeedSite, count: number): Promise<number> {
  const { store, views } = node.service.deps
  const one = () =>
    store.revokeCredential({ siteId, credentialId: newCredentialId(), reason: undefined }, context())
  let seq = 0
  for (let done = 0; done < count; done += 100) {
    const revoked = await Promise.all(Array.from({ length: Math.min(100, count - done) }, one))
    seq = Math.max(...revoked.map((each) => each.seq))
    await views.waitFor(Math.max(...revoked.map(({ position }) => position)))
  }
  return seq
}

onEachStore('a crowd at the feed', (home) => {
  it('of whom many never read does not keep the others from hearing everything', { tags: 'long' }, async ({
    skip,
  }) => {
    skip(
      home().kind === 'PostgreSQL',
      'what is not read has nothing to do with the store, and filling it takes long',
    )
    const node = await home().open()
    const site = await node.newSite()
    const { feeds } = node.service.deps
    const lazy = Array.from({ length: 100 }, () => new Reader(node.port, site))
    for (const { socket } of lazy) socket.pause()
    const keen = Array.from({ length: 20 }, (_, i) => new Reader(node.port, site, undefined, `keen-${i}`))
    const acking = setInterval(() => {
      for (const [i, { provenSeq: seq }] of keen.entries())
        node
          .call('POST', `/api/sites/${site.siteId}/feed/ack`, {
            key: site.key,
            headers: { 'x-verifier-instance': `keen-${i}` },
            body: { epoch: node.service.deps.store.epoch, seq },
          })
          // The last calls may still run when the node closes.
          .catch(() => undefined)
    }, 1000)
    await expect.poll(() => feeds.size).toBe(120)
    await expect.poll(() => keen.every(({ provenSeq }) => provenSeq === 1)).toBe(true)
    // Until the buffers of the system are full too, which are larger than ours.
    let last = 0
    for (let i = 0; i < 40 && feeds.size > 20; i++) last = await append(node, site, 500)
    await expect.poll(() => feeds.size).toBe(20)
    await expect.poll(() => keen.every(({ provenSeq }) => provenSeq === last)).toBe(true)
    expect(keen.map(({ heard, seq, isClosed }) => [heard, seq, isClosed])).toEqual(
      keen.map(() => [last - 1, last, false]),
    )
    clearInterval(acking)
  })

  it('that comes back all at once is accepted, and hears what it missed once', { tags: 'long' }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    const keys = [site, { siteId: site.siteId, ...(await node.newKey(site.siteId)) }]
    const { store } = node.service.deps
    const last = await append(node, site, 50)
    const crowd = Array.from(
      { length: 1000 },
      (_, i) => new Reader(node.port, keys[i % 2] as FeedSite, `${store.epoch}.${last - (i % 5)}`),
    )
    const next = await append(node, site, 20)
    await expect.poll(() => crowd.filter(({ provenSeq }) => provenSeq === next).length).toBe(crowd.length)
    expect(crowd.filter(({ heard, seq }, i) => heard !== next - last + (i % 5) || seq !== next)).toEqual([])
    expect(node.service.deps.feeds.size).toBe(crowd.length)
  })
})
