import { connect } from 'node:net'
import { auditChain, checkHeartbeat, parseHeartbeat, parseMultikey, type SiteId } from '@countersign/core'
import { limits } from '@countersign/core/contract'
import { expect, it } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { context, type FeedNode, type FeedSite, newPpid, onEachStore } from './feed-node.ts'
import { follow, type SseClient } from './sse-client.ts'

const revoke = async (node: FeedNode, siteId: SiteId) => {
  const { store, views } = node.service.deps
  const revoked = await store.revokeUser({ siteId, ppid: newPpid(), reason: 'a reason' }, context())
  await views.waitFor(revoked.position)
  return revoked
}
const open = (node: FeedNode, { siteId, key }: FeedSite, headers: Record<string, string> = {}, query = '') =>
  follow(node.port, siteId, { key, headers, query })
const seqs = ({ entries }: SseClient) => entries.map(({ seq }) => seq)
const codeOf = ({ status, text }: SseClient) => (status === 200 ? status : JSON.parse(text).code)

const ANONYMOUS = { verifierId: undefined, promise: undefined, isObserver: false }

onEachStore('the feed', (home) => {
  it('tells entries with their ids and kinds, in an unbroken chain', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const first = await revoke(node, site.siteId)
    const stream = await open(node, site, {}, `?after=${first.epoch}.0`)
    const second = await revoke(node, site.siteId)
    const event = await stream.until(({ id }) => id === `${second.epoch}.${second.seq}`)
    expect(event.event).toBe('user.revoked')
    expect(seqs(stream)).toEqual([1, 2, 3])
    expect(
      stream.events.flatMap(({ id, event: name, data }) =>
        name === 'heartbeat' ? [] : [[id, name, JSON.parse(data).kind]],
      ),
    ).toEqual([
      [`${first.epoch}.1`, 'site.changed', 'site.changed'],
      [`${first.epoch}.2`, 'user.revoked', 'user.revoked'],
      [`${first.epoch}.3`, 'user.revoked', 'user.revoked'],
    ])
    expect(await auditChain(stream.entries, { siteId: site.siteId })).toMatchObject({
      ok: true,
      head: { seq: 3 },
    })
    expect(stream.text).not.toContain('a reason')
    stream.close()
  })

  it('sends what proxies and caches must know, and pads where there is a proxy', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const plain = await open(node, site)
    const proxied = await open(node, site, { via: '1.1 proxy' })
    expect(plain.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    await Promise.all([plain, proxied].map((stream) => stream.until(({ event }) => event === 'heartbeat')))
    expect(plain.retryMs).toBeGreaterThanOrEqual(1000)
    expect([/^:/m.test(plain.text), /^: {2048}$/m.test(proxied.text)]).toEqual([false, true])
    for (const stream of [plain, proxied]) stream.close()
  })

  it('begins at the end without a cursor, with a heartbeat that says where', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch, seq } = await revoke(node, site.siteId)
    const stream = await open(node, site)
    const [beat] = [await stream.until(() => true)]
    expect([beat.event, beat.id]).toEqual(['heartbeat', `${epoch}.${seq}`])
    await revoke(node, site.siteId)
    await stream.until(({ event }) => event === 'user.revoked')
    expect(seqs(stream)).toEqual([seq + 1])
    stream.close()
  })

  it('goes on after Last-Event-ID, which wins over the parameter, and proves the end', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const made = [
      await revoke(node, site.siteId),
      await revoke(node, site.siteId),
      await revoke(node, site.siteId),
    ]
    const [, second, third] = made
    const stream = await open(
      node,
      site,
      { 'last-event-id': `${second?.epoch}.${second?.seq}` },
      `?after=${second?.epoch}.0`,
    )
    await stream.until(({ event }) => event === 'heartbeat')
    expect(seqs(stream)).toEqual([third?.seq])
    const beat = parseHeartbeat(stream.heartbeats[0])
    const head = node.service.deps.views.view(site.siteId)?.head
    expect(beat).toMatchObject({ site_id: site.siteId, ...head })
    const discovery = await node.call('GET', '/.well-known/countersign')
    const listed = discovery.json.feed.keys.find(({ kid }: { kid: string }) => kid === beat?.kid)
    const key = parseMultikey(listed.public_key_multibase)
    expect(beat && key && (await checkHeartbeat(beat, key))).toMatchObject({ seq: third?.seq })
    expect(beat && key && (await checkHeartbeat({ ...beat, seq: beat.seq + 1 }, key))).toBeUndefined()
    expect(Date.parse(beat?.as_of ?? '')).toBeLessThanOrEqual(Date.now())
    stream.close()
  })

  it('proves the end after each burst and every five seconds, never for less than was told (A197)', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await open(node, site)
    for (let i = 0; i < 5; i++) await revoke(node, site.siteId)
    await stream.until(({ event, data }) => event === 'heartbeat' && JSON.parse(data).seq === 6)
    const count = stream.heartbeats.length
    await expect.poll(() => stream.heartbeats.length).toBe(count + 1)
    let told = 1
    for (const { event, data } of stream.events) {
      const { seq } = JSON.parse(data)
      if (event === 'heartbeat') expect(seq).toBe(told)
      else told = seq
    }
    const times = stream.heartbeats.map(({ as_of }) => Date.parse(as_of))
    expect(times).toEqual([...times].sort((a, b) => a - b))
    stream.close()
  })

  it('tells many entries to many at once, and more to those who come meanwhile (I-8, I-9)', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch, seq } = await revoke(node, site.siteId)
    const streams: SseClient[] = []
    const joining = (async () => {
      for (let i = 0; i < 30; i++)
        streams.push(await open(node, site, { 'last-event-id': `${epoch}.${i % 3}` }))
    })()
    for (let i = 0; i < 60; i++)
      await Promise.all([revoke(node, site.siteId), revoke(node, site.siteId), revoke(node, site.siteId)])
    await joining
    const last = (await revoke(node, site.siteId)).seq
    for (const [i, stream] of streams.entries()) {
      await stream.until(({ event, data }) => event === 'heartbeat' && JSON.parse(data).seq === last)
      expect(seqs(stream)).toEqual(Array.from({ length: last - (i % 3) }, (_, at) => at + 1 + (i % 3)))
      stream.close()
    }
    expect(last).toBe(seq + 181)
  })

  it('refuses cursors that are none (A191)', async () => {
    const node = await home().node()
    const site = await node.newSite()
    for (const form of [
      'garbage',
      'E.-1',
      'E.1.5',
      'E.9223372036854775808',
      'E.x',
      'E.',
      '.',
      'E',
      'E.1e3',
      'E.01',
      'E.%201',
    ]) {
      const cursor = form.replace('E', node.service.deps.store.epoch)
      expect(codeOf(await open(node, site, { 'last-event-id': cursor })), cursor).toBe('cursor_malformed')
      expect(codeOf(await open(node, site, {}, `?after=${encodeURIComponent(cursor)}`)), cursor).toBe(
        'cursor_malformed',
      )
    }
  })

  it('refuses a cursor of another epoch or beyond the end, and one whose entries are gone (A192)', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const { store } = node.service.deps
    const { epoch, seq } = await revoke(node, site.siteId)
    expect(codeOf(await open(node, site, { 'last-event-id': `${epoch}.${seq + 1}` }))).toBe('cursor_ahead')
    expect(codeOf(await open(node, site, { 'last-event-id': `${epoch.slice(1)}x.${seq}` }))).toBe(
      'cursor_ahead',
    )
    const { siteEntriesAfter } = store
    // As if the first two had been cleared away.
    const cleared: Partial<Store> = {
      siteEntriesAfter: async (siteId, after, limit) =>
        (await siteEntriesAfter(siteId, after, limit)).filter((entry) => entry.seq > 2),
    }
    await revoke(node, site.siteId)
    Object.assign(store, cleared)
    expect(codeOf(await open(node, site, { 'last-event-id': `${epoch}.1` }))).toBe('cursor_expired')
    const kept = await open(node, site, { 'last-event-id': `${epoch}.2` })
    await kept.until(({ event }) => event === 'user.revoked')
    expect(seqs(kept)).toEqual([3])
    kept.close()
  })

  it('is for keys of the site that may read it, and tells nothing of other sites (A190, I-15)', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const blind = await node.newKey(site.siteId, ['tokens:introspect'])
    const operator = await node.newKey(null, [])
    const codes = await Promise.all(
      [undefined, other.key, blind.key].map(async (key) =>
        codeOf(await follow(node.port, site.siteId, key === undefined ? {} : { key })),
      ),
    )
    expect(codes).toEqual(['api_key_missing', 'not_found', 'api_key_forbidden'])
    expect(codeOf(await follow(node.port, site.siteId, { query: `?api_key=${site.key}` }))).toBe(
      'api_key_missing',
    )
    expect(codeOf(await follow(node.port, 'nowhere.example', { key: operator.key }))).toBe('not_found')
    const streams = [
      await open(node, site),
      await open(node, other),
      await follow(node.port, site.siteId, { key: operator.key }),
    ]
    await revoke(node, site.siteId)
    await revoke(node, other.siteId)
    for (const stream of streams) await stream.until(({ event }) => event === 'user.revoked')
    expect(
      streams.map(({ events }) => [...new Set(events.map(({ data }) => JSON.parse(data).site_id))]),
    ).toEqual([[site.siteId], [other.siteId], [site.siteId]])
    for (const stream of streams) stream.close()
  })

  it('says which name an unnamed reader goes by, and refuses names and versions that it does not know', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const [named, unnamed] = [
      await open(node, site, { 'x-verifier-id': 'verifier-1' }),
      await open(node, site),
    ]
    expect(named.headers['x-verifier-id']).toBe('verifier-1')
    expect(unnamed.headers['x-verifier-id']).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    for (const stream of [named, unnamed]) stream.close()
    expect(codeOf(await open(node, site, { 'x-verifier-id': 'a b' }))).toBe('validation_failed')
    expect(codeOf(await open(node, site, { 'feed-version': '2' }))).toBe('validation_failed')
    const known = await open(node, site, { 'feed-version': '1' })
    expect(known.status).toBe(200)
    known.close()
  })

  it('ends when its key is deleted here (A195)', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const doomed = await node.newKey(site.siteId, ['feed:read'])
    const [stream, other] = [
      await follow(node.port, site.siteId, { key: doomed.key }),
      await open(node, site),
    ]
    const gone = await node.call('DELETE', `/api/sites/${site.siteId}/keys/${doomed.keyId}`, {
      key: site.key,
    })
    expect(gone.status).toBe(204)
    await stream.untilClosed(1000)
    expect(codeOf(await follow(node.port, site.siteId, { key: doomed.key }))).toBe('api_key_invalid')
    expect(other.isClosed).toBe(false)
    other.close()
  })

  it('ends within two seconds when its key is deleted elsewhere or has come to its end (A195)', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const [doomed, brief] = [
      await node.newKey(site.siteId, ['feed:read']),
      await node.newKey(site.siteId, ['feed:read'], 3),
    ]
    const streams = [
      await follow(node.port, site.siteId, { key: doomed.key }),
      await follow(node.port, site.siteId, { key: brief.key }),
      await open(node, site),
    ]
    await node.service.deps.store.deleteApiKey(site.siteId, doomed.keyId, context())
    await streams[0]?.untilClosed(2000)
    await streams[1]?.untilClosed(5000)
    expect(streams[2]?.isClosed).toBe(false)
    streams[2]?.close()
  })

  it('has room for 1,000 connections of one key, and 429 for the next (A198)', { tags: 'long' }, async () => {
    const node = await home().open()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const order = {
      siteId: site.siteId,
      keyId: site.keyId,
      cursor: undefined,
      verifier: ANONYMOUS,
      isProxied: false,
    }
    const { feeds } = node.service.deps
    const places = await Promise.all(
      Array.from({ length: limits.feed_connections_per_key_max }, () => feeds.open(order)),
    )
    const refused = await open(node, site)
    expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([
      429,
      'rate_limited',
      '5',
    ])
    const elsewhere = await open(node, other)
    expect(elsewhere.status).toBe(200)
    places[0]?.release()
    places[0]?.release()
    const again = await open(node, site)
    expect(again.status).toBe(200)
    expect(codeOf(await open(node, site))).toBe('rate_limited')
    again.close()
    await expect.poll(() => feeds.size).toBe(1)
    for (const place of places) place.release()
    elsewhere.close()
  })

  it('is cut when the client sends another request into it, and when the reader leaves', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const { feeds } = node.service.deps
    const request = `GET /api/sites/${site.siteId}/feed HTTP/1.1\r\nHost: x\r\nX-API-Key: ${site.key}\r\n\r\n`
    for (const more of ['GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n', 'garbage\r\n\r\n', undefined]) {
      const socket = connect(node.port, '127.0.0.1')
      let text = ''
      socket.on('data', (data) => (text += data))
      socket.on('error', () => {})
      const closed = new Promise((resolve) => socket.on('close', resolve))
      socket.write(request)
      await expect.poll(() => text).toContain('event: heartbeat')
      expect(feeds.size).toBe(1)
      if (more === undefined) socket.end()
      else socket.write(more)
      await closed
      await expect.poll(() => feeds.size).toBe(0)
      expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1)
    }
  })

  it('answers HEAD with the head alone, and keeps no room for it', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const told = await node.call('HEAD', `/api/sites/${site.siteId}/feed`, { key: site.key })
    expect([told.status, told.headers['content-type'], told.text]).toEqual([200, 'text/event-stream', ''])
    expect(node.service.deps.feeds.size).toBe(0)
  })

  it('ends with a word on when to come back when the node shuts down', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const stream = await open(node, site)
    await stream.until(({ event }) => event === 'heartbeat')
    const before = stream.text.length
    await node.close()
    await stream.untilClosed()
    expect(stream.text.slice(before)).toMatch(/^retry: \d+\n\n$/)
  })

  it('is refused by a node that has not heard from its store (I-3)', async () => {
    const node = await home().open()
    const site = await node.newSite()
    Object.assign(node.service.deps.views, { readiness: () => ({ ready: false, why: 'test' }) })
    expect(codeOf(await open(node, site))).toBe('revocation_view_stale')
  })
})
