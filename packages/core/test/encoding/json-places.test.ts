import { describe, expect, test } from 'vitest'
import { parseJson } from '../../src/encoding/json.ts'

const DEPTH = 16

function findMember(text: string): string | undefined {
  const parsed = parseJson(text, { depthMax: DEPTH })
  if (!('fault' in parsed)) throw new Error('no fault')
  return parsed.member
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

describe('the watched member', () => {
  const watched = (written: string, watch = 'credential') => {
    const parsed = parseJson(written, { depthMax: DEPTH, watch })
    if ('fault' in parsed) throw new Error(parsed.fault)
    return parsed.watched && written.slice(parsed.watched.start, parsed.watched.end)
  }

  test('is told by where its value stands, without the blanks around it', () => {
    expect(watched('{"a":1, "credential" :\n {"b": [2]} , "c":3}')).toBe('{"b": [2]}')
    expect(watched('{"credential":"\\u0061"}')).toBe('"\\u0061"')
    expect(watched('{"credential":12.50}')).toBe('12.50')
    expect(watched('{"credential":1}')).toBe('1')
    expect(watched('  {"credential":null  }')).toBe('null')
    expect(parseJson('{"credential":[]}', { depthMax: DEPTH, watch: 'credential' })).toEqual({
      value: { credential: [] },
      watched: { start: 14, end: 16 },
      hasPlainStrings: true,
    })
  })

  test('is found also when its name is spelled with escapes', () => {
    expect(watched('{"\\u0063redential":true}')).toBe('true')
  })

  test('is a member of the outermost object only', () => {
    expect(watched('{"a":{"credential":1}}')).toBeUndefined()
    expect(watched('[{"credential":1}]')).toBeUndefined()
    expect(watched('{"credential":{"credential":1}}')).toBe('{"credential":1}')
    expect(watched('{"Credential":1}')).toBeUndefined()
    expect(watched('"credential"')).toBeUndefined()
  })

  test('is not looked for unless asked', () => {
    expect(parseJson('{"credential":1,"undefined":2}', { depthMax: DEPTH })).toEqual({
      value: { credential: 1, undefined: 2 },
      watched: undefined,
      hasPlainStrings: true,
    })
  })
})

describe('the member blamed for a fault', () => {
  test.each([
    ['in its value', '{"a":1,"b":tru,"c":1}', 'b'],
    ['deep in its value', '{"a":1,"b":{"c":[{"d":01}]}}', 'b'],
    ['in a name inside of it', '{"a":{"b":1,"b":2}}', 'a'],
    ['at its end, when the text ends there', '{"a":{"b":1', 'a'],
    ['between name and value', '{"a" 1}', 'a'],
    ['when it stands there twice', '{"a":1,"b":2,"a":3}', 'a'],
    ['under its name without escapes', '{"\\u0061":x}', 'a'],
    ['when it is called __proto__', '{"a":1,"__proto__":1}', '__proto__'],
    ['when it is too deep', `{"a":${nested(16)}}`, 'a'],
  ])('is the one of the outermost object: %s', (_, written, member) => {
    expect(findMember(written)).toBe(member)
  })

  test.each([
    ['before the first name', '{x'],
    ['in the first name', '{"a'],
    ['after a value', '{"a":1 "b":2}'],
    ['at the end of the text, after a value', '{"a":{"b":1}'],
    ['in the next name', '{"a":1,"b'],
    ['in the place of the next name', '{"a":1,}'],
    ['after the outermost object', '{"a":1}}'],
    ['in an array around objects', '[{"a":x}]'],
    ['in an array', '[1,x]'],
    ['in a bare value', 'x'],
    ['in a text that is not Unicode', '{"a":"\ud800"}'],
  ])('is none: %s', (_, written) => {
    expect(findMember(written)).toBeUndefined()
  })
})

describe('the offset of a fault', () => {
  test.each([
    ['[1,x]', 3],
    ['{"a":01}', 5],
    ['{"a":"b\nc"}', 7],
    ['{"a":"b\\tc\\x"}', 10],
    ['[1e400]', 1],
    ['{} x', 3],
    ['"a', 2],
    ['', 0],
  ])('%j: %i', (written, offset) => {
    expect(parseJson(written, { depthMax: DEPTH })).toHaveProperty('offset', offset)
  })
})
