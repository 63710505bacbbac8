import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, parseJson } from '../../src/encoding/json.ts'
import { runs } from '../runs.ts'

function readValue(text: string): JsonValue {
  const parsed = parseJson(text, { depthMax: 16 })
  if ('fault' in parsed) throw new Error(`${parsed.fault} at ${parsed.offset}`)
  return parsed.value
}

/** The fault, or the value wrapped so that it cannot equal a fault. */
function findFault(text: string): unknown {
  const parsed = parseJson(text, { depthMax: 16 })
  return 'fault' in parsed ? parsed.fault : parsed
}

describe('numbers', () => {
  test.each([
    ['0', 0],
    ['9', 9],
    ['10', 10],
    ['-1', -1],
    ['-0', 0],
    ['-0.0e5', 0],
    ['0e400', 0],
    ['1.0', 1],
    ['1E0', 1],
    ['1e2', 100],
    ['1E+2', 100],
    ['100e-2', 1],
    ['0.1', 0.1],
    ['0.10', 0.1],
    ['0.01', 0.01],
    ['-0.5', -0.5],
    ['1.5e3', 1500],
    ['0.000001e6', 1],
    ['1e15', 1e15],
    ['1e-7', 1e-7],
    ['0.0000001', 1e-7],
    ['5e-324', 5e-324],
    ['999999999999999', 999_999_999_999_999],
    ['1000000000000000', 1_000_000_000_000_000],
    ['9007199254740991', 9_007_199_254_740_991],
    ['-9007199254740991', -9_007_199_254_740_991],
    ['9007199254740991.0', 9_007_199_254_740_991],
    ['0.9007199254740991e16', 9_007_199_254_740_991],
    [`1.${'0'.repeat(1000)}`, 1],
    [`1${'0'.repeat(400)}e-400`, 1],
  ])('%s is %d', (written, value) => {
    expect(readValue(written)).toBe(value)
    expect(readValue(`[ ${written} , ${written}]`)).toStrictEqual([value, value])
  })

  test.each([
    ['9007199254740992'],
    ['9007199254740993'],
    ['-9007199254740992'],
    ['-9007199254740993'],
    ['9007199254740991.5'],
    ['9007199254740992e0'],
    ['1e16'],
    ['123456789012345678'],
    ['1e400'],
    ['-1e400'],
    ['1e999999999999999999999'],
    ['1e-400'],
    ['-1e-400'],
    ['2e-324'],
    ['1e-999999999999999999999'],
    ['0.1000000000000000055511151231257827'],
    ['0.30000000000000000001'],
    ['1.00000000000000000001'],
    ['4.9e-324'],
    [`1${'0'.repeat(400)}`],
  ])('%s cannot be held exactly', (written) => {
    expect(findFault(written)).toBe('a number that cannot be held exactly')
    expect(findFault(`{"a":[1,${written}]}`)).toBe('a number that cannot be held exactly')
  })

  test('are rejected in linear time when a long row of zeros stands before another digit', () => {
    expect(findFault(`1.${'0'.repeat(200_000)}1`)).toBe('a number that cannot be held exactly')
    expect(findFault(`0.${'0'.repeat(200_000)}1${'0'.repeat(200_000)}`)).toBe(
      'a number that cannot be held exactly',
    )
  })

  test.each([
    '01',
    '00',
    '-01',
    '007',
    '1.',
    '1.e1',
    '-',
    '- 1',
    '-a',
    '1e',
    '1E',
    '1e+',
    '1e-',
    '1.5.5',
    '1e5.5',
    '1e5e5',
    '-.5',
    '--1',
    '00.5',
    '1.5e',
    '123456789012345678901.',
  ])('%s is no number', (written) => {
    expect(findFault(written)).toBe('not a number')
    expect(findFault(`[${written}]`)).toBe('not a number')
  })

  test.each(['.5', '+1', 'e5', 'Infinity', '\u0661', '\uff11'])('%s is no value', (written) => {
    expect(findFault(written)).toBe('not a JSON value')
  })

  test.each(['0x10', '1_000', '1a', '1\u0661', '1n', '1\u000e'])(
    '%s is a number with something behind it',
    (written) => {
      expect(findFault(written)).toBe('text after the end')
      expect(findFault(`[${written}]`)).toBe('a comma or a closing bracket is missing')
    },
  )

  test('are read where their shortest spelling means the same number, and nowhere else', () => {
    const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${length}}$`))
    const token = fc
      .record({
        minus: fc.boolean(),
        whole: digits(17),
        fraction: fc.option(digits(20)),
        exponent: fc.option(fc.integer({ min: -330, max: 30 })),
      })
      .map(({ minus, whole, fraction, exponent }) => ({
        written: `${minus ? '-' : ''}${BigInt(whole)}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`,
        digits: BigInt(whole + (fraction ?? '')),
        exponent: (exponent ?? 0) - (fraction?.length ?? 0),
      }))
    fc.assert(
      fc.property(token, ({ written, digits: claimed, exponent }) => {
        const value = Number(written)
        const [mantissa = '', power = '0'] = String(Math.abs(value)).split('e')
        const [whole = '', fraction = ''] = mantissa.split('.')
        // Both numbers as integers, multiplied by the same power of ten.
        const shift = 700n
        const held = BigInt(whole + fraction) * 10n ** (shift + BigInt(power) - BigInt(fraction.length))
        const exact =
          Math.abs(value) <= Number.MAX_SAFE_INTEGER && held === claimed * 10n ** (shift + BigInt(exponent))
        expect(findFault(written)).toEqual(
          exact
            ? { value: value === 0 ? 0 : value, watched: undefined, hasPlainStrings: true }
            : 'a number that cannot be held exactly',
        )
      }),
      { numRuns: runs(500) },
    )
  })
})

describe('numbers in an unusual spelling', () => {
  const list = (times: number, spelling: string) =>
    parseJson(`[${Array(times).fill(spelling).join(',')}]`, { depthMax: 1 })

  test.each(['1.0', '1e2', '0.10', '1E-2'])(
    '%s is read 256 times and not once more, because it costs much to compare',
    (spelling) => {
      expect(list(256, spelling)).toMatchObject({ value: Array(256).fill(Number(spelling)) })
      expect(list(257, spelling)).toMatchObject({ fault: 'a number that cannot be held exactly' })
    },
  )

  test.each(['-0', '-1', '0.1', '1e-7', '-12345'])('%s is an ordinary one', (spelling) => {
    expect(list(5000, spelling)).toMatchObject({ value: Array(5000).fill(Number(spelling) + 0) })
  })
})
