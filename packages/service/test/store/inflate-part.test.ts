import { constants, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { SiteId } from '@countersign/core'
import { expect, it } from 'vitest'
import { deflatePart, inflatePart, inflatePartSync } from '../../src/store/checkpoints/inflate-part.ts'
import { createSitePage, loadPageText } from '../../src/store/checkpoints/site-page.ts'
import { unfitParts } from './unfit-parts.ts'

const SITE = 'shop.example' as SiteId
const TEXT = '{"type":"user"}\n'.repeat(100)

/** The blocks of the page without the end of the stream, read as zlib reads them. */
const readAll = (stream: Uint8Array) =>
  inflateRawSync(stream, { finishFlush: constants.Z_SYNC_FLUSH }).toString('latin1')

it.each([0, 1, 100, 200_000])('gives back a text of %i bytes', async (bytes) => {
  const text = Buffer.alloc(bytes, 'text ')
  expect(await inflatePart(await deflatePart(text), bytes)).toEqual(text)
  expect(inflatePartSync(await deflatePart(text), bytes)).toEqual(text)
})

it.each(unfitParts)('rejects a stored page with %s (A182)', async (_, spoil) => {
  const page = await createSitePage({ text: TEXT, lines: 100, revocations: 100, newestMs: 0 }, 1, 100)
  const load = (deflated: Uint8Array) =>
    loadPageText({ sitePageBytes: async () => deflated as never }, SITE, page)
  expect(await load(page.deflated)).toBe(TEXT)
  const spoiled = await spoil(page.deflated)
  // Its text alone does not show it.
  expect(readAll(spoiled)).toBe(TEXT)
  await expect(load(spoiled)).rejects.toMatchObject({ name: 'LogCorrupted' })
  expect(inflatePartSync(page.deflated, page.bytes)?.toString()).toBe(TEXT)
  expect(inflatePartSync(spoiled, page.bytes)).toBeUndefined()
  for (const bytes of [page.bytes - 1, page.bytes + 1])
    expect(inflatePartSync(page.deflated, bytes)).toBeUndefined()
})

it('rejects a last code that only one next byte would complete', async () => {
  // One final block with the fixed codes: seven literals of 9 bits, and 6 of the 8 bits of `K`.
  const codes = `110${'111001000'.repeat(7)}011110`
  const part = Uint8Array.from(codes.match(/.{8}/g) ?? [], (bits) =>
    Number.parseInt([...bits].reverse().join(''), 2),
  )
  const text = `${'\xc8'.repeat(7)}K`
  // Control: an empty final block, which begins with the byte 3, completes it.
  expect(inflateRawSync(Buffer.concat([part, Buffer.from([3, 0])])).toString('latin1')).toBe(text)
  expect(await inflatePart(part, text.length)).toBeUndefined()
  expect(inflatePartSync(part, text.length)).toBeUndefined()
})

it('inflates no more than it was told, however much there is', async () => {
  const bomb = deflateRawSync(Buffer.alloc(5_000_000), { finishFlush: constants.Z_SYNC_FLUSH })
  expect(bomb.length).toBeLessThan(10_000)
  expect(await inflatePart(bomb, 1000)).toBeUndefined()
  expect(inflatePartSync(bomb, 1000)).toBeUndefined()
  expect((await inflatePart(bomb, 5_000_000))?.length).toBe(5_000_000)
})
