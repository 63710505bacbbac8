import { generatePrivateKey, type SiteView, type SubjectKey } from '@countersign/core'
import { expect, it } from 'vitest'
import { snapshotParts } from '../../../src/feed/snapshot/body.ts'
import { type TextPart, toText } from '../../../src/feed/snapshot/gzip.ts'
import {
  type SharedSnapshot,
  SharedSnapshots,
  type SharedSnapshotsOptions,
} from '../../../src/feed/snapshot/shared-snapshots.ts'
import {
  context,
  type FeedHome,
  type FeedNode,
  type FeedSite,
  newCredentialId,
  onEachStore,
} from '../feed-node.ts'

async function textOf(snapshot: SharedSnapshot): Promise<string> {
  const parts = async function* (): AsyncGenerator<TextPart> {
    yield* snapshotParts(snapshot, () => Promise.reject(new Error('no pages')))
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of toText(parts())) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Snapshots of a site with views whose age a test sets, and what they did. */
async function open(home: FeedHome, options: SharedSnapshotsOptions = {}) {
  const node = await home.node()
  const site = await node.newSite()
  const { store, views: live } = node.service.deps
  const view = live.view(site.siteId) as SiteView
  // It comes after the first entry, and a snapshot without it is built again.
  await expect.poll(() => view.subjectKey).toBeDefined()
  const work: string[] = []
  const age = { ageMs: 0, ageMsMax: 2000, asOfMs: Date.now() }
  let lose = () => {}
  const views = {
    age: () => ({ ...age }),
    follow: (reader: { lost(): void }) => {
      lose = () => reader.lost()
      return () => {}
    },
  }
  const read = {
    epochLinks: store.epochLinks.bind(store),
    async siteRecordsAfter(...args: Parameters<typeof store.siteRecordsAfter>) {
      const found = await store.siteRecordsAfter(...args)
      work.push(`read ${found.length}`)
      return found
    },
  }
  const shared = new SharedSnapshots({ store: read, views, onWork: (each) => void work.push(each) }, options)
  const signer = { kid: 'key', key: await generatePrivateKey('Ed25519') }
  const take = (changes: Partial<Parameters<SharedSnapshots['take']>[0]> = {}) =>
    shared.take({ view, paged: undefined, ageSecondsMax: 60, signer, ...changes })
  /** What was done since the last call. */
  const done = () => work.splice(0)
  return { node, site, view, age, read, shared, take, done, lose: () => lose() }
}

async function revoke(node: FeedNode, { siteId }: FeedSite, count: number): Promise<void> {
  const { store, views } = node.service.deps
  for (let i = 0; i < count; i++)
    await store.revokeCredential({ siteId, credentialId: newCredentialId(), reason: undefined }, context())
  await views.waitFor(await store.logPosition())
}

const asOf = (text: string) => Date.parse(JSON.parse(text.slice(0, text.indexOf('\n'))).as_of)

onEachStore('snapshots that are shared', (home) => {
  it('are built once for readers that come while one is being built, and after that', async () => {
    const { take, done } = await open(home())
    const texts = await Promise.all(Array.from({ length: 20 }, () => textOf(take())))
    texts.push(await textOf(take()))
    expect(new Set(texts).size).toBe(1)
    expect(done()).toEqual(['built', 'read 1', 'signed'])
  })

  it('are signed again when time has passed, and nothing else is done', async () => {
    const { take, done, age } = await open(home())
    const first = await textOf(take())
    done()
    age.asOfMs += 1000
    expect(await textOf(take())).toBe(first)
    expect(done()).toEqual([])
    age.asOfMs += 1
    const next = await textOf(take())
    expect(done()).toEqual(['signed'])
    expect(asOf(next)).toBe(age.asOfMs)
    expect(next.split('\n').slice(1, -2)).toEqual(first.split('\n').slice(1, -2))
  })

  it('are never older than the view of a node may be, and never from the future', async () => {
    const { take, done, age } = await open(home())
    await textOf(take())
    done()
    age.asOfMs += 500
    age.ageMs = 1500
    await textOf(take())
    expect(done()).toEqual([])
    age.ageMs = 1501
    expect(asOf(await textOf(take()))).toBe(age.asOfMs)
    expect(done()).toEqual(['signed'])
    // The clock was set back.
    age.asOfMs -= 100
    expect(asOf(await textOf(take()))).toBe(age.asOfMs)
    expect(done()).toEqual(['signed'])
  })

  it('read only what is new when the log has gone on, and have all of it', async () => {
    const { node, site, take, done } = await open(home())
    await revoke(node, site, 5)
    const [before, old] = [take(), take()]
    await textOf(before)
    expect(done()).toEqual(['built', 'read 6', 'signed'])
    await revoke(node, site, 2)
    const text = await textOf(take())
    expect(done()).toEqual(['built', 'read 2', 'signed'])
    expect(text.match(/"type":"credential"/g)?.length).toBe(7)
    // A reader that came before still gets what it asked for.
    expect((await textOf(old)).match(/"type":"credential"/g)?.length).toBe(5)
    // Two readers at different heads, before any of it is ready.
    await revoke(node, site, 1)
    const one = take()
    await revoke(node, site, 1)
    const other = take()
    const counts = [await textOf(one), await textOf(other)].map(
      (each) => each.match(/"type":"credential"/g)?.length,
    )
    expect(counts).toEqual([8, 9])
    expect(done().sort()).toEqual(['built', 'built', 'read 1', 'read 1', 'signed', 'signed'])
  })

  it('read the whole tail again after many changes, so that it has few parts', { tags: 'long' }, async () => {
    const { node, site, take, done } = await open(home())
    for (let i = 0; i < 66; i++) {
      await revoke(node, site, 1)
      await take().body
    }
    expect(done().filter((each) => each.startsWith('read') && each !== 'read 1')).toEqual([
      'read 2',
      'read 67',
    ])
    expect((await take().body).tail.parts.length).toBe(1)
  })

  it('are built or signed again for another key, maximum age or subject key', async () => {
    const { take, done, view } = await open(home())
    await textOf(take())
    done()
    await textOf(take({ ageSecondsMax: 30 }))
    expect(done()).toEqual(['signed'])
    const signer = { kid: 'next', key: await generatePrivateKey('Ed25519') }
    const text = await textOf(take({ ageSecondsMax: 30, signer }))
    expect(done()).toEqual(['built', 'signed'])
    expect(text).toContain('"kid":"next"')
    const { subjectKey } = view
    view.subjectKey = Buffer.alloc(32, 1) as unknown as SubjectKey
    expect(await textOf(take({ ageSecondsMax: 30, signer }))).not.toBe(text)
    expect(done()).toEqual(['built', 'signed'])
    view.subjectKey = subjectKey
  })

  it('give each part to readers before the next one has been read', async () => {
    const { node, site, take, read } = await open(home())
    await revoke(node, site, 3)
    const { siteRecordsAfter } = read
    const gates: (() => void)[] = []
    // One entry at a time, and only when the test says so.
    read.siteRecordsAfter = async (siteId, seq) => {
      await new Promise<void>((resolve) => gates.push(resolve))
      return siteRecordsAfter(siteId, seq, 1)
    }
    const first = take()
    const reader = snapshotParts(first, () => Promise.reject(new Error('no pages')))
    await reader.next()
    await reader.next()
    for (let part = 0; part < 3; part++) {
      const next = reader.next()
      // The first entry is the site, which has no line.
      for (let i = 0; i < (part === 0 ? 2 : 1); i++) {
        await expect.poll(() => gates.length).toBe(1)
        gates.pop()?.()
      }
      expect((await next).value).toMatchObject({ crc32: expect.any(Number) })
    }
    // A reader that comes later, and one of a later head, get all parts.
    read.siteRecordsAfter = siteRecordsAfter
    expect((await textOf(take())).match(/"type":"credential"/g)?.length).toBe(3)
    await revoke(node, site, 1)
    expect((await textOf(take())).match(/"type":"credential"/g)?.length).toBe(4)
  })

  it('are built again after a fault, and after the log was lost', async () => {
    const { take, done, read, lose } = await open(home())
    const { siteRecordsAfter } = read
    read.siteRecordsAfter = () => Promise.reject(new Error('no store'))
    const readers = [take(), take()]
    for (const reader of readers) await expect(textOf(reader)).rejects.toThrow('no store')
    expect(done()).toEqual(['built'])
    read.siteRecordsAfter = siteRecordsAfter
    await textOf(take())
    expect(done()).toEqual(['built', 'read 1', 'signed'])
    lose()
    await textOf(take())
    expect(done()).toEqual(['built', 'read 1', 'signed'])
  })

  it('are kept up to a number of bytes, those of the sites that were used last', async () => {
    const { node, shared, take, done } = await open(home(), { bytesMax: 10_000 })
    const { views } = node.service.deps
    const others: SiteView[] = []
    for (let i = 0; i < 2; i++) others.push(views.view((await node.newSite()).siteId) as SiteView)
    const [second, third] = others as [SiteView, SiteView]
    await take().body
    await take({ view: second }).body
    await take().body
    expect(shared.bytes).toBeGreaterThan(8000)
    await take({ view: third }).body
    expect(shared.bytes).toBeLessThanOrEqual(10_000)
    await Promise.all([take().end, take({ view: third }).end])
    done()
    await textOf(take())
    expect(done()).toEqual([])
    await textOf(take({ view: second }))
    expect(done()).toEqual(['built', 'read 1', 'signed'])
  })
})
