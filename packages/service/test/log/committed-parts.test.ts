import { expect, it } from 'vitest'
import { CommittedParts } from '../../src/log/committed-parts.ts'
import type { CommittedPart } from '../../src/store/committed-part.ts'
import type { LoggedEntry } from '../../src/store/operations/log.ts'

/** A part with the entries at these positions. */
function part(first: number, last = first): CommittedPart {
  const entries = Array.from({ length: last - first + 1 }, (_, i) => ({ position: first + i }) as LoggedEntry)
  return { entries, isEnd: true, end: { position: last, digest: '', keysDeleted: 0 }, beforeMs: 0 }
}

it('gives the part that continues the log, once', () => {
  const parts = new CommittedParts()
  for (const one of [part(4, 6), part(7)]) parts.add(one)
  expect(parts.takeAfter(2)).toBeUndefined()
  expect(parts.takeAfter(3)).toEqual(part(4, 6))
  expect(parts.takeAfter(3)).toBeUndefined()
  expect(parts.takeAfter(6)).toEqual(part(7))
})

it('gives none that begins before the position: what follows is read from the store', () => {
  const parts = new CommittedParts()
  parts.add(part(4, 6))
  expect(parts.takeAfter(5)).toBeUndefined()
})

it('knows which entries were added, also when they have been taken', () => {
  const parts = new CommittedParts()
  expect(parts.has(1)).toBe(false)
  parts.add(part(4, 6))
  expect([parts.has(6), parts.has(7)]).toEqual([true, false])
  parts.takeAfter(3)
  expect(parts.has(6)).toBe(true)
  parts.clear()
  expect(parts.has(6)).toBe(false)
})

it('keeps no more than a thousand parts, whatever is committed while the log is not read', () => {
  const parts = new CommittedParts()
  for (let position = 1; position <= 1001; position++) parts.add(part(position))
  expect(parts.takeAfter(0)).toBeUndefined()
  parts.add(part(1002))
  expect(parts.takeAfter(1001)).toEqual(part(1002))
})
