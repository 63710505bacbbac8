import { describe, expect, test } from 'vitest'
import { createLatencies, histogramText, msText } from '../src/terminal/histogram.ts'
import { facts, jsonText, table, visible } from '../src/terminal/output.ts'

describe('text that others wrote', () => {
  test('cannot move the cursor, change colours or turn the direction of writing', () => {
    expect(visible('a\u001b[31mb\r\n\u009bc\u202ed\u2066e\u2028')).toBe(
      'a\\u001b[31mb\\u000d\\u000a\\u009bc\\u202ed\\u2066e\\u2028',
    )
    expect(visible('Zoë 漢字 👍')).toBe('Zoë 漢字 👍')
  })
  test('keeps its lines when asked to, and nothing else', () => {
    expect(visible('a\n\tb\u0007', { lines: true })).toBe('a\n\tb\\u0007')
  })
  test('is the same value as JSON', () => {
    const value = { a: 'x\u009b\u202e\u0000', b: ['\n'] }
    expect(JSON.parse(jsonText(value))).toEqual(value)
    expect(jsonText(value)).not.toMatch(/[\u0080-\u009f\u202e]/)
  })
})

describe('a table', () => {
  test('is aligned, with a dash for what is not there', () => {
    expect(
      table(
        ['id', 'name'],
        [
          ['a', 'long name'],
          ['bcd', null],
        ],
      ),
    ).toBe('ID   NAME\na    long name\nbcd  -')
  })
  test('of nothing is nothing', () => {
    expect(table(['id'], [])).toBe('')
  })
  test('facts leave out what is undefined, and join lists', () => {
    expect(
      facts([
        ['one', 1],
        ['second', undefined],
        ['three', ['a', 'b']],
        ['no', null],
      ]),
    ).toBe('one    1\nthree  a b\nno     -')
  })
})

describe('a histogram', () => {
  test('gives quantiles, and counts in buckets of which each is a fifth wider', () => {
    const histogram = createLatencies()
    for (let ms = 1; ms <= 1000; ms++) histogram.add(ms)
    expect(histogram.count).toBe(1000)
    expect(histogram.min).toBe(1)
    expect(histogram.max).toBeCloseTo(1000, 0)
    for (const part of [0.5, 0.9, 0.99]) {
      expect(histogram.quantile(part)).toBeGreaterThanOrEqual(part * 1000)
      expect(histogram.quantile(part)).toBeLessThanOrEqual(part * 1000 * 1.2)
    }
    expect(histogram.buckets().reduce((sum, { count }) => sum + count, 0)).toBe(1000)
  })
  test('of nothing says zero', () => {
    const histogram = createLatencies()
    expect([histogram.min, histogram.mean, histogram.quantile(0.5), histogram.max]).toEqual([0, 0, 0, 0])
    expect(histogramText(histogram, 10)).toBe('')
  })
  test('is drawn with the longest bar as wide as asked for', () => {
    const histogram = createLatencies()
    for (const ms of [1, 1, 1, 1, 100]) histogram.add(ms)
    const [first = '', last = ''] = histogramText(histogram, 8).split('\n')
    expect(first).toContain('████████ 4')
    expect(last).toContain('██ 1')
  })
  test('times are short', () => {
    expect([0.312, 12.4, 1234].map(msText)).toEqual(['0.31 ms', '12 ms', '1.2 s'])
  })
})
