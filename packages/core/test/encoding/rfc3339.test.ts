import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { formatTime, isWritableTime, parseTime } from '../../src/encoding/rfc3339.ts'
import { runs } from '../runs.ts'

const YEAR_0 = Date.parse('0000-01-01T00:00:00Z')
const YEAR_9999_END = Date.parse('9999-12-31T23:59:59.999Z')
const DAY_MS = 86_400_000
const anyMs = fc.integer({ min: YEAR_0, max: YEAR_9999_END })

describe('a time that can be read', () => {
  test('means what Date.parse says, from the year 0 to the year 9999', () => {
    fc.assert(
      fc.property(anyMs, (ms) => {
        const text = new Date(ms).toISOString()
        expect(parseTime(text)).toBe(ms)
        expect(parseTime(`${text.slice(0, 19)}Z`)).toBe(Date.parse(`${text.slice(0, 19)}Z`))
      }),
      { numRuns: runs(2000) },
    )
  })

  test('is right on every first and last day of every month', { tags: 'long' }, () => {
    const wrong: string[] = []
    for (let year = 0; year <= 9999; year++) {
      for (let month = 0; month < 12; month++) {
        for (const day of [1, 0]) {
          const date = new Date(0)
          date.setUTCFullYear(year, day === 1 ? month : month + 1, day)
          const text = `${date.toISOString().slice(0, 10)}T00:00:00Z`
          if (parseTime(text) !== date.getTime()) wrong.push(text)
        }
      }
    }
    expect(wrong).toEqual([])
  })

  test('is right on every day of a leap year and of the years around it', () => {
    for (let ms = Date.UTC(2027, 0, 1); ms < Date.UTC(2030, 0, 1); ms += DAY_MS)
      expect(parseTime(new Date(ms).toISOString())).toBe(ms)
  })

  test.each([
    ['1970-01-01T00:00:00Z', 0],
    ['1969-12-31T23:59:59.999Z', -1],
    ['0000-01-01T00:00:00Z', YEAR_0],
    ['0000-02-29T00:00:00Z', Date.parse('0000-02-29T00:00:00Z')],
    ['9999-12-31T23:59:59.999Z', YEAR_9999_END],
    ['2026-11-14T23:59:59Z', Date.UTC(2026, 10, 14, 23, 59, 59)],
    ['2026-11-14T00:00:00Z', Date.UTC(2026, 10, 14)],
    ['2026-01-31T00:00:00Z', Date.UTC(2026, 0, 31)],
    ['2026-12-31T00:00:00Z', Date.UTC(2026, 11, 31)],
    ['2028-02-29T12:00:00Z', Date.UTC(2028, 1, 29, 12)],
    ['2000-02-29T00:00:00Z', Date.UTC(2000, 1, 29)],
    ['2400-02-29T00:00:00Z', Date.UTC(2400, 1, 29)],
  ])('%s', (text, ms) => {
    expect(parseTime(text)).toBe(ms)
  })

  test.each([
    ['.1', 100],
    ['.12', 120],
    ['.123', 123],
    ['.1239', 123],
    ['.007', 7],
    ['.0009', 0],
    ['.999999999', 999],
    ['.000000001', 0],
  ])('may have a fraction of one to nine digits, cut off at the millisecond: %s', (fraction, ms) => {
    expect(parseTime(`1970-01-01T00:00:00${fraction}Z`)).toBe(ms)
  })
})

describe('a time that cannot be read', () => {
  test.each([
    ['A074 30 February', '2026-02-30T00:00:00Z'],
    ['A074 a year alone', '2026'],
    ['A074 a date of an American letter', 'Jan 1 2027'],
    ['A074 hour 24', '2026-11-14T24:00:00Z'],
    ['A074 no zone', '2026-11-14T12:00:00'],
    ['29 February in a common year', '2026-02-29T00:00:00Z'],
    ['29 February 1900', '1900-02-29T00:00:00Z'],
    ['29 February 2100', '2100-02-29T00:00:00Z'],
    ['30 February in a leap year', '2028-02-30T00:00:00Z'],
    ['31 April', '2026-04-31T00:00:00Z'],
    ['31 June', '2026-06-31T00:00:00Z'],
    ['31 September', '2026-09-31T00:00:00Z'],
    ['31 November', '2026-11-31T00:00:00Z'],
    ['32 January', '2026-01-32T00:00:00Z'],
    ['32 December', '2026-12-32T00:00:00Z'],
    ['day 0', '2026-11-00T00:00:00Z'],
    ['month 0', '2026-00-14T00:00:00Z'],
    ['month 13', '2026-13-14T00:00:00Z'],
    ['hour 25', '2026-11-14T25:00:00Z'],
    ['minute 60', '2026-11-14T12:60:00Z'],
    ['a leap second', '2016-12-31T23:59:60Z'],
    ['second 61', '2026-11-14T12:00:61Z'],
    ['a small t', '2026-11-14t12:00:00Z'],
    ['a small z', '2026-11-14T12:00:00z'],
    ['a space instead of the T', '2026-11-14 12:00:00Z'],
    ['an underscore instead of the T', '2026-11-14_12:00:00Z'],
    ['an offset', '2026-11-14T12:00:00+01:00'],
    ['an offset of zero', '2026-11-14T12:00:00+00:00'],
    ['the offset of an unknown place', '2026-11-14T12:00:00-00:00'],
    ['Z and an offset', '2026-11-14T12:00:00Z+00:00'],
    ['a blank in front', ' 2026-11-14T12:00:00Z'],
    ['a blank behind', '2026-11-14T12:00:00Z '],
    ['a newline behind', '2026-11-14T12:00:00Z\n'],
    ['a second time behind', '2026-11-14T12:00:00Z2026-11-14T12:00:00Z'],
    ['a date alone', '2026-11-14'],
    ['no seconds', '2026-11-14T12:00Z'],
    ['no separators', '20261114T120000Z'],
    ['a week date', '2026-W46-6T12:00:00Z'],
    ['a day of the year', '2026-318T12:00:00Z'],
    ['a year of five digits', '12026-11-14T12:00:00Z'],
    ['a year of six digits with a sign', '+002026-11-14T12:00:00Z'],
    ['a year before 0', '-000001-11-14T12:00:00Z'],
    ['a year of two digits', '26-11-14T12:00:00Z'],
    ['a month of one digit', '2026-1-14T12:00:00Z'],
    ['an hour of one digit', '2026-11-14T2:00:00Z'],
    ['an empty fraction', '2026-11-14T12:00:00.Z'],
    ['a fraction after a comma', '2026-11-14T12:00:00,5Z'],
    ['a fraction of ten digits', '2026-11-14T12:00:00.0000000001Z'],
    ['a fraction of the minute', '2026-11-14T12:00.5Z'],
    ['Arabic digits', '\u0662\u0660\u0662\u0666-11-14T12:00:00Z'],
    ['full-width digits', '2026-11-1\uff14T12:00:00Z'],
    ['a minus sign instead of a hyphen', '2026\u221211-14T12:00:00Z'],
    ['any character instead of the full stop', '2026-11-14T12:00:00x5Z'],
    ['a number text', '1794657600000'],
    ['nothing', ''],
  ])('%s is rejected', (_, text) => {
    expect(parseTime(text)).toBeUndefined()
  })

  test.each([
    [undefined],
    [null],
    [1_794_657_600_000],
    [true],
    [['2026-11-14T12:00:00Z']],
    [{}],
    [new Date(0)],
    [Number.NaN],
  ])('%s is no text', (value) => {
    expect(parseTime(value)).toBeUndefined()
  })
})

describe('writing a time', () => {
  test('gives a text that is read back as the same time', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          anyMs,
          anyMs.map((ms) => ms - (ms % 1000)),
        ),
        (ms) => {
          expect(parseTime(formatTime(ms))).toBe(ms)
        },
      ),
    )
  })

  test('leaves out a fraction of zero, and nothing else', () => {
    expect(formatTime(Date.UTC(2026, 10, 14, 12, 0, 0))).toBe('2026-11-14T12:00:00Z')
    expect(formatTime(Date.UTC(2026, 10, 14, 12, 0, 0, 1))).toBe('2026-11-14T12:00:00.001Z')
    expect(formatTime(Date.UTC(2026, 10, 14, 12, 0, 0, 500))).toBe('2026-11-14T12:00:00.500Z')
    expect(formatTime(0)).toBe('1970-01-01T00:00:00Z')
  })

  test('works for the first and the last moment that can be written, and not beyond', () => {
    expect(formatTime(YEAR_0)).toBe('0000-01-01T00:00:00Z')
    expect(formatTime(YEAR_9999_END)).toBe('9999-12-31T23:59:59.999Z')
    for (const ms of [
      YEAR_0 - 1,
      YEAR_9999_END + 1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      9e15,
    ]) {
      expect(() => formatTime(ms)).toThrow(
        new RangeError('a time outside the years 0 to 9999 cannot be written'),
      )
      expect(isWritableTime(ms)).toBe(false)
    }
    for (const ms of [YEAR_0, 0, YEAR_9999_END]) expect(isWritableTime(ms)).toBe(true)
  })
})
