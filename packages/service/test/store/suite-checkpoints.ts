import { createHash } from 'node:crypto'
import { GENESIS_HASH, type SiteId } from '@countersign/core'
import { describe, expect, it } from 'vitest'
import type { Checkpoint, CheckpointSite, SitePage } from '../../src/store/checkpoint.ts'
import { digestPages, digestSite, digestSites } from '../../src/store/checkpoint-digests.ts'
import { EMPTY_DIGEST } from '../../src/store/log-digest.ts'
import { NOW, newSite } from './fixtures.ts'
import type { TheStore } from './the-store.ts'

/** All byte values, so that a store which treats them as text is found. */
const BYTES = Uint8Array.from({ length: 1024 }, (_, i) => i % 256)

function newPage(fromSeq: number, toSeq: number, salt = 0): SitePage {
  const deflated = Uint8Array.from(BYTES, (byte) => (byte + salt) % 256)
  const sha256 = createHash('sha256').update(deflated).digest('hex')
  const revocations = toSeq - fromSeq + 1
  return {
    fromSeq,
    toSeq,
    lines: 1,
    revocations,
    bytes: 5,
    crc32: 2 ** 32 - 1,
    sha256,
    newestAtMs: NOW,
    deflated,
  }
}

function newRow(siteId: SiteId, pages: readonly SitePage[]): CheckpointSite {
  const seq = pages.at(-1)?.toSeq ?? 0
  const pagesSha256 = digestPages(pages)
  return {
    siteId,
    seq,
    hash: GENESIS_HASH,
    baseSeq: 0,
    baseHash: GENESIS_HASH,
    state: '{"lines":[]}',
    pages: pages.length,
    pagesSha256,
  }
}

export function checkpointSuite(store: TheStore): void {
  /** All rows, also those that other tests have written. */
  const rows = new Map<string, CheckpointSite>()
  let position = 0
  const newCheckpoint = (sites: readonly CheckpointSite[]): Checkpoint => {
    for (const site of sites) rows.set(site.siteId, site)
    const digests = new Map([...rows.values()].map((site) => [site.siteId, digestSite(site)]))
    return {
      epoch: store().epoch,
      position: ++position,
      digest: EMPTY_DIGEST,
      basePosition: 0,
      baseDigest: EMPTY_DIGEST,
      sites: rows.size,
      sitesSha256: digestSites(digests),
      atMs: NOW,
    }
  }
  const bytesOf = async (siteId: SiteId, page: SitePage) => {
    const found = await store().sitePageBytes(siteId, page)
    return found && Buffer.from(found).toString('hex')
  }
  const hex = ({ deflated }: SitePage) => Buffer.from(deflated).toString('hex')
  const infos = (pages: readonly SitePage[]) => pages.map(({ deflated: _, ...info }) => info)

  describe('checkpoints', () => {
    it('keep pages byte for byte, and say where they are', async () => {
      const { siteId } = newSite()
      const current = await store().checkpoint()
      const pages = [newPage(1, 10), newPage(11, 12, 1)]
      for (const page of pages) expect(await store().putSitePage(current, siteId, page)).toBe(true)
      const site = newRow(siteId, pages)
      const next = newCheckpoint([site])
      expect(await store().replaceCheckpoint(current, next, { sites: [site] })).toBe(true)
      expect(await store().checkpoint()).toEqual(next)
      expect(await store().checkpointSites({ after: undefined, limit: 10 })).toContainEqual(site)
      expect(await store().sitePages(siteId, 12)).toEqual(infos(pages))
      for (const page of pages) expect(await bytesOf(siteId, page)).toBe(hex(page))
      expect(await bytesOf(siteId, newPage(1, 10, 9))).toBeUndefined()
      expect(await store().sitePages(siteId, 11)).toEqual([])
    })

    it('are replaced by one writer only', async () => {
      const { siteId } = newSite()
      const current = await store().checkpoint()
      const page = newPage(1, 3)
      await store().putSitePage(current, siteId, page)
      const site = newRow(siteId, [page])
      const before = [...rows]
      const tries = [0, 1, 2].map(() => newCheckpoint([site]))
      const done = await Promise.all(
        tries.map((next) => store().replaceCheckpoint(current, next, { sites: [site] })),
      )
      expect(done.filter(Boolean)).toHaveLength(1)
      expect(before).not.toContain(site)
      expect(await store().checkpoint()).toEqual(tries[done.indexOf(true)])
      expect(await store().putSitePage(current, siteId, newPage(4, 5))).toBe(false)
      await expect(store().putSitePage(await store().checkpoint(), siteId, page)).rejects.toThrow(TypeError)
    })

    it('do not name pages that another writer has replaced', async () => {
      const { siteId } = newSite()
      const current = await store().checkpoint()
      const [own, other] = [newPage(1, 3), newPage(1, 3, 1)]
      await store().putSitePage(current, siteId, own)
      await store().putSitePage(current, siteId, other)
      const saved = [...rows]
      const site = newRow(siteId, [own])
      expect(await store().replaceCheckpoint(current, newCheckpoint([site]), { sites: [site] })).toBe(false)
      rows.clear()
      for (const [id, row] of saved) rows.set(id, row)
      expect(await store().checkpoint()).toEqual(current)
      const right = newRow(siteId, [other])
      expect(await store().replaceCheckpoint(current, newCheckpoint([right]), { sites: [right] })).toBe(true)
    })

    it('replace pages with their checkpoint, and remove what was merged later', async () => {
      const { siteId } = newSite()
      const pages = [newPage(1, 10), newPage(11, 12, 1)]
      let current = await store().checkpoint()
      for (const page of pages) await store().putSitePage(current, siteId, page)
      const first = newRow(siteId, pages)
      let next = newCheckpoint([first])
      expect(await store().replaceCheckpoint(current, next, { sites: [first] })).toBe(true)
      current = next
      const merged = newPage(1, 12, 2)
      const second = newRow(siteId, [merged])
      next = newCheckpoint([second])
      const change = { sites: [second], pages: [{ siteId, page: merged }] }
      expect(await store().replaceCheckpoint(current, next, change)).toBe(true)
      expect(await store().sitePages(siteId, 12)).toEqual(infos([merged]))
      // Readers that have begun with the former pages can finish.
      expect(await bytesOf(siteId, newPage(1, 10))).toBe(hex(newPage(1, 10)))
      const later = newPage(13, 20)
      expect(await store().putSitePage(next, siteId, later)).toBe(true)
      await store().removeReplacedPages(siteId)
      expect(await bytesOf(siteId, newPage(1, 10))).toBeUndefined()
      expect(await bytesOf(siteId, merged)).toBe(hex(merged))
      expect(await bytesOf(siteId, later)).toBe(hex(later))
    })
  })
}
