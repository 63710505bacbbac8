import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { formatTime, type Ppid, type SiteView } from '@countersign/core'
import { expect, it } from 'vitest'
import { createHeadAges } from '../../../src/feed/head-ages.ts'
import { createSnapshots, type SnapshotsOptions } from '../../../src/feed/snapshot/snapshots.ts'
import type { SitePageInfo } from '../../../src/store/checkpoint.ts'
import { writeCheckpoint } from '../../../src/store/checkpoints/write-checkpoint.ts'
import { newToken, seen } from '../../store/fixtures.ts'
import { context, type FeedNode, type FeedSite, newCredentialId, newPpid, onEachStore } from '../feed-node.ts'
import { readSnapshot } from './read-snapshot.ts'

const path = ({ siteId }: FeedSite) => `/api/sites/${siteId}/snapshot`

/** Writes a checkpoint of everything so far, and waits until the snapshots of the node use it. */
async function checkpoint(node: FeedNode, site: FeedSite): Promise<readonly SitePageInfo[]> {
  const { store, views } = node.service.deps
  await views.waitFor(await store.logPosition())
  await expect
    .poll(() => writeCheckpoint({ store, capture: views.capture.bind(views), atMs: Date.now() }))
    .toBeDefined()
  const { seq } = (await store.checkpointSites({ after: undefined, limit: 1000 })).find(
    ({ siteId }) => siteId === site.siteId,
  ) ?? { seq: 0 }
  const pages = await store.sitePages(site.siteId, seq)
  const announced = async () => (await get(node, site)).pages.map(({ sha256 }) => sha256)
  await expect.poll(announced).toEqual(pages.map(({ sha256 }) => sha256))
  return pages
}

async function get(node: FeedNode, site: FeedSite, headers: Readonly<Record<string, string>> = {}) {
  const answer = await node.call('GET', path(site), { key: site.key, headers })
  if (answer.status !== 200) throw new Error(answer.text)
  return { text: answer.text, ...(await readSnapshot(node, site.siteId, answer.text)) }
}

/** Everything that a page can have, of the same users and others. */
class History {
  readonly users: readonly Ppid[] = [newPpid(), newPpid(), newPpid(), newPpid()]
  readonly holders = ['a', 'b'].map((letter) => letter.repeat(43))
  readonly credentials: ReturnType<typeof newCredentialId>[] = []
  readonly tokens: string[] = []
  readonly #site: FeedSite
  readonly #node: FeedNode

  constructor(node: FeedNode, site: FeedSite) {
    this.#node = node
    this.#site = site
  }

  /** Changes what is revoked, in another way for each round. */
  async add(round: number): Promise<void> {
    const { store, views } = this.#node.service.deps
    const { siteId } = this.#site
    const reason = undefined
    for (const [i, ppid] of this.users.entries()) {
      if ((round + i) % 2 === 0) await store.revokeUser({ siteId, ppid, reason }, context())
      else await store.reinstateUser({ siteId, ppid, reason }, context())
      if ((round + i) % 3 === 0)
        await store.signOutUsers({ siteId, ppids: [ppid], beforeMs: Date.now(), reason }, context())
    }
    for (let i = 0; i < 40 / round; i++) {
      this.credentials.push(newCredentialId())
      const credentialId = this.credentials.at(-1) as ReturnType<typeof newCredentialId>
      await store.revokeCredential({ siteId, credentialId, reason }, context())
    }
    const thumbprint = this.holders[round % 2] as string
    const body = { thumbprint, revoked_at: formatTime(Date.now()) }
    await store.cutOff({ siteId, target: siteId, reason, kind: 'holder.revoked', body }, context())
    const shown = seen(siteId)
    const token = newToken(shown, { expiresAtMs: Date.now() + 900_000 })
    await store.createToken(token, 20, Date.now(), shown)
    await store.revokeToken({ sha256: token.sha256, siteId, reason }, context())
    this.tokens.push(token.sha256)
    await views.waitFor(await store.logPosition())
  }

  answers(view: SiteView, times: readonly number[]): object {
    return {
      users: this.users.map((ppid) => times.map((ms) => view.userRevocation(ppid, ms))),
      holders: this.holders.map((thumbprint) => view.holderRevocation(thumbprint)),
      credentials: this.credentials.map((id) => view.credentialRevocation(id)),
      tokens: this.tokens.map((sha256) => view.tokenRevocation(sha256)),
      others: [view.credentialRevocation(newCredentialId()), view.userRevocation(newPpid(), 0)],
    }
  }
}

async function revokeMany(node: FeedNode, { siteId }: FeedSite, count: number): Promise<void> {
  const { store, views } = node.service.deps
  for (let done = 0; done < count; done += 50) {
    const credentialIds = Array.from({ length: Math.min(50, count - done) }, newCredentialId)
    await store.revokeAll({ siteId, ppids: [], credentialIds, jtis: [], reason: undefined }, context())
  }
  await views.waitFor(await store.logPosition())
}

/** Other snapshots of the same node, with limits of their own. */
function openSnapshots(node: FeedNode, options: SnapshotsOptions) {
  const { store, views, clock, keys, verifiers, meters } = node.service.deps
  const ages = createHeadAges(store, views)
  const snapshots = createSnapshots({ store, views, clock, keys, verifiers, meters, ages }, options)
  const verifier = { verifierId: undefined, promise: undefined, isObserver: true }
  return ({ siteId, keyId }: FeedSite) => snapshots.open({ siteId, keyId, verifier })
}

async function counts(node: FeedNode): Promise<Record<string, number>> {
  const text = await node.service.deps.meters.text()
  const steps = ['opened', 'unchanged', 'built', 'signed', 'page_read']
  return Object.fromEntries(
    steps.map((step) => {
      const found = new RegExp(`^countersign_snapshots_total\\{step="${step}"\\} (\\d+)$`, 'm').exec(text)
      return [step, Number(found?.[1] ?? 0)]
    }),
  )
}

onEachStore('a snapshot with pages', (home) => {
  it('gives the same view with no page, with some and with a tail, as the log does (I-10)', {
    tags: 'long',
  }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    const history = new History(node, site)
    const pagesSeen: number[] = []
    for (let round = 1; round <= 6; round++) {
      await history.add(round)
      const times = [0, Date.now() - 5, Date.now() + 5000]
      const own = history.answers(node.service.deps.views.view(site.siteId) as SiteView, times)
      for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
        const { view, head, pages, types } = await get(node, site, headers)
        expect(history.answers(view, times)).toEqual(own)
        expect(head.seq).toBeGreaterThan(pages.at(-1)?.to_seq ?? 0)
        expect(types).toContain('credential')
      }
      pagesSeen.push((await checkpoint(node, site)).length)
      const { view, head, pages, types } = await get(node, site)
      expect(history.answers(view, times)).toEqual(own)
      expect(pages.at(-1)?.to_seq).toBe(head.seq)
      expect(types).not.toContain('credential')
    }
    // Some checkpoints merged pages, and others added one.
    expect(Math.max(...pagesSeen)).toBeGreaterThan(1)
  })

  it('is built, compressed and signed once for 200 verifiers that come at once', {
    tags: 'long',
  }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 600)
    await checkpoint(node, site)
    await revokeMany(node, site, 50)
    const keys = [site.key]
    for (let i = 1; i < 10; i++) keys.push((await node.newKey(site.siteId)).key)
    // A machine with much else to do must not take more than one second of the service's clock.
    const asOfMs = Date.now()
    const views = node.service.deps.views as { age: () => object }
    views.age = () => ({ ageMs: 0, ageMsMax: 2000, asOfMs })
    const before = await counts(node)
    const reads: string[] = []
    const { store } = node.service.deps
    const { siteRecordsAfter } = store
    store.siteRecordsAfter = (...args) => {
      reads.push('records')
      return siteRecordsAfter.apply(store, args)
    }
    const ask = (i: number) =>
      new Promise<string>((resolve, reject) => {
        const headers = { 'x-api-key': keys[i % 10] as string, 'accept-encoding': 'gzip' }
        const sent = request({ port: node.port, path: path(site), agent: false, headers }, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () =>
            response.statusCode === 200
              ? resolve(gunzipSync(Buffer.concat(chunks)).toString())
              : reject(new Error(`${response.statusCode}`)),
          )
        })
        sent.on('error', reject)
        sent.end()
      })
    const texts = await Promise.all(Array.from({ length: 200 }, (_, i) => ask(i)))
    expect(new Set(texts).size).toBe(1)
    expect((await readSnapshot(node, site.siteId, texts[0] as string)).pages.length).toBeGreaterThan(0)
    const after = await counts(node)
    const done = Object.fromEntries(
      Object.keys(after).map((step) => [step, (after[step] ?? 0) - (before[step] ?? 0)]),
    )
    // The checkpoint was read before, so its pages are known.
    expect(done).toEqual({ opened: 200, unchanged: 0, built: 1, signed: 1, page_read: 0 })
    expect(reads.length).toBe(1)
  })

  it('is that of its head when the log goes on while it is sent', { tags: 'long' }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 600)
    await checkpoint(node, site)
    const { epoch, seq } = (node.service.deps.views.view(site.siteId) as SiteView).head
    const open = openSnapshots(node, {})
    const { tag, pieces, release } = await open(site)
    let text = ''
    let chunks = 0
    for await (const chunk of pieces('identity')) {
      text += Buffer.from(chunk).toString('latin1')
      chunks++
      await revokeMany(node, site, 3)
    }
    release()
    expect(chunks).toBeGreaterThan(1)
    expect(tag).toBe(`${epoch}.${seq}`)
    expect((await readSnapshot(node, site.siteId, text)).head.seq).toBe(seq)
    expect((await get(node, site)).head.seq).toBe(seq + 3 * chunks)
  })

  it.each([
    ['is whole when its pages are in memory', 64 * 1024 * 1024],
    ['is cut when its pages are gone', 0],
  ])(
    'of which another checkpoint merges the pages %s, and never mixed',
    { tags: 'long' },
    async (_, pageBytesMax) => {
      const node = await home().open()
      const site = await node.newSite()
      await revokeMany(node, site, 480)
      await checkpoint(node, site)
      await revokeMany(node, site, 460)
      expect((await checkpoint(node, site)).length).toBe(2)
      const open = openSnapshots(node, { pageBytesMax })
      const read = async (reader: AsyncIterable<Uint8Array>) => {
        let text = ''
        for await (const chunk of reader) text += Buffer.from(chunk).toString('latin1')
        return text
      }
      // Another reader has brought the pages into memory.
      const first = await open(site)
      expect((await readSnapshot(node, site.siteId, await read(first.pieces('identity')))).pages.length).toBe(
        2,
      )
      first.release()
      const slow = await open(site)
      const chunks = slow.pieces('identity')[Symbol.asyncIterator]()
      let text = Buffer.from((await chunks.next()).value ?? []).toString('latin1')
      expect(text).not.toContain('"type":"end"')

      await revokeMany(node, site, 950)
      expect((await checkpoint(node, site)).length).toBe(1)
      await node.service.deps.store.removeReplacedPages(site.siteId)
      const rest = read({ [Symbol.asyncIterator]: () => chunks })
      if (pageBytesMax === 0) {
        await expect(rest).rejects.toThrow(/has been replaced/)
        expect(text).not.toContain('"type":"end"')
      } else {
        text += await rest
        expect((await readSnapshot(node, site.siteId, text)).pages.length).toBe(2)
      }
      slow.release()
      // A checkpoint is used for a second before the store is asked for another one.
      await expect
        .poll(async () => {
          const next = await open(site)
          const { pages, head } = await readSnapshot(node, site.siteId, await read(next.pieces('identity')))
          next.release()
          return [pages.length, pages.at(-1)?.to_seq === head.seq]
        })
        .toEqual([1, true])
    },
  )

  it('has every revocation that was acknowledged before it was asked for', { tags: 'long' }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 50)
    await checkpoint(node, site)
    const others: Promise<unknown>[] = []
    for (let i = 0; i < 25; i++) {
      const ppid = newPpid()
      const body = { site_id: site.siteId, ppid }
      await node.call('POST', '/api/wallet/revoke-user', { key: site.key, body })
      // Readers that ask at the same time share it.
      others.push(get(node, site))
      const { view } = await get(node, site)
      expect(view.userRevocation(ppid, Date.now())).toBeDefined()
    }
    await Promise.all(others)
  })

  it('is the same text with and without gzip', { tags: 'long' }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 300)
    await checkpoint(node, site)
    await revokeMany(node, site, 20)
    const inner = ({ text }: { readonly text: string }) => text.split('\n').slice(1, -2)
    const [plain, gzip] = [await get(node, site), await get(node, site, { 'accept-encoding': 'gzip' })]
    expect(inner(gzip)).toEqual(inner(plain))
    expect(inner(plain).length).toBeGreaterThan(20)
  })

  it('is never sent whole with a page that is not the one the service wrote (A182, I-7)', {
    tags: 'long',
  }, async () => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 600)
    await checkpoint(node, site)
    const open = openSnapshots(node, { pageBytesMax: 0 })
    const { store, meters } = node.service.deps
    const { sitePageBytes } = store
    const read = async (encoding: 'gzip' | 'identity') => {
      const { pieces, release } = await open(site)
      const chunks: Uint8Array[] = []
      try {
        for await (const chunk of pieces(encoding)) chunks.push(chunk)
      } finally {
        release()
      }
      return Buffer.concat(chunks)
    }
    for (const encoding of ['gzip', 'identity'] as const) {
      store.sitePageBytes = async (...args) => {
        const found = await sitePageBytes.apply(store, args)
        return found?.map((byte, i) => (i === 1000 ? byte ^ 1 : byte))
      }
      await expect(read(encoding)).rejects.toThrow(/log_pages/)
      store.sitePageBytes = sitePageBytes
      const whole = await read(encoding)
      const text = (encoding === 'gzip' ? gunzipSync(whole) : whole).toString()
      expect((await readSnapshot(node, site.siteId, text)).pages.length).toBe(1)
    }
    expect(await meters.text()).toMatch(/^countersign_store_rows_forged_total\{table="log_pages"\} 2$/m)
  })

  it.each([
    ['a page is missing', (pages: readonly SitePageInfo[]) => pages.slice(1)],
    [
      'a page has other lines',
      (pages: readonly SitePageInfo[]) => pages.map((page) => ({ ...page, lines: page.lines + 1 })),
    ],
    ['nothing is wrong (control)', undefined],
  ])('is not begun when %s in the store (A182, I-7)', async (_, spoil) => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 100)
    await checkpoint(node, site)
    const { store } = node.service.deps
    const { sitePages } = store
    if (spoil !== undefined) store.sitePages = async (...args) => spoil(await sitePages.apply(store, args))
    const opening = openSnapshots(node, {})(site)
    if (spoil === undefined) (await opening).release()
    else await expect(opening).rejects.toThrow(/log_pages/)
    store.sitePages = sitePages
  })

  it('is not begun when a site of the checkpoint has been changed in the store (A182, I-7)', async () => {
    const node = await home().open()
    const site = await node.newSite()
    await revokeMany(node, site, 100)
    await checkpoint(node, site)
    const { store } = node.service.deps
    const { checkpointSites } = store
    store.checkpointSites = async (...args) =>
      (await checkpointSites.apply(store, args)).map((row) => ({ ...row, seq: row.seq - 1 }))
    await expect(openSnapshots(node, {})(site)).rejects.toThrow(/checkpoint/)
    store.checkpointSites = checkpointSites
    ;(await openSnapshots(node, {})(site)).release()
  })
})
