import { expect, it, onTestFinished } from 'vitest'
import { RecentSummaries } from '../../src/access/recent-summaries.ts'
import { type FeedNode, type FeedSite, newPpid, onEachStore } from './feed-node.ts'
import { follow } from './sse-client.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const path = (siteId: string, rest: string) => `/api/sites/${siteId}/${rest}`
const report = (node: FeedNode, { siteId, key }: FeedSite, tallies: object[], name?: string) =>
  node.call('POST', path(siteId, 'feed/report'), {
    key,
    body: { tallies },
    headers: name === undefined ? {} : { 'x-verifier-id': name },
  })
/** A summary of now: not one that is shared with earlier requests. */
const read = async (node: FeedNode, { siteId, key }: FeedSite, query = '') => {
  Object.assign(node.service.deps, { summaries: new RecentSummaries(() => performance.now()) })
  return (await node.call('GET', path(siteId, `summary?${query}`), { key })).json
}
const tally = (presented: string, outcome: string, count: number) => ({ presented, outcome, count })

onEachStore('the summary of a site', (home) => {
  it('adds the reports of guards, by name and window', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const empty = await read(node, site)
    expect(empty).toMatchObject({
      window: '24h',
      verdicts: { total: 0, allowed: 0, denied: 0, by: [] },
      series: [],
      verifiers: [],
      bearer: { mode: 'on', share: null, observed_since: null, safe_to_switch_off: false },
    })
    const done = await report(
      node,
      site,
      [
        tally('credential', 'allowed', 30),
        tally('bearer', 'allowed', 10),
        tally('none', 'credential_missing', 5),
      ],
      'web',
    )
    expect(done.status).toBe(204)
    await report(node, site, [tally('credential', 'allowed', 10)], 'web')
    await report(node, site, [tally('jwt', 'scope_insufficient', 2), tally('jwt', 'some_new_code', 1)], 'api')
    await report(node, site, [tally('bearer', 'allowed', 1)])
    for (const window of ['1h', '24h', '30d']) {
      const found = await read(node, site, `window=${window}`)
      expect(found.verdicts).toEqual({
        total: 59,
        allowed: 51,
        denied: 8,
        by: [
          tally('credential', 'allowed', 40),
          tally('bearer', 'allowed', 11),
          tally('none', 'credential_missing', 5),
          tally('jwt', 'scope_insufficient', 2),
          tally('jwt', 'other', 1),
        ],
      })
      expect(found.verifiers).toMatchObject([
        { source: 'guards', verifier_id: 'web', total: 55, bearer: 10 },
        { source: 'guards', verifier_id: 'api', total: 3, bearer: 0 },
        { source: 'guards', verifier_id: null, total: 1, bearer: 1 },
      ])
      const sums = found.series.map(({ at: _, ...counts }: Record<string, unknown>) => counts)
      // The test may run over the end of a minute, hour or day.
      if (sums.length === 1)
        expect(sums).toEqual([{ credential: 40, bearer: 11, jwt: 3, none: 5, denied: 8 }])
      expect(found.bearer).toMatchObject({ accepted: 11, verifiers: ['web'], safe_to_switch_off: false })
      expect(found.bearer.share).toBeCloseTo(11 / 51)
    }
  })

  it('counts the decisions of the service itself, exchanges, and what is open', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId, key } = site
    const issued = await node.call('POST', '/api/wallet/credentials', {
      key,
      body: { site_id: siteId, user_ref: 'alice', scope: ['orders:read'] },
    })
    const credential = issued.json.credential ?? issued.json
    const exchanged = await node.call('POST', '/api/auth/exchange-proof', { body: { credential } })
    expect(exchanged.status).toBe(200)
    const headers = { authorization: `Bearer ${exchanged.json.access_token}` }
    for (let i = 0; i < 2; i++)
      expect((await node.call('GET', '/api/auth/verify', { key, headers })).status).toBe(200)
    const wrong = { 'x-service-credential': 'AAAA' }
    await node.call('GET', '/api/auth/verify', { key, headers: wrong })
    await node.call('POST', '/api/wallet/offers', {
      key,
      body: { site_id: siteId, user_ref: 'bob', scope: ['orders:read'] },
    })
    await node.call('POST', '/api/wallet/revoke-user', { key, body: { ppid: newPpid(), site_id: siteId } })
    const found = await read(node, site, 'window=1h')
    expect(found.verdicts.by).toEqual(
      expect.arrayContaining([
        tally('bearer', 'allowed', 2),
        tally('credential', 'allowed', 1),
        tally('credential', 'credential_malformed', 1),
      ]),
    )
    expect(found.verifiers).toMatchObject([{ source: 'service', verifier_id: null, total: 4, bearer: 2 }])
    expect(found.bearer).toMatchObject({
      live_tokens: { count: 1, or_more: false },
      users_with_live_tokens: { count: 1 },
      last_accepted_at: expect.any(String),
      last_exchange_at: expect.any(String),
      safe_to_switch_off: false,
    })
    expect(found.counts).toMatchObject({ revoked_users: { count: 1 }, open_offers: { count: 1 } })
  })

  it('counts a revoked credential as revoked at once', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId, key } = site
    const issue = async (user_ref: string) => {
      const body = { site_id: siteId, user_ref, scope: ['orders:read'] }
      const { json } = await node.call('POST', '/api/wallet/credentials', { key, body })
      return json.credential_id
    }
    await issue('bob')
    const credential_id = await issue('alice')
    expect((await read(node, site)).counts.active_credentials.count).toBe(2)
    const body = { credential_id, site_id: siteId }
    expect((await node.call('POST', '/api/wallet/revoke', { key, body })).status).toBe(200)
    expect((await read(node, site)).counts.active_credentials.count).toBe(1)
  })

  it('calls it safe to switch bearer tokens off only when nothing used one for 14 days, and that is known', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId } = site
    const { store } = node.service.deps
    const at = (ageMs: number, presented: string, outcome = 'allowed') =>
      store.addTallies([
        { siteId, atMs: Date.now() - ageMs, verifierId: 'web', presented, outcome, count: 1 },
      ])
    const isSafe = async () => (await read(node, site)).bearer.safe_to_switch_off
    await at(13 * DAY, 'credential')
    expect(await isSafe()).toBe(false)
    await at(20 * DAY, 'bearer')
    await at(16 * DAY, 'exchange', 'issued')
    expect(await isSafe()).toBe(true)
    // Presentations that were rejected do not matter: anyone can make them.
    await at(DAY, 'bearer', 'token_invalid')
    expect(await isSafe()).toBe(true)
    // A reader that does not say what it decides.
    const stream = await follow(node.port, siteId, { key: site.key, headers: { 'x-verifier-id': 'old' } })
    await expect.poll(isSafe).toBe(false)
    expect((await read(node, site)).bearer.verifiers_not_reporting).toEqual(['old'])
    stream.close()
    await expect.poll(isSafe).toBe(true)
    const own = {
      'x-verifier-instance': 'one',
      'x-verifier-max-staleness': '30',
      'x-verifier-version': 'sdk/0.1.0',
    }
    const guard = await follow(node.port, siteId, { key: site.key, headers: own })
    expect(await isSafe()).toBe(true)
    guard.close()
    await at(13 * DAY, 'exchange', 'issued')
    expect(await isSafe()).toBe(false)
  })

  it('is for keys of the site that may read; reports are for verifiers', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    const get = async (key: string) => (await node.call('GET', path(site.siteId, 'summary'), { key })).status
    const post = async (key: string) =>
      (await report(node, { ...site, key }, [tally('bearer', 'allowed', 1)])).status
    const [reader, feed] = [
      await node.newKey(site.siteId, ['site:read']),
      await node.newKey(site.siteId, ['feed:read']),
    ]
    expect([await get(reader.key), await post(reader.key)]).toEqual([200, 403])
    expect([await get(feed.key), await post(feed.key)]).toEqual([403, 204])
    expect([await get(other.key), await post(other.key)]).toEqual([404, 404])
    const operator = await node.newKey(null, [])
    const nowhere = { siteId: 'nowhere.example', key: operator.key } as unknown as FeedSite
    expect((await report(node, nowhere, [tally('bearer', 'allowed', 1)])).status).toBe(404)
    expect((await report(node, site, [tally('bearer', 'allowed', -1)])).status).toBe(422)
  })

  it('is computed once for all requests of five seconds', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { deps } = node.service
    const { tallies } = deps
    onTestFinished(() => void Object.assign(deps, { tallies }))
    let [nowMs, computed] = [0, 0]
    const flush = async () => {
      computed++
      await deps.store.logPosition()
    }
    Object.assign(deps, {
      summaries: new RecentSummaries(() => nowMs),
      tallies: { ...tallies, flush },
    })
    const ask = async (query = '') =>
      (await node.call('GET', path(site.siteId, `summary?${query}`), { key: site.key })).status
    expect(await Promise.all([ask(), ask(), ask(), ask()])).toEqual([200, 200, 200, 200])
    nowMs += 4999
    expect([await ask(), computed]).toEqual([200, 1])
    expect([await ask('window=1h'), computed]).toEqual([200, 2])
    nowMs += 1
    expect([await ask(), computed]).toEqual([200, 3])
  })

  it('adds the parts that it reads: none twice, none left out', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { siteId } = site
    const hour = Math.floor(Date.now() / HOUR) * HOUR
    const row = { siteId, verifierId: 'web', presented: 'bearer', outcome: 'allowed', count: 1 }
    const ages = Array.from({ length: 29 * 24 }, (_, i) => i * HOUR)
    await node.service.deps.store.addTallies(ages.map((age) => ({ ...row, atMs: hour - age })))
    const found = await read(node, site, 'window=30d')
    expect([found.verdicts.total, found.bearer.accepted]).toEqual([29 * 24, 29 * 24])
    expect(found.verifiers).toMatchObject([{ verifier_id: 'web', total: 29 * 24 }])
    const days = found.series.map(({ at }: { at: string }) => at)
    expect(days).toEqual([...new Set(days)].sort())
    expect(Date.parse(found.bearer.last_accepted_at)).toBe(hour)
  })

  it('reports of an instance that reports too often are 429', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const once = async () => await report(node, site, [tally('bearer', 'allowed', 1)], 'web')
    // The ten seconds may end between two of them.
    const answers = [await once(), await once(), await once(), await once(), await once()]
    const rejected = answers.filter(({ status }) => status === 429)
    expect(rejected.length).toBeGreaterThan(0)
    expect(rejected[0]?.json.code).toBe('rate_limited')
    expect(rejected[0]?.headers['retry-after']).toBe('10')
    expect((await read(node, site)).verdicts.total).toBe(5 - rejected.length)
  })

  it('keeps minutes for a day and hours for 30 days', async () => {
    const node = await home().node()
    const { siteId } = await node.newSite()
    const { store } = node.service.deps
    const now = Math.floor(Date.now() / HOUR) * HOUR
    const row = { siteId, verifierId: 'web', presented: 'jwt', outcome: 'allowed', count: 3 }
    for (const age of [0, 25 * HOUR, 31 * DAY]) await store.addTallies([{ ...row, atMs: now - age }])
    await store.purgeExpired(now + 1)
    const sum = async (spanMs: 60_000 | 3_600_000) =>
      (await store.tallySums(siteId, { spanMs, fromMs: 0, toMs: now + HOUR })).map(({ count }) => count)
    expect([await sum(60_000), await sum(3_600_000)]).toEqual([[3], [6]])
  })
})
