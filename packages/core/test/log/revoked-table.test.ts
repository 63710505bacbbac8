import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ABSENT, createTableSeed, RevokedTable } from '../../src/log/revoked-table.ts'
import { credential, NOW, SEED } from './log-sample.ts'

const PREFIX = 'cred_'.length

describe('RevokedTable', () => {
  test('gives an id another hash with every new seed', () => {
    const hashes = Array.from({ length: 8 }, () => {
      const table = new RevokedTable(createTableSeed(), PREFIX)
      table.set(credential(1), 1)
      let hash = ''
      table.forEach((low, high) => {
        hash = `${low} ${high}`
      })
      return hash
    })
    expect(new Set(hashes).size).toBe(8)
  })

  test('gives what was set last, and says when nothing was', () => {
    const table = new RevokedTable(SEED, PREFIX)
    expect(table.get(credential(1))).toBe(ABSENT)
    table.set(credential(1), 5)
    expect(table.get(credential(1))).toBe(5)
    table.set(credential(1), 3)
    expect(table.get(credential(1))).toBe(3)
    expect(table.get(credential(2))).toBe(ABSENT)
    expect(table.size).toBe(1)
  })

  test('keeps the lower of two numbers when asked to', () => {
    const table = new RevokedTable(SEED, PREFIX)
    for (const [value, kept] of [
      [5, 5],
      [7, 5],
      [5, 5],
      [0, 0],
      [3, 0],
    ] as const) {
      table.setMin(credential(1), value)
      expect(table.get(credential(1))).toBe(kept)
    }
    expect(table.size).toBe(1)
    expect(() => table.setMin(credential(1), Number.NaN)).toThrow(TypeError)
  })

  test.each([0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, NOW, NOW * 2 + 1, 2 ** 52 - 1])(
    'holds %d exactly',
    (value) => {
      const table = new RevokedTable(SEED, PREFIX)
      table.set(credential(1), value)
      expect(table.get(credential(1))).toBe(value)
    },
  )

  test.each([-1, 0.5, 2 ** 52, Number.NaN, Infinity])('throws rather than hold %d', (value) => {
    expect(() => new RevokedTable(SEED, PREFIX).set(credential(1), value)).toThrow(TypeError)
  })

  test('agrees with a Map whatever is set in whatever order', () => {
    const word = fc.integer({ min: 0, max: 2 ** 32 - 1 })
    const sets = fc.array(fc.tuple(fc.nat(300), fc.nat(2 ** 31 - 1)), { maxLength: 600, size: 'max' })
    fc.assert(
      fc.property(word, word, sets, (low, high, changes) => {
        const table = new RevokedTable([low, high], PREFIX)
        const map = new Map<string, number>()
        for (const [n, value] of changes) {
          table.set(credential(n), value)
          map.set(credential(n), value)
        }
        expect(table.size).toBe(map.size)
        for (let n = 0; n <= 300; n++) expect(table.get(credential(n))).toBe(map.get(credential(n)) ?? ABSENT)
      }),
    )
  })

  test('loses nothing and invents nothing while it grows and is spread over parts', () => {
    const table = new RevokedTable(SEED, PREFIX)
    const count = 40_000
    let missing = 0
    for (let n = 0; n < count; n++) {
      table.set(credential(n), NOW + n)
      // Check that nothing is lost directly before and after the table is divided, and at many
      // sizes in between.
      if (n % 4099 === 0 || n === 16_383 || n === 16_384)
        for (let m = 0; m <= n; m++) if (table.get(credential(m)) !== NOW + m) missing++
    }
    for (let n = 0; n < count; n++) if (table.get(credential(n)) !== NOW + n) missing++
    let invented = 0
    for (let n = count; n < 3 * count; n++) if (table.get(credential(n)) !== ABSENT) invented++
    expect({ missing, invented, size: table.size }).toEqual({ missing: 0, invented: 0, size: count })
  })

  test('never moves more than a small part of a large table at once', () => {
    const table = new RevokedTable(SEED, PREFIX)
    let largestStep = 0
    for (let n = 0; n < 40_000; n++) {
      const before = table.byteLength
      table.set(credential(n), NOW)
      if (n > 17_000) largestStep = Math.max(largestStep, table.byteLength / before)
    }
    expect(largestStep).toBeGreaterThan(1)
    expect(largestStep).toBeLessThan(1.02)
  })

  test.each([10_000, 100_000])('takes no more than 33 bytes for each of %d ids', (count) => {
    const table = new RevokedTable(SEED, PREFIX)
    for (let n = 0; n < count; n++) table.set(credential(n), NOW)
    expect(table.byteLength / count).toBeLessThan(33)
  })
})
