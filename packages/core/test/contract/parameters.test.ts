import { describe, expect, test } from 'vitest'
import { parseParameters, parsePreferWait, parseRequestId } from '../../src/contract/parameters.ts'

const pairs = (query: string) => [...new URLSearchParams(query)] as [string, string][]

describe('parseParameters', () => {
  test('collects names that may be repeated, also when there is only one', () => {
    expect(parseParameters(pairs('id=a&id=b&x=1'), ['id'])).toEqual({ id: ['a', 'b'], x: '1' })
    expect(parseParameters(pairs('id=a'), ['id'])).toEqual({ id: ['a'] })
    expect(parseParameters([], ['id'])).toEqual({})
  })

  test('gives up when a single-valued parameter is repeated', () => {
    expect(parseParameters(pairs('x=1&x=1'), ['id'])).toBeUndefined()
    expect(parseParameters(pairs('x=&x='))).toBeUndefined()
  })

  test('takes __proto__ for a name like any other', () => {
    const found = parseParameters(pairs('__proto__=evil&constructor=x'))
    expect(Object.keys(found ?? {})).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(found)).toBe(Object.prototype)
  })
})

describe('parsePreferWait', () => {
  test.each([
    ['wait=10', 10],
    ['wait=30', 30],
    ['wait=0', 0],
    ['respond-async, wait=5', 5],
    ['Wait = "7"', 7],
    ['wait=5; foo=bar', 5],
    ['wait=5, wait=9', 5],
  ])('reads %s', (header, seconds) => {
    expect(parsePreferWait(header)).toBe(seconds)
  })

  test.each([
    undefined,
    '',
    'wait',
    'wait=31',
    'wait=-1',
    'wait=1.5',
    'wait=ten',
    'await=5',
    'wait=99999',
    'wait=31, wait=5',
  ])('does not apply %s', (header) => {
    expect(parsePreferWait(header)).toBeUndefined()
  })
})

describe('parseRequestId', () => {
  test('takes 1 to 128 harmless characters', () => {
    for (const id of ['a', 'exam-1.2_3', 'x'.repeat(128)]) expect(parseRequestId(id)).toBe(id)
    for (const id of ['', 'x'.repeat(129), '<script>', 'a b', 'a\n', 'é', undefined, 7])
      expect(parseRequestId(id)).toBeUndefined()
  })
})
