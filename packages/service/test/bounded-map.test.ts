import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BoundedMap } from '../src/bounded-map.ts'

const KEYS = Array.from({ length: 40 }, (_, n) => n)
const held = (map: BoundedMap<number, number>) => KEYS.filter((key) => map.has(key))

it('holds no more than its capacity, and always the entry that was set last', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 20 }),
      fc.array(
        fc.record({ key: fc.constantFrom(...KEYS), context: fc.constantFrom('set', 'get', 'delete') }),
      ),
      (capacity, acts) => {
        const map = new BoundedMap<number, number>(capacity)
        const latest = new Map<number, number>()
        acts.forEach(({ key, context }, n) => {
          if (context === 'set') {
            map.set(key, n)
            latest.set(key, n)
            expect(map.get(key)).toBe(n)
          } else if (context === 'get') {
            const value = map.get(key)
            if (value !== undefined) expect(value).toBe(latest.get(key))
          } else {
            map.delete(key)
            latest.delete(key)
            expect(map.has(key)).toBe(false)
          }
          expect(held(map).length).toBeLessThanOrEqual(capacity)
        })
      },
    ),
  )
})

it('keeps an entry that is read again and again', () => {
  const map = new BoundedMap<number, number>(4)
  map.set(0, 0)
  for (let n = 1; n < 40; n++) {
    map.set(n, n)
    expect(map.get(0)).toBe(0)
  }
})

it('deletes the entries that match, in both halves', () => {
  const map = new BoundedMap<number, number>(8)
  for (let n = 0; n < 6; n++) map.set(n, n % 2)
  map.deleteWhere((value) => value === 1)
  expect(held(map)).toEqual([0, 2, 4])
})
