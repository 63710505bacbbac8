import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../src/store/errors.ts'
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
const listen = (
  node: FeedNode,
  { siteId, key }: Pick<FeedSite, 'siteId' | 'key'>,
  name?: string,
  after?: string,
) =>
  follow(node.port, siteId, {
    key,
    headers: {
      ...(name === undefined ? {} : { 'x-verifier-id': name }),
      ...(after === undefined ? {} : { 'last-event-id': after }),
    },
  })
const ack = (
  node: FeedNode,
  { siteId, key }: Pick<FeedSite, 'siteId' | 'key'>,
  place: { epoch: string; seq: number },
  name?: string,
) =>
  node.call('POST', path(siteId, 'feed/ack'), {
    key,
    body: { epoch: place.epoch, seq: place.seq },
    headers: name === undefined ? {} : { 'x-verifier-id': name },
  })
const revoke = (node: FeedNode, { siteId, key }: FeedSite, wait?: number) =>
  node.call('POST', '/api/wallet/revoke-user', {
    key,
    body: { ppid: newPpid(), site_id: siteId },
    headers: wait === undefined ? {} : { prefer: `wait=${wait}` },
  })
const receipt = (node: FeedNode, { siteId, key }: FeedSite, seq: number) =>
  node.call('GET', path(siteId, `propagation?seq=${seq}`), { key })
const codeOf = ({ status, json }: Told) => json?.code ?? status
/** Acknowledges whatever comes, as an SDK does. */
const acknowledging = (node: FeedNode, site: FeedSite, stream: SseClient, name?: string) => {
  let done = 0
  const timer = setInterval(() => {
    const last = stream.entries.at(-1)
    if (last === undefined || last.seq <= done) return
    done = last.seq
    // The last call may still run when the node closes.
    ack(node, site, last, name).catch(() => undefined)
  }, 5)
  return () => clearInterval(timer)
}
const stopping = new Set<() => void>()
const stopAll = () => {
  for (const stop of stopping) stop()
  stopping.clear()
}

onEachStore('receipts', (home) => {
  it('hold a revocation until every connected verifier has applied it', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const names = ['one', 'two', undefined]
    const streams = await Promise.all(names.map((name) => listen(node, site, name)))
    for (const [i, stream] of streams.entries()) stopping.add(acknowledging(node, site, stream, names[i]))
    const told = await revoke(node, site, 10)
    expect(told.headers['preference-applied']).toBe('wait=10')
    expect(told.json.propagation).toMatchObject({ connected: 3, acknowledged: 3, laggards: [] })
    const later = await receipt(node, site, told.json.seq)
    // In any order: at first this node knew of streams that were not in the store yet.
    const byName = (one: { verifier_id: string }, other: { verifier_id: string }) =>
      one.verifier_id < other.verifier_id ? -1 : 1
    for (const each of [later.json, told.json.propagation]) each.verifiers.sort(byName)
    expect(later.json).toEqual({ epoch: told.json.epoch, seq: told.json.seq, ...told.json.propagation })
    stopAll()
    for (const stream of streams) stream.close()
  })

  it('covers all entries of a user_ref, and cut-offs', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId, key } = site
    const stream = await listen(node, site, 'one')
    stopping.add(acknowledging(node, site, stream, 'one'))
    const headers = { prefer: 'wait=30' }
    const body = { user_ref: 'alice', site_id: siteId }
    for (const call of ['revoke-user', 'sign-out-user']) {
      const { json } = await node.call('POST', `/api/wallet/${call}`, { key, headers, body })
      expect(json.entries).toHaveLength(2)
      expect(json.seq).toBe(json.entries[1].seq)
      expect(json.propagation).toMatchObject({ connected: 1, acknowledged: 1, laggards: [] })
      expect(stream.entries.at(-1)?.seq).toBe(json.seq)
    }
    const order = { key, headers, body: { confirm: siteId } }
    const cut = await node.call('POST', path(siteId, 'cut-off'), order)
    expect(cut.json.propagation).toMatchObject({ connected: 1, acknowledged: 1, laggards: [] })
    const later = await receipt(node, site, cut.json.seq)
    expect(later.json).toMatchObject({ seq: cut.json.seq, acknowledged: 1 })
    stopAll()
    stream.close()
  })

  it('say who lags behind when the time is up', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const [keen, lazy] = [await listen(node, site, 'keen'), await listen(node, site, 'lazy')]
    stopping.add(acknowledging(node, site, keen, 'keen'))
    const startedMs = performance.now()
    const told = await revoke(node, site, 1)
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(1000)
    expect(told.json.propagation).toMatchObject({
      connected: 2,
      acknowledged: 1,
      laggards: [{ verifier_id: 'lazy', seq: 0 }],
    })
    expect(told.json.propagation.elapsed_ms).toBeGreaterThanOrEqual(1000)
    stopAll()
    for (const stream of [keen, lazy]) stream.close()
  })

  it('do not wait without a verifier, nor for one that leaves, nor when the wait cannot be applied', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const alone = await revoke(node, site, 20)
    expect(alone.json.propagation).toMatchObject({
      connected: 0,
      acknowledged: 0,
      elapsed_ms: 0,
      laggards: [],
    })
    const leaving = await listen(node, site, 'leaving')
    const pending = revoke(node, site, 20)
    await leaving.until(({ event }) => event === 'user.revoked')
    leaving.close()
    expect((await pending).json.propagation).toMatchObject({ connected: 0, acknowledged: 0 })
    const lazy = await listen(node, site)
    for (const prefer of ['wait=31', 'wait=x', 'respond-async']) {
      const told = await node.call('POST', '/api/wallet/revoke-user', {
        key: site.key,
        body: { ppid: newPpid(), site_id: site.siteId },
        headers: { prefer },
      })
      expect([told.status, told.json.propagation, told.headers['preference-applied']]).toEqual([
        200,
        undefined,
        undefined,
      ])
    }
    lazy.close()
  })

  it('come with every kind of revocation', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId, key } = site
    const stream = await listen(node, site, 'one')
    stopping.add(acknowledging(node, site, stream, 'one'))
    const wait = { prefer: 'wait=10' }
    const all = { connected: 1, acknowledged: 1, laggards: [] }
    const body = { credential_id: newCredentialId(), site_id: siteId }
    const one = await node.call('POST', '/api/wallet/revoke', { key, body, headers: wait })
    expect(one.json.propagation).toMatchObject(all)
    const again = await node.call('POST', '/api/wallet/revoke', { key, body, headers: wait })
    expect(again.json).toMatchObject({ already_revoked: true, seq: one.json.seq, propagation: all })

    const issuer = 'did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK'
    const issuers = path(siteId, 'issuers')
    expect((await node.call('POST', issuers, { key, body: { issuer } })).status).toBe(201)
    const keyId = issuer.slice('did:key:'.length)
    const byKey = await node.call('PATCH', `${issuers}/${issuer}/keys/${keyId}`, {
      key,
      body: { status: 'compromised' },
      headers: wait,
    })
    expect(byKey.json).toMatchObject({ issuer, propagation: all })
    const byIssuer = await node.call('PATCH', `${issuers}/${issuer}`, {
      key,
      body: { status: 'distrusted' },
      headers: wait,
    })
    expect([byIssuer.json.propagation, byIssuer.headers['preference-applied']]).toMatchObject([
      all,
      'wait=10',
    ])
    // Verifiers need not hear of a label, so there is nothing to wait for.
    const label = await node.call('PATCH', `${issuers}/${issuer}`, {
      key,
      body: { label: 'a label' },
      headers: wait,
    })
    expect([label.status, label.json.propagation]).toEqual([200, undefined])

    const unknown = await node.call('POST', '/api/auth/revoke', { key, body: { token: 'x' }, headers: wait })
    expect(unknown.json).toEqual({ success: true, revoked: false })
    stopAll()
    stream.close()
  })

  it('are not kept back because it is not known how far it got: the revocation stands', async () => {
    const node = await home().open()
    const site = await node.newSite()
    Object.assign(node.service.deps.verifiers, {
      receipt: () => Promise.reject(new StoreUnavailable('down')),
    })
    const told = await revoke(node, site, 5)
    expect([told.status, told.json.propagation, told.headers['preference-applied']]).toEqual([
      200,
      undefined,
      undefined,
    ])
  })

  it('are for keys that read the feed or revoke, and for entries that exist', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const { json } = await revoke(node, site)
    const keys = await Promise.all(
      (['feed:read', 'credentials:revoke', 'tokens:revoke'] as const).map((permission) =>
        node.newKey(site.siteId, [permission]),
      ),
    )
    const codes = await Promise.all(
      [...keys, other].map(async ({ key }) =>
        codeOf(await node.call('GET', path(site.siteId, `propagation?seq=${json.seq}`), { key })),
      ),
    )
    expect(codes).toEqual([200, 200, 'api_key_forbidden', 'not_found'])
    expect(codeOf(await receipt(node, site, json.seq + 1))).toBe('not_found')
    expect(codeOf(await receipt(node, site, json.seq + 1000))).toBe('not_found')
    expect(codeOf(await receipt(node, site, 0))).toBe('validation_failed')
  })
})

onEachStore('an acknowledgement', (home) => {
  it('of another epoch or of what is still to come is refused', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch, seq } = (await revoke(node, site)).json
    const stream = await listen(node, site, 'one')
    expect(codeOf(await ack(node, site, { epoch, seq: seq + 1 }, 'one'))).toBe('cursor_ahead')
    expect(codeOf(await ack(node, site, { epoch: 'otherepoch', seq }, 'one'))).toBe('cursor_ahead')
    expect(codeOf(await ack(node, site, { epoch, seq }, 'one'))).toBe(204)
    expect(codeOf(await ack(node, site, { epoch, seq: 1.5 }, 'one'))).toBe('validation_failed')
    expect(codeOf(await ack(node, site, { epoch, seq }, 'a b'))).toBe('validation_failed')
    stream.close()
  })

  it('never moves a verifier back, and makes none', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch, seq } = (await revoke(node, site)).json
    const stream = await listen(node, site, 'one')
    const seqs = async () =>
      (await node.service.deps.verifiers.readers(site.siteId)).streams.map((verifier) => [
        verifier.verifierId,
        verifier.seq,
      ])
    for (const [name, place] of [
      ['one', seq],
      ['one', seq - 1],
      ['unknown', seq],
    ] as const)
      await ack(node, site, { epoch, seq: place }, name)
    await expect.poll(seqs).toEqual([['one', seq]])
    stream.close()
    await expect.poll(seqs).toEqual([])
  })

  it('counts for its own key and site only (I-15)', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const { epoch, seq } = (await revoke(node, site)).json
    await revoke(node, other)
    const second = { siteId: site.siteId, ...(await node.newKey(site.siteId, ['feed:read'])) }
    const stream = await listen(node, site, 'one')
    expect(codeOf(await ack(node, second, { epoch, seq }, 'one'))).toBe(204)
    expect(codeOf(await ack(node, other, { epoch, seq }, 'one'))).toBe(204)
    expect(codeOf(await ack(node, { siteId: site.siteId, key: other.key }, { epoch, seq }, 'one'))).toBe(
      'not_found',
    )
    expect((await receipt(node, site, seq)).json).toMatchObject({ connected: 1, acknowledged: 0 })
    expect((await receipt(node, other, seq)).json).toMatchObject({ connected: 0 })
    await ack(node, site, { epoch, seq }, 'one')
    await expect.poll(async () => (await receipt(node, site, seq)).json.acknowledged).toBe(1)
    stream.close()
  })

  it('without a name is for the only one without a name', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch, seq } = (await revoke(node, site)).json
    const streams = [await listen(node, site), await listen(node, site, 'named')]
    const acknowledged = async () => (await receipt(node, site, seq)).json.acknowledged
    await ack(node, site, { epoch, seq })
    await expect.poll(acknowledged).toBe(1)
    const next = (await revoke(node, site)).json.seq
    streams.push(await listen(node, site))
    await ack(node, site, { epoch, seq: next })
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect((await receipt(node, site, next)).json.acknowledged).toBe(0)
    // Each was told its name.
    for (const stream of streams)
      await ack(node, site, { epoch, seq: next }, stream.headers['x-verifier-id'] as string)
    await expect.poll(async () => (await receipt(node, site, next)).json.acknowledged).toBe(3)
    for (const stream of streams) stream.close()
  })
})

onEachStore('the list of verifiers', (home) => {
  it('shows who is connected, how far each has got, and none of another site', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const { epoch, seq } = (await revoke(node, site)).json
    const streams = [
      await listen(node, site, 'b', `${epoch}.${seq - 1}`),
      await listen(node, site, 'a'),
      await listen(node, other, 'c'),
    ]
    await ack(node, site, { epoch, seq }, 'b')
    const list = async (query = '') =>
      (await node.call('GET', path(site.siteId, `verifiers${query}`), { key: site.key })).json
    await expect
      .poll(async () => (await list()).items.map(({ lag }: { lag: number }) => lag))
      .toEqual([seq, 0])
    const { items, next_cursor } = await list()
    expect(items).toMatchObject([
      { verifier_id: 'a', seq: 0, lag: seq, acknowledged_at: null },
      { verifier_id: 'b', seq, lag: 0 },
    ])
    expect(Date.parse(items[1].acknowledged_at)).toBeLessThanOrEqual(Date.now())
    expect(next_cursor).toBeNull()
    const first = await list('?limit=1')
    expect(first.items.map(({ verifier_id }: { verifier_id: string }) => verifier_id)).toEqual(['a'])
    const second = await list(`?limit=1&cursor=${first.next_cursor}`)
    expect([second.items[0].verifier_id, second.next_cursor]).toEqual(['b', null])
    const blind = await node.newKey(site.siteId, ['feed:read'])
    expect(codeOf(await node.call('GET', path(site.siteId, 'verifiers'), { key: blind.key }))).toBe(
      'api_key_forbidden',
    )
    for (const stream of streams) stream.close()
    await expect.poll(async () => (await list()).items).toEqual([])
  })

  it('is counted for Prometheus, with why streams ended', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const stream = await listen(node, site, 'one')
    await revoke(node, site)
    const text = await node.service.deps.meters.text()
    expect(text).toMatch(/^countersign_feed_streams 1$/m)
    expect(text).toMatch(/^countersign_feed_lag_entries 2$/m)
    stream.close()
    await expect
      .poll(() => node.service.deps.meters.text())
      .toMatch(/^countersign_feed_streams_ended_total\{reason="gone"\} 1$/m)
  })
})

onEachStore('a node that shuts down', (home) => {
  it('answers a request at once that waits for an acknowledgement', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const stream = await listen(node, site, 'lazy')
    const pending = revoke(node, site, 30)
    await stream.until(({ event }) => event === 'user.revoked')
    await node.close()
    const told = await pending
    expect(told.json.propagation.acknowledged).toBe(0)
  })
})
