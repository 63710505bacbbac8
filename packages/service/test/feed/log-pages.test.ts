import {
  auditChain,
  checkHeartbeat,
  type Entry,
  parseEntry,
  parseHeartbeat,
  parseMultikey,
} from '@countersign/core'
import { expect, it } from 'vitest'
import { type FeedNode, type FeedSite, newCredentialId, newPpid, onEachStore } from './feed-node.ts'

const path = (siteId: string, rest: string) => `/api/sites/${siteId}/${rest}`
const revokeUser = async (node: FeedNode, { siteId, key }: FeedSite, reason?: string) =>
  (
    await node.call('POST', '/api/wallet/revoke-user', {
      key,
      body: { ppid: newPpid(), site_id: siteId, ...(reason && { reason }) },
    })
  ).json
const revokeCredential = (node: FeedNode, { siteId, key }: FeedSite) =>
  node.call('POST', '/api/wallet/revoke', {
    key,
    body: { credential_id: newCredentialId(), site_id: siteId },
  })
const list = (node: FeedNode, { siteId, key }: FeedSite, query = '') =>
  node.call('GET', path(siteId, `log?${query}`), { key })
const seqs = ({ json }: { json: { items: { seq: number }[] } }) => json.items.map(({ seq }) => seq)
const down = (from: number, to: number) => Array.from({ length: from - to + 1 }, (_, i) => from - i)

onEachStore('pages of the log', (home) => {
  it('show what the feed shows, newest first, by cursor, and chain to the signed head', async () => {
    const node = await home().node()
    const site = await node.newSite()
    for (let i = 0; i < 6; i++) await revokeUser(node, site)
    const all = (await list(node, site)).json
    expect(all).toMatchObject({ epoch: node.service.deps.store.epoch, base: { seq: 0 }, next_cursor: null })
    expect(seqs({ json: all })).toEqual(down(7, 1))
    const first = await list(node, site, 'limit=3')
    const second = await list(node, site, `limit=3&cursor=${first.json.next_cursor}`)
    const third = await list(node, site, `limit=3&cursor=${second.json.next_cursor}`)
    expect([first, second, third].flatMap(seqs)).toEqual(down(7, 1))
    expect(third.json.next_cursor).toBeNull()

    const entries = all.items.toReversed().map(parseEntry)
    const head = (await node.call('GET', path(site.siteId, 'head?observe=1'), site)).json
    expect(head).toMatchObject({ seq: 7, hash: all.items[0].hash, epoch: all.epoch })
    const { json } = await node.call('GET', '/.well-known/countersign')
    const listed = json.feed.keys.find(({ kid }: { kid: string }) => kid === head.kid)
    const key = parseMultikey(listed.public_key_multibase)
    const beat = parseHeartbeat(head)
    expect(beat && key && (await checkHeartbeat(beat, key))).toMatchObject({ seq: 7 })
    expect(beat && key && (await checkHeartbeat({ ...beat, hash: '0'.repeat(64) }, key))).toBeUndefined()
    expect(entries).not.toContain(undefined)
    expect(await auditChain(entries as Entry[])).toMatchObject({ ok: true, head: { seq: 7 } })
  })

  it('lists a range: oldest first after a position, else newest first', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch } = await revokeUser(node, site)
    for (let i = 0; i < 5; i++) await revokeUser(node, site)
    const at = (seq: number) => `${epoch}.${seq}`
    expect(seqs(await list(node, site, `after=${at(2)}`))).toEqual([3, 4, 5, 6, 7])
    expect(seqs(await list(node, site, `before=${at(4)}`))).toEqual([3, 2, 1])
    expect(seqs(await list(node, site, `after=${at(2)}&before=${at(6)}`))).toEqual([5, 4, 3])
    expect(seqs(await list(node, site, `after=${at(7)}`))).toEqual([])
    expect(seqs(await list(node, site, `before=${at(1)}`))).toEqual([])
    const pages = []
    let query = `after=${at(1)}&limit=2`
    for (;;) {
      const page = await list(node, site, query)
      pages.push(seqs(page))
      if (page.json.next_cursor === null) break
      query = `after=${at(1)}&limit=2&cursor=${page.json.next_cursor}`
    }
    expect(pages).toEqual([
      [2, 3],
      [4, 5],
      [6, 7],
    ])
  })

  it('filters by kind', async () => {
    const node = await home().node()
    const site = await node.newSite()
    await revokeUser(node, site)
    await revokeCredential(node, site)
    await revokeUser(node, site)
    const found = await list(node, site, 'kind=user.revoked&limit=1')
    const rest = await list(node, site, `kind=user.revoked&limit=1&cursor=${found.json.next_cursor}`)
    expect([seqs(found), seqs(rest), rest.json.next_cursor]).toEqual([[4], [2], null])
    expect(seqs(await list(node, site, 'kind=site.cut_off'))).toEqual([])
    expect((await list(node, site, 'kind=user.made')).status).toBe(422)
  })

  it('rejects positions of another log, after its head and malformed ones (A191)', async () => {
    const node = await home().node()
    const site = await node.newSite()
    const { epoch } = await revokeUser(node, site)
    const code = async (query: string) => (await list(node, site, query)).json.code
    expect(await code('after=otherepoch.1')).toBe('cursor_ahead')
    expect(await code('before=otherepoch.1')).toBe('cursor_ahead')
    expect(await code(`after=${epoch}.9`)).toBe('cursor_ahead')
    expect(await code('after=1')).toBe('cursor_malformed')
    expect(await code('cursor=AAAA')).toBe('cursor_malformed')
    const newest = (await list(node, site, 'limit=1')).json.next_cursor
    // A cursor is of one order of one site.
    expect(await code(`after=${epoch}.0&cursor=${newest}`)).toBe('cursor_malformed')
    const other = await node.newSite()
    expect((await list(node, other, `cursor=${newest}`)).json.code).toBe('cursor_malformed')
  })

  it('are for keys of the site that may read, and contain no reasons (A190)', async () => {
    const node = await home().node()
    const [site, other] = [await node.newSite(), await node.newSite()]
    await revokeUser(node, site, 'secret words of the site')
    const get = async (key: string | undefined, siteId: string = site.siteId) => {
      const options = key === undefined ? {} : { key }
      const answers = ['log', 'head'].map((end) => node.call('GET', path(siteId, end), options))
      return (await Promise.all(answers)).map(({ status }) => status)
    }
    const feedOnly = await node.newKey(site.siteId, ['feed:read'])
    const admin = await node.newKey(site.siteId, ['site:admin'])
    const reader = await node.newKey(site.siteId, ['site:read'])
    const revoker = await node.newKey(site.siteId, ['credentials:revoke'])
    const operator = await node.newKey(null, [])
    expect(await get(feedOnly.key)).toEqual([200, 200])
    expect(await get(admin.key)).toEqual([200, 200])
    expect(await get(reader.key)).toEqual([200, 200])
    expect(await get(operator.key)).toEqual([200, 200])
    expect(await get(revoker.key)).toEqual([403, 403])
    expect(await get(undefined)).toEqual([401, 401])
    expect(await get(other.key)).toEqual([404, 404])
    expect(await get(operator.key, 'nowhere.example')).toEqual([404, 404])
    expect((await list(node, { ...site, key: feedOnly.key })).text).not.toContain('secret words')
  })

  it('a head that is given to a reader without a lease delays what receipts state; an observer does not', async () => {
    const node = await home().open()
    const site = await node.newSite()
    const { store } = node.service.deps
    const head = (key: string, query = '') => node.call('GET', path(site.siteId, `head${query}`), { key })
    const reader = await node.newKey(site.siteId, ['site:read'])
    await head(site.key, '?observe=1')
    await head(reader.key)
    expect(await store.headReadersUntil(site.siteId)).toBe(0)
    await head(site.key)
    expect(await store.headReadersUntil(site.siteId)).toBeGreaterThan(Date.now())
    expect((await head(site.key, '?observe=0')).status).toBe(422)
  })
})
