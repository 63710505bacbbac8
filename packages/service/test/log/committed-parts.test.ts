import { expect, it } from 'vitest'
import { CommittedParts } from '../../src/log/committed-parts.ts'
import type { CommittedPart } from '../../src/store/committed-part.ts'
import type { LoggedEntry } from '../../src/store/operations/log.ts'

/** A part with the entries at these positions. */
function part(first: number, last = first): CommittedPart {
  const entries = Array.from({ length: last - first + 1 }, (_, i) => ({ position: first + i }) as LoggedEntry)
  const before = { wallMs: 0, monotonicMs: 0 }
  return { entries, isEnd: true, end: { position: last, digest: '', keysDeleted: 0 }, before }
}

it('gives the part that continues the log, once', () => {
  const parts = new CommittedParts()
  for (const one of [part(4, 6), part(7)]) parts.add(one)
  expect(parts.takeAfter(2, 9)).toBeUndefined()
  expect(parts.takeAfter(3, 9)).toEqual(part(4, 6))
  expect(parts.takeAfter(3, 9)).toBeUndefined()
  expect(parts.takeAfter(6, 9)).toEqual(part(7))
})

it('gives none that begins before the position: what follows is read from the store', () => {
  const parts = new CommittedParts()
  parts.add(part(4, 6))
  expect(parts.takeAfter(5, 9)).toBeUndefined()
})

it('knows which entries were added, also when they have been taken', () => {
  const parts = new CommittedParts()
  expect(parts.reaches(1)).toBe(false)
  parts.add(part(4, 6))
  expect([parts.reaches(6), parts.reaches(7)]).toEqual([true, false])
  parts.takeAfter(3, 9)
  expect(parts.reaches(6)).toBe(true)
  parts.clear()
  expect(parts.reaches(6)).toBe(false)
})

it('keeps no more than two thousand entries, whatever is committed while the log is not read', () => {
  const parts = new CommittedParts()
  for (let position = 1; position <= 2001; position += 2) parts.add(part(position, position + 1))
  expect(parts.takeAfter(0, 9)).toBeUndefined()
  parts.add(part(2003))
  expect(parts.takeAfter(2002, 9)).toEqual(part(2003))
})

it('gives no part that is longer than the caller can take', () => {
  const parts = new CommittedParts()
  parts.add(part(1, 3))
  expect(parts.takeAfter(0, 2)).toBeUndefined()
  expect(parts.takeAfter(0, 3)).toEqual(part(1, 3))
})
