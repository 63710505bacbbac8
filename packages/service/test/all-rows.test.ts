import { expect, it } from 'vitest'
import { allRows } from '../src/all-rows.ts'

it.each([0, 1, 999, 1000, 1001, 2000])('yields each of %i rows once, in order', async (count) => {
  const rows = Array.from({ length: count }, (_, i) => i + 1)
  const found: number[] = []
  for await (const row of allRows<number>(async (after = 0, limit) => rows.slice(after, after + limit)))
    found.push(row)
  expect(found).toEqual(rows)
})
