import { randomBytes } from 'node:crypto'
import { limits } from '@countersign/core/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCursor, loadPage, parseCursor } from '../../../src/routes/shared/paging.ts'
import { createSealer } from '../../../src/sealing/sealer.ts'

const keys = createSealer(randomBytes(32))

describe('cursors', () => {
  it('name a row again, whatever it is called, and fit the grammar', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), (name) => {
        const cursor = createCursor(keys, 'list', name)
        expect(cursor).toMatch(new RegExp(`^[A-Za-z0-9_-]{1,${limits.cursor_chars_max}}$`))
        expect(parseCursor(keys, 'list', cursor)).toBe(name)
      }),
    )
  })

  it('are good for their own list only, and under their own master key', () => {
    const cursor = createCursor(keys, 'issuers a.example', 'x')
    expect(parseCursor(keys, 'issuers b.example', cursor)).toBeUndefined()
    expect(parseCursor(createSealer(randomBytes(32)), 'issuers a.example', cursor)).toBeUndefined()
  })

  it('cannot be made up or changed', () => {
    const cursor = createCursor(keys, 'list', 'row_1')
    for (let i = 0; i < cursor.length; i++) {
      const other = cursor[i] === 'A' ? 'B' : 'A'
      expect(parseCursor(keys, 'list', cursor.slice(0, i) + other + cursor.slice(i + 1))).toBeUndefined()
    }
    for (const text of [
      '',
      'A',
      'AAAA',
      cursor.slice(1),
      `${cursor}A`,
      `${cursor}==`,
      Buffer.from('row_1').toString('base64url'),
    ]) {
      expect(parseCursor(keys, 'list', text)).toBeUndefined()
    }
  })

  it('take names as long as fit, and no longer', () => {
    const longest = 'x'.repeat(368)
    expect(createCursor(keys, 'list', longest).length).toBe(limits.cursor_chars_max)
    expect(() => createCursor(keys, 'list', `${longest}x`)).toThrow()
  })
})

describe('loadPage', () => {
  const names = Array.from({ length: 7 }, (_, i) => `row_${i}`)
  const read = async ({ after, limit }: { after: string | undefined; limit: number }) =>
    names.filter((name) => after === undefined || name > after).slice(0, limit)
  const ask = (limit: number, cursor?: string) =>
    loadPage(
      keys,
      { list: 'list', limit, cursor },
      read,
      (name) => name,
      (name) => name,
    )

  it.each([1, 2, 3, 6, 7, 8, 200])('goes through all rows once, %i at a time', async (limit) => {
    const seen: string[] = []
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await ask(limit, cursor)
      expect(page.items.length).toBeLessThanOrEqual(limit)
      expect(page.items.length).toBeGreaterThan(0)
      seen.push(...page.items)
      cursor = page.next_cursor
    }
    expect(seen).toEqual(names)
  })

  it('looks at so many rows for a page, however few of them fit, and says where to go on', async () => {
    const many = Array.from({ length: 4321 }, (_, i) => `row_${String(i).padStart(4, '0')}`)
    for (const [limit, fits] of [
      [50, (name: string) => name.endsWith('77')],
      [50, () => false],
      [1, (name: string) => name === 'row_4320'],
      [3, (name: string) => Number(name.slice(4)) < 7],
    ] as const) {
      const seen: string[] = []
      const asked: number[] = []
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page: Awaited<ReturnType<typeof ask>> = await loadPage(
          keys,
          { list: 'list', limit, cursor },
          async (page) => {
            asked.push(page.limit)
            return many.filter((name) => page.after === undefined || name > page.after).slice(0, page.limit)
          },
          (name) => name,
          (name) => name,
          fits,
        )
        expect(page.items.length).toBeLessThanOrEqual(limit)
        seen.push(...page.items)
        cursor = page.next_cursor
      }
      expect(seen).toEqual(many.filter(fits))
      expect(Math.max(...asked)).toBe(1000)
    }
  })

  it('refuses a cursor that is not of this list', async () => {
    await expect(ask(2, createCursor(keys, 'other', 'row_1'))).rejects.toMatchObject({
      code: 'cursor_malformed',
    })
    await expect(ask(2, 'AAAA')).rejects.toMatchObject({ code: 'cursor_malformed' })
  })
})
