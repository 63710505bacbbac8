import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import {
  type FeedNode,
  type FeedSite,
  newCredentialId,
  newPpid,
  onEachStore,
  type Told,
} from './feed-node.ts'
import { follow, type SseClient } from './sse-client.ts'

const path = (siteId: string, rest: string) => `/api/sites/${siteId}/${rest}`
const promise = (instance: string, more: Readonly<Record<string, string>> = {}) => ({
  'x-verifier-id': 'web',
  'x-verifier-instance': instance,
  'x-verifier-max-staleness': '30',
  ...more,
})
const listen = (
  node: FeedNode,
  { siteId, key }: FeedSite,
  headers: Readonly<Record<string, string>>,
  query = '',
) => follow(node.port, siteId, { key, headers, query })
const ack = (
  node: FeedNode,
  { siteId, key }: Pick<FeedSite, 'siteId' | 'key'>,
  instance: string,
  body: object,
) => node.call('POST', path(siteId, 'feed/ack'), { key, body, headers: { 'x-verifier-instance': instance } })
const revoke = (node: FeedNode, { siteId, key }: FeedSite, prefer?: string) =>
  node.call('POST', '/api/wallet/revoke-user', {
    key,
    body: { ppid: newPpid(), site_id: siteId },
    headers: prefer === undefined ? {} : { prefer },
  })
const receipt = async (node: FeedNode, { siteId, key }: FeedSite, seq: number) =>
  (await node.call('GET', path(siteId, `propagation?seq=${seq}`), { key })).json
const codeOf = ({ status, json }: Told) => json?.code ?? status
/** From the commit, in milliseconds. */
const deniedAfter = ({ committed_at, denied_everywhere_at }: Record<string, string>) =>
  Date.parse(denied_everywhere_at ?? '') - Date.parse(committed_at ?? '')

onEachStore('instances', (home) => {
  it('of one name are two verifiers: one that is frozen is seen (B4)', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams = await Promise.all(['one', 'two'].map((instance) => listen(node, site, promise(instance))))
    const { epoch, seq } = (await revoke(node, site)).json
    await ack(node, site, 'one', { epoch, seq })
    await expect.poll(async () => (await receipt(node, site, seq)).acknowledged).toBe(1)
    const told = await receipt(node, site, seq)
    expect(told).toMatchObject({
      connected: 2,
      expected: 2,
      laggards: [{ verifier_id: 'web', instance_id: 'two' }],
      verifiers: [
        { instance_id: 'two', state: 'waiting' },
        { instance_id: 'one', state: 'acknowledged' },
      ],
    })
    await expect.poll(async () => deniedAfter(await receipt(node, site, seq))).toBe(40_000)
    await ack(node, site, 'two', { epoch, seq })
    await expect.poll(async () => deniedAfter(await receipt(node, site, seq))).toBeLessThan(40_000)
    const { items } = (await node.call('GET', path(site.siteId, 'verifiers'), { key: site.key })).json
    expect(items).toMatchObject([
      {
        verifier_id: 'web',
        instance_id: 'one',
        state: 'connected',
        max_staleness_seconds: 30,
        fails_open: false,
        lag: 0,
      },
      { verifier_id: 'web', instance_id: 'two' },
    ])
    for (const stream of streams) stream.close()
  })

  it('are not acknowledged by others: another instance, key, epoch, or what is still to come (A261)', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const other = { siteId: site.siteId, ...(await node.newKey(site.siteId, ['feed:read'])) }
    const stream = await listen(node, site, promise('one'))
    const { epoch, seq } = (await revoke(node, site)).json
    expect(codeOf(await ack(node, site, 'two', { epoch, seq }))).toBe(204)
    expect(codeOf(await ack(node, other, 'one', { epoch, seq }))).toBe(204)
    expect(codeOf(await ack(node, site, 'one', { epoch, seq: seq + 1 }))).toBe('cursor_ahead')
    expect(codeOf(await ack(node, site, 'one', { epoch: 'otherepoch', seq }))).toBe('cursor_ahead')
    const named = { key: site.key, body: { epoch, seq }, headers: { 'x-verifier-id': 'web' } }
    expect(codeOf(await node.call('POST', path(site.siteId, 'feed/ack'), named))).toBe(204)
    await sleep(1500)
    expect(await receipt(node, site, seq)).toMatchObject({ connected: 1, acknowledged: 0, expected: 1 })
    await ack(node, site, 'one', { epoch, seq })
    await expect.poll(async () => (await receipt(node, site, seq)).acknowledged).toBe(1)
    stream.close()
  })

  it('replace their own stream and no other', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const other = await listen(node, site, promise('two'))
    const first = await listen(node, site, promise('one'))
    const second = await listen(node, site, promise('one'))
    await first.untilClosed()
    expect([second.isClosed, other.isClosed]).toEqual([false, false])
    const { seq } = (await revoke(node, site)).json
    expect(await receipt(node, site, seq)).toMatchObject({ connected: 2, expected: 2 })
    for (const stream of [second, other]) stream.close()
  })

  it('must declare everything, in its grammar', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const wrong = [
      { 'x-verifier-instance': 'one' },
      { 'x-verifier-max-staleness': '30' },
      { 'x-verifier-fail-open': '1' },
      ...['0', '3601', '030', '-1', '1.5', ''].map((seconds) =>
        promise('one', { 'x-verifier-max-staleness': seconds }),
      ),
      promise('one', { 'x-verifier-fail-open': 'yes' }),
      promise('a b'),
    ]
    for (const headers of wrong) {
      for (const rest of ['feed', 'snapshot'])
        expect([
          headers,
          codeOf(await node.call('GET', path(site.siteId, rest), { key: site.key, headers })),
        ]).toEqual([headers, 'validation_failed'])
    }
    const observing = await node.call('GET', path(site.siteId, 'snapshot?observe=1'), {
      key: site.key,
      headers: promise('one'),
    })
    expect(codeOf(observing)).toBe('validation_failed')
    expect(await node.service.deps.store.leases(site.siteId, { after: undefined, limit: 10 })).toEqual([])
  })

  it('have a lease before they are given a snapshot, and none is given when it cannot be written', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const { store } = node.service.deps
    const { openLease } = store
    const taken = { key: site.key, headers: promise('one') }
    Object.assign(store, { openLease: () => Promise.reject(new Error('the disk is full')) })
    for (const rest of ['snapshot', 'feed'])
      expect((await node.call('GET', path(site.siteId, rest), taken)).status).toBe(500)
    Object.assign(store, { openLease })
    expect((await node.call('GET', path(site.siteId, 'snapshot'), taken)).status).toBe(200)
    expect(await store.leases(site.siteId, { after: undefined, limit: 10 })).toMatchObject([
      { instanceId: 'one', boundMs: 30_000, nodeId: '' },
    ])
    const { seq } = (await revoke(node, site)).json
    const told = await receipt(node, site, seq)
    expect(told).toMatchObject({ connected: 0, expected: 1, verifiers: [{ state: 'not_connected' }] })
    // Other nodes on the same store have to apply the entry first.
    await expect.poll(async () => deniedAfter(await receipt(node, site, seq))).toBe(40_000)
  })

  it('that close hold nothing up, and are not expected', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one'))
    const { epoch, seq } = (await revoke(node, site)).json
    await ack(node, site, 'one', { epoch, seq, closed: true })
    stream.close()
    const next = (await revoke(node, site)).json
    await expect.poll(async () => (await receipt(node, site, next.seq)).expected).toBe(0)
    await expect.poll(async () => deniedAfter(await receipt(node, site, next.seq))).toBeLessThan(40_000)
  })

  it('that are said to close while their stream is open go on counting', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one'))
    const { epoch, seq } = (await revoke(node, site)).json
    await ack(node, site, 'one', { epoch, seq, closed: true })
    const next = (await revoke(node, site)).json
    const counted = { connected: 1, acknowledged: 0, expected: 1, laggards: [{ instance_id: 'one' }] }
    expect(await receipt(node, site, next.seq)).toMatchObject(counted)
    await expect.poll(async () => deniedAfter(await receipt(node, site, next.seq))).toBe(40_000)
    // What was said is in the store by now, and the instance goes on reading.
    const only = async () =>
      (await node.service.deps.store.leases(site.siteId, { after: undefined, limit: 10 }))[0]
    await expect.poll(async () => (await only())?.closedAtMs).toBeGreaterThan(0)
    expect(await receipt(node, site, next.seq)).toMatchObject(counted)
    // It acknowledges again, so it had not closed, and it counts when its stream is cut.
    await ack(node, site, 'one', { epoch, seq })
    await expect.poll(async () => (await only())?.closedAtMs).toBeUndefined()
    stream.close()
    await expect.poll(async () => (await receipt(node, site, next.seq)).connected).toBe(0)
    const cut = await receipt(node, site, next.seq)
    expect(cut).toMatchObject({ expected: 1, verifiers: [{ instance_id: 'one', state: 'not_connected' }] })
    expect(deniedAfter(cut)).toBe(40_000)
  })

  it('that open again are not ended by what they said before', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { verifiers, clock } = node.service.deps
    const { epoch, seq } = (await revoke(node, site)).json
    const name = { siteId: site.siteId, keyId: site.keyId, instanceId: 'one' }
    const take = { key: site.key, headers: promise('one') }
    expect((await node.call('GET', path(site.siteId, 'snapshot'), take)).status).toBe(200)
    // Heard, and still to be written when the instance comes back a little later.
    verifiers.acknowledge({
      ...name,
      verifierId: 'web',
      epoch,
      seq,
      atMs: clock.clocks().wallMs,
      isClosing: true,
    })
    await sleep(3)
    expect((await node.call('GET', path(site.siteId, 'snapshot'), take)).status).toBe(200)
    const next = (await revoke(node, site)).json
    const expected = async () => (await receipt(node, site, next.seq)).expected
    expect(await expected()).toBe(1)
    const only = async () =>
      (await node.service.deps.store.leases(site.siteId, { after: undefined, limit: 10 }))[0]
    await expect.poll(async () => (await only())?.seq).toBe(seq)
    expect([(await only())?.closedAtMs, await expected()]).toEqual([undefined, 1])
  })

  it('that fail open and are gone are listed until an operator retires them', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const failing = promise('one', { 'x-verifier-fail-open': '1' })
    const stream = await listen(node, site, failing)
    const { seq } = (await revoke(node, site)).json
    const dismiss = (instance: string, key = site.key) =>
      node.call('DELETE', path(site.siteId, `verifiers/${instance}`), {
        key,
        headers: { 'x-reason': 'process%20ended' },
      })
    const states = async () =>
      (await node.call('GET', path(site.siteId, 'verifiers'), { key: site.key })).json.items.map(
        ({ instance_id, state }: Record<string, string>) => [instance_id, state],
      )
    expect(codeOf(await dismiss('one'))).toBe('verifier_active')
    await expect.poll(states).toEqual([['one', 'connected']])
    stream.close()
    await expect.poll(states).toEqual([['one', 'gone']])
    const other = await node.newKey(site.siteId, ['feed:read'])
    expect(codeOf(await dismiss('one', other.key))).toBe('api_key_forbidden')
    expect(codeOf(await dismiss('two'))).toBe('not_found')
    expect((await receipt(node, site, seq)).denied_everywhere_at).toBeNull()
    expect(codeOf(await dismiss('one'))).toBe(204)
    await expect.poll(states).toEqual([])
    await expect.poll(async () => (await receipt(node, site, seq)).denied_everywhere_at).not.toBeNull()
    const [audit] = (await node.call('GET', path(site.siteId, 'audit'), { key: site.key })).json.items
    expect(audit).toMatchObject({
      action: 'verifier.dismiss',
      target: 'one',
      outcome: 'done',
      reason: 'process ended',
    })
    expect(codeOf(await dismiss('one'))).toBe('not_found')
    // It was not gone after all.
    const back = await listen(node, site, failing)
    await expect.poll(async () => (await receipt(node, site, seq)).denied_everywhere_at).toBeNull()
    back.close()
  })

  it('that fail open leave no instant, and are listed (I-22)', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one', { 'x-verifier-fail-open': '1' }))
    const { epoch, seq } = (await revoke(node, site)).json
    await ack(node, site, 'one', { epoch, seq })
    stream.close()
    expect(await receipt(node, site, seq)).toMatchObject({
      denied_everywhere_at: null,
      exceptions: [{ verifier_id: 'web', instance_id: 'one', reason: 'fails_open' }],
    })
  })

  it('are waited for until what was revoked is denied everywhere, if the caller prefers that', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, promise('one'))
    const { epoch } = (await revoke(node, site)).json
    const pending = revoke(node, site, 'wait=30, denied-everywhere')
    const { id } = await stream.until(({ event }) => event === 'user.revoked')
    await sleep(1000)
    await ack(node, site, 'one', { epoch, seq: Number(id?.split('.')[1]) + 0 })
    const last = stream.entries.at(-1)
    if (last !== undefined) await ack(node, site, 'one', { epoch, seq: last.seq })
    const { json, headers } = await pending
    expect(headers['preference-applied']).toBe('wait=30, denied-everywhere')
    expect(Date.parse(json.propagation.denied_everywhere_at)).toBeLessThanOrEqual(Date.now())
    // Without its acknowledgement it would be the end of its lease.
    expect(deniedAfter(json.propagation)).toBeLessThan(40_000)
    stream.close()
  })

  it('report their clocks with what they acknowledge', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch, seq } = (await revoke(node, site)).json
    expect(codeOf(await ack(node, site, 'one', { epoch, seq, sent_at: new Date().toISOString() }))).toBe(204)
    expect(codeOf(await ack(node, site, 'one', { epoch, seq, sent_at: 'now' }))).toBe('validation_failed')
  })
})

onEachStore('readers without a lease', (home) => {
  it('leave the bound for every guard, and observers do not', async () => {
    const node = await home().node()
    const [site, watched] = [await node.newSite(), await node.newSite()]
    const plain = await listen(node, site, {})
    const observer = await listen(node, watched, {}, '?observe=1')
    await node.call('GET', path(watched.siteId, 'snapshot?observe=1'), { key: watched.key })
    const [one, two] = [(await revoke(node, site)).json, (await revoke(node, watched)).json]
    await expect.poll(async () => deniedAfter(await receipt(node, watched, two.seq))).toBeLessThan(70_000)
    const [first, second] = [await receipt(node, site, one.seq), await receipt(node, watched, two.seq)]
    expect([deniedAfter(first), first.connected]).toEqual([70_000, 1])
    expect(second.connected).toBe(0)
    await observer.until(({ event }) => event === 'user.revoked')
    for (const stream of [plain, observer]) stream.close()
  })

  it('also count by the snapshot that they took', async () => {
    const node = await home().node()
    const site = await node.newSite()
    await node.call('GET', path(site.siteId, 'snapshot'), { key: site.key })
    const { seq } = (await revoke(node, site)).json
    expect(deniedAfter(await receipt(node, site, seq))).toBe(70_000)
  })

  it('as observers are 20 for each key, and 429 for the next', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams: SseClient[] = []
    for (let i = 0; i < 20; i++) streams.push(await listen(node, site, {}, '?observe=1'))
    expect(streams.every(({ status }) => status === 200)).toBe(true)
    expect((await listen(node, site, {}, '?observe=1')).status).toBe(429)
    const plain = await listen(node, site, {})
    expect(plain.status).toBe(200)
    for (const stream of [...streams, plain]) stream.close()
  })
})

onEachStore('receipts and lists of verifiers', (home) => {
  it('are 8 at a time for each key, and 429 for the next', async () => {
    const node = await home().open()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const [{ seq }, second] = [(await revoke(node, site)).json, (await revoke(node, other)).json]
    const { store } = node.service.deps
    const { headReadersUntil } = store
    const held = Promise.withResolvers<number>()
    let asked = 0
    Object.assign(store, {
      headReadersUntil: (siteId: FeedSite['siteId']) => {
        if (siteId !== site.siteId) return headReadersUntil.call(store, siteId)
        asked++
        return held.promise
      },
    })
    const ask = ({ siteId, key }: FeedSite, rest: string) => node.call('GET', path(siteId, rest), { key })
    const running = Array.from({ length: 9 }, (_, i) =>
      ask(site, i % 2 === 0 ? `propagation?seq=${seq}` : 'verifiers'),
    )
    // Of nine, one is answered before the others: that no more than eight may run.
    expect(codeOf(await Promise.race(running))).toBe('rate_limited')
    expect(codeOf(await ask(other, `propagation?seq=${second.seq}`))).toBe(200)
    held.resolve(0)
    const codes = (await Promise.all(running)).map(codeOf)
    expect([
      codes.filter((code) => code === 200).length,
      codes.filter((code) => code === 'rate_limited').length,
    ]).toEqual([8, 1])
    expect(asked).toBe(1)
    expect(codeOf(await ask(site, 'verifiers'))).toBe(200)
  })
})

onEachStore('the setting max_staleness_seconds_max', (home) => {
  it('is stated in every head, and receipts use the higher value until its heads have died', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const change = (body: object) => node.call('PATCH', `/api/sites/${site.siteId}`, { key: site.key, body })
    expect((await change({ max_staleness_seconds_max: 300 })).json.max_staleness_seconds_max).toBe(300)
    const stream = await listen(node, site, {})
    await stream.until(({ event }) => event === 'heartbeat')
    expect(stream.heartbeats.at(-1)?.max_age_seconds).toBe(300)
    await change({ max_staleness_seconds_max: 10 })
    await expect.poll(() => stream.heartbeats.at(-1)?.max_age_seconds).toBe(10)
    const { text } = await node.call('GET', path(site.siteId, 'snapshot'), { key: site.key })
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ type: 'head', max_age_seconds: 10 })
    const { seq } = (await revoke(node, site)).json
    const told = await receipt(node, site, seq)
    // Of the change, not of the revocation: until then a head with the old value may be valid.
    expect(deniedAfter(told)).toBeGreaterThan(280_000)
    expect(deniedAfter(told)).toBeLessThanOrEqual(310_000)
    expect((await change({ max_staleness_seconds_max: 4 })).status).toBe(422)
    stream.close()
  })
})

/** Sends a request and never reads what comes. */
function deaf(port: number, target: string, key: string, headers: Readonly<Record<string, string>> = {}) {
  const socket = connect(port, '127.0.0.1')
  const state = { socket, fault: undefined as NodeJS.ErrnoException | undefined, isClosed: false }
  socket.on('error', (fault: NodeJS.ErrnoException) => {
    state.fault = fault
  })
  socket.on('close', () => {
    state.isClosed = true
  })
  socket.pause()
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`GET ${target} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\n${lines.join('')}\r\n`)
  return state
}

async function append(node: FeedNode, { siteId }: FeedSite, count: number): Promise<void> {
  const { store } = node.service.deps
  const one = () =>
    store.revokeCredential(
      { siteId, credentialId: newCredentialId(), reason: undefined },
      { actor: 'operator', atMs: Date.now(), requestId: undefined },
    )
  for (let done = 0; done < count; done += 100) await Promise.all(Array.from({ length: 100 }, one))
}

onEachStore('readers that do not read', (home) => {
  it('are reset when they do not acknowledge what they were sent (B10)', { tags: 'long' }, async ({
    skip,
  }) => {
    skip(home().kind === 'PostgreSQL', 'what is not read has nothing to do with the store')
    const node = await home().open()
    const site = await node.newSite()
    const { feeds, verifiers } = node.service.deps
    const silent = deaf(node.port, path(site.siteId, 'feed'), site.key, promise('deaf'))
    const plain = deaf(node.port, path(site.siteId, 'feed'), site.key)
    const good = await listen(node, site, promise('good'))
    await expect.poll(() => feeds.size).toBe(3)
    const { epoch } = node.service.deps.store
    const acking = setInterval(() => {
      const seq = good.heartbeats.at(-1)?.seq
      // The last call may still run when the node closes.
      if (seq !== undefined) ack(node, site, 'good', { epoch, seq }).catch(() => undefined)
    }, 1000)
    // More than may be sent without a word, and less than a kernel keeps for a connection.
    await append(node, site, 1000)
    await expect.poll(() => feeds.size).toBe(1)
    expect(verifiers.silent).toBe(0)
    expect(await node.service.deps.meters.text()).toMatch(
      /^countersign_feed_streams_ended_total\{reason="silent"\} 2$/m,
    )
    // A reset, and not an end after the backlog: what was not read is not kept.
    for (const { socket } of [silent, plain]) socket.resume()
    await expect
      .poll(() => [silent, plain].map(({ fault }) => fault?.code))
      .toEqual(['ECONNRESET', 'ECONNRESET'])
    clearInterval(acking)
    good.close()
  })

  it('lose their place to others that wait for a snapshot with the same key (B12)', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    await append(node, site, 100)
    const { snapshots } = node.service.deps
    const take = (instanceId?: string) =>
      snapshots.open({
        siteId: site.siteId,
        keyId: site.keyId,
        verifier: {
          verifierId: undefined,
          promise: instanceId === undefined ? undefined : { instanceId, boundMs: 30_000, failsOpen: false },
          isObserver: instanceId === undefined,
        },
      })
    const stuck = await Promise.all(Array.from({ length: 32 }, () => take()))
    const readers = stuck.map(({ pieces }) => pieces('identity')[Symbol.asyncIterator]())
    for (const reader of readers) await reader.next()
    // Nothing is taken from readers that have only just begun.
    await expect(take()).rejects.toMatchObject({ code: 'rate_limited' })
    await sleep(3100)
    // The first goes on reading, so the second has stalled longest.
    await readers[0]?.next()
    const { pieces, signal, release } = await take('one')
    expect(stuck.map((each) => each.signal.aborted)).toEqual(stuck.map((_, i) => i === 1))
    let bytes = 0
    for await (const piece of pieces('identity')) bytes += piece.length
    expect([bytes > 0, signal.aborted]).toEqual([true, false])
    release()
    // An instance that asks again has given up on what it asked for before.
    const [first, second] = [await take('two'), await take('two')]
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false])
    for (const each of [...stuck, second]) each.release()
  })
})
