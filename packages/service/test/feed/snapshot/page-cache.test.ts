import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { deflateText, inflateText } from '../../../src/feed/snapshot/deflated-text.ts'
import { PageCache, PageReplaced } from '../../../src/feed/snapshot/page-cache.ts'
import type { SitePageInfo } from '../../../src/store/checkpoint.ts'
import { RowForged } from '../../../src/store/errors.ts'
import { unfitParts } from '../../store/unfit-parts.ts'

const SITE = 'shop.example' as SiteId

/** Pages of random text, which does not compress, and how often each was read. */
async function createPages(count: number, bytes = 1000) {
  const stored = new Map<number, Uint8Array>()
  const infos: SitePageInfo[] = []
  const reads: number[] = []
  const forged: string[] = []
  for (let toSeq = 1; toSeq <= count; toSeq++) {
    const text = Buffer.from(`${randomBytes(bytes).toString('latin1')}\n`, 'latin1')
    stored.set(toSeq, (await deflateText(text)).deflated)
    const digests = { crc32: crc32(text), sha256: hash('sha256', text) }
    infos.push({
      fromSeq: toSeq,
      toSeq,
      lines: 1,
      revocations: 1,
      bytes: text.length,
      newestAtMs: 0,
      ...digests,
    })
  }
  const parts = {
    store: {
      async sitePageBytes(_: SiteId, { toSeq }: SitePageInfo) {
        reads.push(toSeq)
        return stored.get(toSeq)
      },
    },
    onForged: (table: string) => void forged.push(table),
  }
  return { stored, infos, reads, forged, parts }
}

it('reads a page once for all its readers, and drops the one that was not used for the longest time', async () => {
  const { infos, reads, parts } = await createPages(4)
  const [one, two, three, four] = infos as [SitePageInfo, SitePageInfo, SitePageInfo, SitePageInfo]
  const cache = new PageCache(parts, 3300)
  const readers = await Promise.all(Array.from({ length: 50 }, () => cache.load(SITE, one)))
  expect(new Set(readers).size).toBe(1)
  for (const page of [two, three, one]) await cache.load(SITE, page)
  expect(reads).toEqual([1, 2, 3])
  await cache.load(SITE, four)
  expect(cache.bytes).toBeLessThanOrEqual(3300)
  for (const page of [one, three, four]) await cache.load(SITE, page)
  expect(reads).toEqual([1, 2, 3, 4])
  await cache.load(SITE, two)
  expect(reads).toEqual([1, 2, 3, 4, 2])
  expect((await inflateText(await cache.load(SITE, two))).length).toBe(two.bytes)
})

it('gives a page that is larger than the cache to its readers, and does not keep it', async () => {
  const { infos, reads, parts } = await createPages(1)
  const cache = new PageCache(parts, 10)
  for (let i = 0; i < 2; i++) await cache.load(SITE, infos[0] as SitePageInfo)
  expect([reads, cache.bytes]).toEqual([[1, 1], 0])
})

const spoiledPages: typeof unfitParts = [
  ['other text', async () => (await deflateText(randomBytes(1001))).deflated],
  ['a part of the text', async (page: Uint8Array) => page.subarray(0, page.length / 2)],
  ['a changed byte', async (page: Uint8Array) => page.map((byte, i) => (i === 500 ? byte ^ 1 : byte))],
  ['more text than it states', async () => (await deflateText(randomBytes(100_000))).deflated],
  ['no DEFLATE', async () => randomBytes(1000)],
  ['nothing', async () => new Uint8Array()],
  ...unfitParts,
]

it.each(spoiledPages)(
  'rejects a stored page with %s, each time, and reports it (A182, I-7)',
  async (_, spoil) => {
    const { stored, infos, reads, forged, parts } = await createPages(1)
    const info = infos[0] as SitePageInfo
    const right = stored.get(1) as Uint8Array
    const cache = new PageCache(parts, 10)
    for (let i = 0; i < 2; i++) {
      // Also after the right page has been checked once.
      stored.set(1, await spoil(right))
      await expect(cache.load(SITE, info)).rejects.toThrow(RowForged)
      stored.set(1, right)
      expect((await inflateText(await cache.load(SITE, info))).length).toBe(info.bytes)
    }
    expect([reads.length, forged]).toEqual([4, ['log_pages', 'log_pages']])
  },
)

it('rejects a page whose stated CRC-32 is not that of its text', async () => {
  const { infos, parts } = await createPages(1)
  const info = infos[0] as SitePageInfo
  await expect(new PageCache(parts).load(SITE, { ...info, crc32: 1 })).rejects.toThrow(RowForged)
})

it('says when a page has been replaced, and reads the next one', async () => {
  const { stored, infos, parts } = await createPages(1)
  const info = infos[0] as SitePageInfo
  const page = stored.get(1) as Uint8Array
  stored.clear()
  const cache = new PageCache(parts)
  await expect(cache.load(SITE, info)).rejects.toThrow(PageReplaced)
  stored.set(1, page)
  expect((await cache.load(SITE, info)).deflated).toBe(page)
})
