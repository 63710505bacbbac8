import { checkDrillReport, checkReceipt, parseDrillReport, parseReceipt } from '@countersign/core'
import { expect, it } from 'vitest'
import { type FeedNode, type FeedSite, newPpid, onEachStore, type Told } from './feed-node.ts'
import { follow, type SseClient } from './sse-client.ts'

const path = (siteId: string, rest: string) => `/api/sites/${siteId}/${rest}`
const promise = (instance: string) => ({
  'x-verifier-id': 'web',
  'x-verifier-instance': instance,
  'x-verifier-max-staleness': '30',
})
const listen = (node: FeedNode, { siteId, key }: FeedSite, instance: string) =>
  follow(node.port, siteId, { key, headers: promise(instance) })
const ack = (
  node: FeedNode,
  { siteId, key }: FeedSite,
  { epoch, seq }: { readonly epoch: string; readonly seq: number },
  instance: string,
  more: object = {},
  headers: Readonly<Record<string, string>> = {},
) =>
  node.call('POST', path(siteId, 'feed/ack'), {
    key,
    body: { epoch, seq, ...more },
    headers: { 'x-verifier-instance': instance, ...headers },
  })
const revoke = (node: FeedNode, { siteId, key }: FeedSite) =>
  node.call('POST', '/api/wallet/revoke-user', { key, body: { ppid: newPpid(), site_id: siteId } })
const get = (node: FeedNode, { siteId, key }: FeedSite, rest: string) =>
  node.call('GET', path(siteId, rest), { key })
const codeOf = ({ status, json }: Told) => json?.code ?? status

/** The receipt of an entry, once it fits. */
async function until(node: FeedNode, site: FeedSite, seq: number, fits: (receipt: Told['json']) => boolean) {
  let last: Told | undefined
  await expect
    .poll(
      async () => {
        last = await get(node, site, `receipts/${seq}`)
        return last.status === 200 && fits(last.json)
      },
      { interval: 50 },
    )
    .toBe(true)
  return (last as Told).json
}
const isSigned = async (node: FeedNode, json: unknown) => {
  const receipt = parseReceipt(json)
  const key = receipt && node.service.deps.keys.findFeedKey(receipt.kid)
  return receipt !== undefined && key !== undefined && (await checkReceipt(receipt, key))
}
const hasLeft = ({ verifiers }: Told['json']) => verifiers[0]?.state === 'not_connected'
const closeAll = (streams: readonly SseClient[]) => {
  for (const stream of streams) stream.close()
}

onEachStore('stored receipts', (home) => {
  it('are complete and signed when every verifier has acknowledged, and name no user', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams = [await listen(node, site, 'one'), await listen(node, site, 'two')]
    const { json: done } = await revoke(node, site)
    for (const instance of ['one', 'two']) await ack(node, site, done, instance)
    const receipt = await until(node, site, done.seq, ({ state }) => state === 'complete')
    expect(receipt).toMatchObject({
      site_id: site.siteId,
      epoch: done.epoch,
      seq: done.seq,
      kind: 'user.revoked',
      final: true,
      drill_id: null,
      expected: 2,
      acknowledged: 2,
      gone: 0,
      elapsed_ms: expect.any(Number),
    })
    const verifier = { verifier_id: 'web', state: 'acknowledged', after_ms: expect.any(Number) }
    expect(receipt.verifiers).toHaveLength(2)
    for (const each of receipt.verifiers) expect(each).toMatchObject(verifier)
    const [entry] = await node.service.deps.store.siteEntriesAfter(site.siteId, done.seq - 1, 1)
    expect(receipt.entry_hash).toBe(entry?.hash)
    expect(JSON.stringify(receipt)).not.toContain('ppid_')
    expect(await isSigned(node, receipt)).toBe(true)
    expect(await isSigned(node, { ...receipt, elapsed_ms: receipt.elapsed_ms + 1 })).toBe(false)
    closeAll(streams)
  })

  it('wait for a verifier that is late, and are updated when it catches up or closes', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams = [await listen(node, site, 'keen'), await listen(node, site, 'lazy')]
    const { json: done } = await revoke(node, site)
    await ack(node, site, done, 'keen')
    const waiting = await until(node, site, done.seq, ({ acknowledged }) => acknowledged === 1)
    expect(waiting).toMatchObject({ state: 'waiting', final: false, expected: 2, elapsed_ms: null })
    expect(waiting.verifiers).toMatchObject([
      { instance_id: 'lazy', state: 'waiting', after_ms: null, rejects_from: expect.any(String) },
      { instance_id: 'keen', state: 'acknowledged' },
    ])
    await ack(node, site, done, 'lazy')
    const complete = await until(node, site, done.seq, ({ state }) => state === 'complete')
    expect(complete).toMatchObject({ final: true, expected: 2, acknowledged: 2 })
    const [first, second] = complete.verifiers
    expect([first.instance_id, complete.elapsed_ms]).toEqual(['lazy', first.after_ms])
    expect(second).toEqual(waiting.verifiers[1])

    const { json: next } = await revoke(node, site)
    await ack(node, site, next, 'keen')
    await until(node, site, next.seq, ({ state }) => state === 'waiting')
    await ack(node, site, done, 'lazy', { closed: true })
    streams[1]?.close()
    const closed = await until(node, site, next.seq, ({ state }) => state === 'complete')
    expect(closed).toMatchObject({ expected: 2, acknowledged: 1, gone: 1 })
    expect(closed.verifiers).toMatchObject([
      { instance_id: 'lazy', state: 'gone' },
      { state: 'acknowledged' },
    ])
    expect(await isSigned(node, closed)).toBe(true)
    closeAll(streams)
  })

  it('state what verifiers report about their own speed, and the statistics use it', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams = [await listen(node, site, 'one'), await listen(node, site, 'two')]
    const { json: done } = await revoke(node, site)
    const times = (applied: string, denied: string) => ({
      'x-verifier-applied': applied,
      'x-verifier-denied': denied,
    })
    await new Promise((resolve) => setTimeout(resolve, 120))
    await ack(node, site, done, 'one', {}, times(`${done.seq - 1}=5000, ${done.seq}=90`, `${done.seq}=40`))
    await ack(node, site, done, 'two')
    const receipt = await until(node, site, done.seq, ({ state }) => state === 'complete')
    // Acknowledgements are in the store by then.
    const live = (await get(node, site, `propagation?seq=${done.seq}`)).json.verifiers
    const [one, two] = ['one', 'two'].map((id) =>
      receipt.verifiers.find(({ instance_id }: { instance_id: string }) => instance_id === id),
    )
    expect(one.after_ms - one.applied_ms).toBeGreaterThanOrEqual(89)
    expect(one.after_ms - one.applied_ms).toBeLessThanOrEqual(92)
    expect(one.first_denied_ms - one.applied_ms).toBeGreaterThanOrEqual(49)
    expect(two).toMatchObject({ applied_ms: null, first_denied_ms: null, after_ms: expect.any(Number) })
    expect(live.find(({ instance_id }: { instance_id: string }) => instance_id === 'one')).toMatchObject({
      applied_ms: one.applied_ms,
      first_denied_ms: one.first_denied_ms,
    })
    expect(await isSigned(node, receipt)).toBe(true)
    const stats = (await get(node, site, 'propagation/stats?window=1h')).json
    expect(stats).toMatchObject({ samples: 2, reported: 1, measure: 'mixed' })
    expect(stats.verifiers).toMatchObject([{ verifier_id: 'web', samples: 2, reported: 1, measure: 'mixed' }])
    closeAll(streams)
  })

  it.each([
    ['no numbers', 'yes'],
    ['a later entry', '9000000000000000=1'],
    ['a negative time', '1=-5'],
    ['years', '1=99999999999'],
    ['the wrong order', '2=1, 1=1'],
    ['one entry twice', '1=1, 1=2'],
    ['more than 16', Array.from({ length: 17 }, (_, i) => `${i + 1}=1`).join(', ')],
    ['a very long text', '1=1'.padEnd(3000, ' ')],
  ])('ignore a report with %s, and the acknowledgement counts all the same', async (_what, text) => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, 'one')
    const { json: done } = await revoke(node, site)
    const headers = { 'x-verifier-applied': text, 'x-verifier-denied': text, 'x-verifier-later': '1' }
    expect((await ack(node, site, done, 'one', {}, headers)).status).toBe(204)
    const receipt = await until(node, site, done.seq, ({ state }) => state === 'complete')
    expect(receipt.verifiers).toMatchObject([{ applied_ms: null, first_denied_ms: null }])
    stream.close()
  })

  it('stay open for a verifier that reports times and acknowledges nothing new', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stream = await listen(node, site, 'one')
    const { json: done } = await revoke(node, site)
    const before = { epoch: done.epoch, seq: done.seq - 1 }
    const text = `${done.seq - 1}=0`
    const headers = { 'x-verifier-applied': text, 'x-verifier-denied': text }
    for (let i = 0; i < 20; i++) await ack(node, site, before, 'one', {}, headers)
    const receipt = await until(node, site, done.seq, ({ state }) => state === 'waiting')
    expect(receipt).toMatchObject({ expected: 1, acknowledged: 0, elapsed_ms: null })
    expect(receipt.verifiers).toMatchObject([{ state: 'waiting', applied_ms: null, first_denied_ms: null }])
    stream.close()
  })

  it('name a reader without a lease that left before they were written: it may still accept', {
    tags: 'long',
  }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    const leave = async () => {
      const stream = await follow(node.port, site.siteId, {
        key: site.key,
        headers: { 'x-verifier-id': 'relay' },
      })
      await stream.until(({ event }) => event === 'heartbeat')
      const { json } = await revoke(node, site)
      stream.close()
      return json
    }
    const done = await leave()
    const receipt = await until(node, site, done.seq, hasLeft)
    expect(receipt).toMatchObject({ state: 'waiting', expected: 1, acknowledged: 0, gone: 0 })
    expect(receipt.verifiers).toMatchObject([
      {
        verifier_id: 'relay',
        instance_id: null,
        state: 'not_connected',
        rejects_from: receipt.denied_at_latest,
      },
    ])
    expect((await get(node, site, `propagation?seq=${done.seq}`)).json).toMatchObject({
      connected: 0,
      verifiers: [{ verifier_id: 'relay', state: 'not_connected' }],
    })
    // One that left before an entry cannot be behind because of it.
    const { json: next } = await revoke(node, site)
    expect(await until(node, site, next.seq, () => true)).toMatchObject({ state: 'complete', expected: 0 })
    // Other nodes of a shared store write receipts, too.
    if (home().kind === 'PostgreSQL') return
    // Control: without the record of readers that left, the receipt is complete too early.
    node.service.deps.store.departedReaders = async () => []
    const missed = await leave()
    expect(await until(node, site, missed.seq, () => true)).toMatchObject({ state: 'complete', expected: 0 })
  })

  it('name a reader that left another node', { tags: 'long' }, async () => {
    if (home().kind === 'SQLite') return
    const [here, there] = [await home().open(), await home().open()]
    const site = await here.newSite()
    const headers = { 'x-verifier-id': 'relay' }
    const stream = await follow(there.port, site.siteId, { key: site.key, headers })
    await stream.until(({ event }) => event === 'heartbeat')
    const { json: done } = await revoke(here, site)
    stream.close()
    const receipt = await until(here, site, done.seq, hasLeft)
    expect(receipt.verifiers).toMatchObject([{ verifier_id: 'relay', state: 'not_connected' }])
  })

  it('are counted in statistics by verifier, each acknowledgement once', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const stats = async (window: string) => (await get(node, site, `propagation/stats?window=${window}`)).json
    expect(await stats('1h')).toMatchObject({
      samples: 0,
      p50_ms: null,
      max_ms: null,
      buckets: [],
      verifiers: [],
    })
    const streams = [await listen(node, site, 'one'), await listen(node, site, 'late')]
    const { json: done } = await revoke(node, site)
    await ack(node, site, done, 'one')
    await until(node, site, done.seq, ({ acknowledged }) => acknowledged === 1)
    expect(await stats('1h')).toMatchObject({ samples: 1, verifiers: [{ verifier_id: 'web', samples: 1 }] })
    await ack(node, site, done, 'late')
    const { elapsed_ms } = await until(node, site, done.seq, ({ state }) => state === 'complete')
    for (const window of ['1h', '24h', '30d']) {
      const found = await stats(window)
      expect(found).toMatchObject({ window, samples: 2, max_ms: elapsed_ms, p99_ms: elapsed_ms })
      expect(found.buckets.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(2)
      expect(found.p50_ms).toBeLessThanOrEqual(elapsed_ms)
    }
    expect(codeOf(await get(node, site, 'propagation/stats?window=2h'))).toBe('validation_failed')
    closeAll(streams)
  })

  it('are listed newest first, by state, without verifiers; a reinstatement has none', {
    tags: 'long',
  }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId, key } = site
    const user = newPpid()
    const body = { ppid: user, site_id: siteId }
    await node.call('POST', '/api/wallet/revoke-user', { key, body })
    const { json: reinstated } = await node.call('POST', '/api/wallet/reinstate-user', { key, body })
    await until(node, site, 2, () => true)
    const streams = [await listen(node, site, 'lazy')]
    const { json: last } = await revoke(node, site)
    await until(node, site, last.seq, () => true)
    const seqs = async (query: string) =>
      (await get(node, site, `receipts${query}`)).json.items.map(({ seq }: { seq: number }) => seq)
    // The first entry states the settings of the site.
    expect(await seqs('')).toEqual([4, 2, 1])
    expect(reinstated.seq).toBe(3)
    expect(await seqs('?state=waiting')).toEqual([4])
    expect(await seqs('?state=complete')).toEqual([2, 1])
    const first = await get(node, site, 'receipts?limit=2')
    expect(first.json.items[0]).not.toHaveProperty('verifiers')
    expect(await seqs(`?limit=2&cursor=${first.json.next_cursor}`)).toEqual([1])
    expect(codeOf(await get(node, site, `receipts?state=complete&cursor=${first.json.next_cursor}`))).toBe(
      'cursor_malformed',
    )
    expect(codeOf(await get(node, site, 'receipts?state=lost'))).toBe('validation_failed')
    closeAll(streams)
  })

  it('are not found for other entries and other sites, and need a permission', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const { json: done } = await revoke(node, site)
    await until(node, site, done.seq, () => true)
    for (const seq of ['0', '99', '-1', 'x', '1e1'])
      expect(codeOf(await get(node, site, `receipts/${seq}`))).toBe('not_found')
    for (const rest of [
      'receipts',
      `receipts/${done.seq}`,
      'propagation/stats',
      'drills',
      'drills/drill_1',
    ]) {
      const answer = await node.call('GET', path(site.siteId, rest), { key: other.key })
      expect(codeOf(answer)).toBe('not_found')
      expect(codeOf(await node.call('GET', path(site.siteId, rest)))).toBe('api_key_missing')
      const { key } = await node.newKey(site.siteId, ['feed:read'])
      expect(codeOf(await node.call('GET', path(site.siteId, rest), { key }))).toBe('api_key_forbidden')
    }
  })
})

onEachStore('drills', (home) => {
  const start = (node: FeedNode, { siteId, key }: FeedSite, body: object = {}) =>
    node.call('POST', path(siteId, 'drills'), { key, body })
  const ended = async (node: FeedNode, site: FeedSite, id: string) => {
    let last: Told | undefined
    const isRunning = async () => {
      last = await get(node, site, `drills/${id}`)
      return last.json.state === 'running'
    }
    await expect.poll(isRunning, { interval: 100 }).toBe(false)
    return (last as Told).json
  }

  it('revoke an id that no credential has, and report who applied the entry', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams = [await listen(node, site, 'one')]
    const { status, json: drill } = await start(node, site, { reason: 'weekly' })
    expect([status, drill.state, drill.report]).toEqual([202, 'running', null])
    expect(drill.credential_id).toMatch(/^cred_drill_[0-9a-f]{32}$/)
    const entry = await streams[0]?.until(({ event }) => event === 'credential.revoked')
    expect(JSON.parse(entry?.data ?? '').body.credential_id).toBe(drill.credential_id)
    // While it runs, there is no other.
    expect((await start(node, site)).json.drill_id).toBe(drill.drill_id)
    await ack(node, site, drill, 'one')
    const done = await ended(node, site, drill.drill_id)
    expect(done).toMatchObject({ state: 'complete', seq: drill.seq, ended_at: expect.any(String) })
    expect(done.report.receipt).toMatchObject({ drill_id: drill.drill_id, expected: 1, acknowledged: 1 })
    const report = parseDrillReport(done.report)
    const key = report && node.service.deps.keys.findFeedKey(report.kid)
    if (report === undefined || key === undefined) throw new Error('the report cannot be read')
    expect(await checkDrillReport(report, key)).toBe(true)
    expect(await isSigned(node, done.report.receipt)).toBe(true)
    expect((await get(node, site, 'drills')).json.items).toMatchObject([
      { drill_id: drill.drill_id, state: 'complete', expected: 1, acknowledged: 1 },
    ])
    const again = await start(node, site)
    expect(again.json.drill_id).not.toBe(drill.drill_id)
    const audit = await get(node, site, 'audit')
    const rows = audit.json.items.filter(({ action }: { action: string }) => action === 'drill.start')
    expect(rows).toMatchObject([
      { target: again.json.drill_id },
      { target: drill.drill_id, reason: 'weekly' },
    ])
    closeAll(streams)
  })

  it('end after 30 seconds and name the verifier that is late', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const streams = [await listen(node, site, 'lazy')]
    const { json: drill } = await start(node, site)
    await until(node, site, drill.seq, ({ state }) => state === 'waiting')
    node.passTime(30_000)
    const done = await ended(node, site, drill.drill_id)
    expect(done).toMatchObject({ state: 'incomplete', report: { outcome: 'incomplete' } })
    expect(done.report.receipt).toMatchObject({ state: 'waiting', expected: 1, acknowledged: 0 })
    expect(done.report.receipt.verifiers).toMatchObject([{ instance_id: 'lazy', after_ms: null }])
    expect(Date.parse(done.ended_at) - Date.parse(done.started_at)).toBeGreaterThanOrEqual(30_000)
    closeAll(streams)
  })

  it('are incomplete if a reader without a lease left before it acknowledged', { tags: 'long' }, async () => {
    const node = await home().node()
    const site = await node.newSite()
    const headers = { 'x-verifier-id': 'reader' }
    const reader = await follow(node.port, site.siteId, { key: site.key, headers })
    const streams = [await listen(node, site, 'one')]
    const { json: drill } = await start(node, site)
    const { json: done } = await revoke(node, site)
    await ack(node, site, done, 'one')
    await until(node, site, done.seq, ({ acknowledged }) => acknowledged === 1)
    reader.close()
    for (const { seq } of [drill, done]) {
      const receipt = await until(node, site, seq, hasLeft)
      expect(receipt).toMatchObject({
        state: 'waiting',
        final: false,
        expected: 2,
        acknowledged: 1,
        gone: 0,
      })
      expect(await isSigned(node, receipt)).toBe(true)
    }
    node.passTime(30_000)
    const last = await ended(node, site, drill.drill_id)
    expect(last).toMatchObject({ state: 'incomplete', report: { outcome: 'incomplete' } })
    expect(last.report.receipt).toMatchObject({ state: 'waiting', acknowledged: 1, gone: 0 })
    closeAll(streams)
  })

  it('need a permission, a site of the caller, and a valid body', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    expect(codeOf(await start(node, { ...site, key: other.key }))).toBe('not_found')
    const reader = await node.newKey(site.siteId, ['feed:read', 'credentials:issue'])
    expect(codeOf(await start(node, { ...site, key: reader.key }))).toBe('api_key_forbidden')
    expect(codeOf(await start(node, site, { credential_id: 'cred_12345678' }))).toBe('validation_failed')
    expect(codeOf(await get(node, site, 'drills/drill_unknown'))).toBe('not_found')
    const revoker = await node.newKey(site.siteId, ['credentials:revoke'])
    expect((await start(node, { ...site, key: revoker.key })).status).toBe(202)
  })
})
